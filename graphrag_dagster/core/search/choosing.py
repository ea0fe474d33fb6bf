"""Which way of answering suits a question: ``auto``."""

from dataclasses import dataclass, replace

import polars as pl

from graphrag_dagster.catalogue.ways import GLOBAL, LOCAL, SOURCES
from graphrag_dagster.core.search.asked import Asked
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.finding import named
from graphrag_dagster.core.search.ways import answered, in_way
from graphrag_dagster.core.text.relevance import asks_for_overview
from graphrag_dagster.core.wording import counted

#: Contexts that the text units of a restriction may fill to be read all.
_MOST_CONTEXTS = 8


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
    choice = choose(
        asked.question,
        named(asked),
        reports=asked.index.restricted or not asked.index.reports.is_empty(),
        told=bool(asked.history),
        documents=asked.favour.names_documents,
    )
    if asked.index.restricted and choice.method == GLOBAL:
        choice = _without_reports(asked) or choice
    made = answered(in_way(asked, choice.method))
    return replace(made, why="; ".join(filter(None, (choice.why, made.why))))


def choose(
    question: str, named: list[str], *, reports: bool, told: bool = False, documents: bool = False
) -> Choice:
    """Choose between the reports of the whole corpus and the surroundings of what a question names.

    Args:
        question: as checked.
        named: titles of the entities that the question, or the one before, names, the surest first.
        reports: there are community reports.
        told: the question belongs to a conversation.
        documents: the question clearly names documents; reports are of none.
    """
    if not reports:
        return _chosen(LOCAL, "this corpus has no community reports")
    if named:
        shown = ", ".join(named[:3]) + (" …" if len(named) > 3 else "")
        return _chosen(LOCAL, f"the question names {shown}")
    if documents:
        return _chosen(LOCAL, "the question names documents or their period")
    if asks_for_overview(question):
        return _chosen(GLOBAL, "the question asks for an overview and names nothing in particular")
    if told:
        return _chosen(LOCAL, "the question goes on from a conversation")
    return _chosen(GLOBAL, "the question names no entity of the graph")


def _chosen(method: str, why: str) -> Choice:
    return Choice(method, f"{method}: {why}")


def _without_reports(asked: Asked) -> Choice | None:
    """Choose for a question about the whole of a restriction whose reports leave most of it out."""
    index, options = asked.index, asked.options
    if index.once(_reported, options.level) >= 0.5:
        return None
    why = f"the reports of C{options.level} from these documents alone cover less than half of them"
    if index.text_chunks["tokens"].sum() <= _MOST_CONTEXTS * options.context_tokens:
        units = counted(len(index.text_chunks), "text unit")
        return _chosen(SOURCES, f"{why}, so what they say is read whole, {units}")
    return _chosen(LOCAL, why)


def _reported(index: IndexSnapshot, level: int) -> float:
    """The share of the text units in which an entity stands that a report of a level is about."""
    of_level = index.community_levels.filter(pl.col("level") == level)
    reported = of_level.join(index.reports, left_on="community_id", right_on="report_id", how="semi")
    units = index.entities.join(reported, on="entity_id", how="semi")["text_unit_ids"].explode()
    return units.drop_nulls().n_unique() / max(len(index.text_chunks), 1)
