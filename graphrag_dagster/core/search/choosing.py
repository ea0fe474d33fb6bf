"""Which way of answering suits a question: ``auto``."""

from dataclasses import dataclass, replace

from graphrag_dagster.catalogue.ways import GLOBAL, LOCAL
from graphrag_dagster.core.search.asked import Asked
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.finding import linked
from graphrag_dagster.core.search.ways import answered, in_way
from graphrag_dagster.core.text.relevance import asks_for_overview


@dataclass(frozen=True, slots=True)
class Choice:
    """A way of answering by its name, and why it was chosen."""

    method: str
    why: str


def answer(asked: Asked) -> Answer:
    """Answer a question in the way that suits it.

    Raises:
        QuestionError: the question lacks what that way needs.
    """
    reports = not asked.index.reports.is_empty()
    names = linked(asked)
    surest = sorted((one for one in names if one.named and one.entity_id), key=lambda one: -one.sure)
    named = list(dict.fromkeys(one.title for one in surest if one.title))
    choice = choose(asked.question, named, reports=reports, told=bool(asked.history))
    made = answered(in_way(asked, choice.method))
    return replace(made, why="; ".join(filter(None, (choice.why, made.why))), linked=made.linked or names)


def choose(question: str, named: list[str], *, reports: bool, told: bool = False) -> Choice:
    """Choose between the reports of the whole corpus and the surroundings of what a question names.

    Args:
        question: as checked.
        named: titles of the entities that the question, or the one before, names, the surest first.
        reports: there are community reports.
        told: the question belongs to a conversation.
    """

    def chosen(method: str, why: str) -> Choice:
        return Choice(method, f"{method}: {why}")

    if not reports:
        return chosen(LOCAL, "this corpus has no community reports")
    if named:
        shown = ", ".join(named[:3]) + (" …" if len(named) > 3 else "")
        return chosen(LOCAL, f"the question names {shown}")
    if asks_for_overview(question):
        return chosen(GLOBAL, "the question asks for an overview and names nothing in particular")
    if told:
        return chosen(LOCAL, "the question goes on from a conversation")
    return chosen(GLOBAL, "the question names no entity of the graph")
