"""Which way of answering suits a question: ``auto``."""

from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.core.text.relevance import asks_for_overview


@dataclass(frozen=True, slots=True)
class Choice:
    """A way of answering, and why it was chosen."""

    method: Literal["global", "local"]
    why: str


def choose(question: str, named: list[str], *, reports: bool, told: bool = False) -> Choice:
    """Choose between the reports of the whole corpus and the surroundings of what a question names.

    Args:
        question: as checked.
        named: titles of the entities that the question, or the one before, names, the surest first.
        reports: there are community reports.
        told: the question belongs to a conversation.
    """
    if not reports:
        return Choice("local", "local: this corpus has no community reports")
    if named:
        shown = ", ".join(named[:3]) + (" …" if len(named) > 3 else "")
        return Choice("local", f"local: the question names {shown}")
    if asks_for_overview(question):
        return Choice("global", "global: the question asks for an overview and names nothing in particular")
    if told:
        return Choice("local", "local: the question goes on from a conversation")
    return Choice("global", "global: the question names no entity of the graph")
