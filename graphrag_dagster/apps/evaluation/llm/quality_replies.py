"""Replies with statements, with verdicts on numbered items, and with questions, read tolerantly."""

from typing import Literal

from graphrag_dagster.apps.evaluation.tasks import ItemVerdict, VerdictWord
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import Line, Shape, or_named, read_words

_WORDS: dict[str, VerdictWord] = {
    "yes": "yes",
    "true": "yes",
    "1": "yes",
    "no": "no",
    "false": "no",
    "0": "no",
    "idk": "idk",
    "i don't know": "idk",
    "i do not know": "idk",
    "unknown": "idk",
    "unsure": "idk",
    "not sure": "idk",
    "unclear": "idk",
}


class StatementsShape(Shape):
    """Statements as the endpoint is asked for them."""

    statements: list[Line] = or_named("statements", "claims", "facts", "sentences")


class _VerdictShape(Shape):
    id: int
    # Before the verdict, so that a model gives the verdict with the reason before its eyes.
    reason: str
    verdict: Literal["yes", "no"]


class VerdictsShape(Shape):
    """Verdicts of yes and no as the endpoint is asked for them."""

    verdicts: list[_VerdictShape]


class _TernaryVerdictShape(Shape):
    id: int
    reason: str
    verdict: Literal["yes", "no", "idk"]


class TernaryVerdictsShape(Shape):
    """Verdicts of yes, no and idk as the endpoint is asked for them."""

    verdicts: list[_TernaryVerdictShape]


class GeneratedShape(Shape):
    """Questions to an answer as the endpoint is asked for them."""

    questions: list[Line] = or_named("questions", "question", missing=list)
    noncommittal: bool = or_named("noncommittal", "non_committal", "evasive")


def read_statements(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the statements in a reply, maybe none, and whether its JSON was repaired.

    Raises:
        NotUsable: it holds no list of statements, or something else than text in it.
    """
    reply, repaired = read_typed(text, StatementsShape)
    if not all(reply.statements):
        raise NotUsable('"statements" must be a list of sentences, none of them blank')
    return tuple(reply.statements), repaired


def read_verdicts(text: str, count: int) -> tuple[tuple[ItemVerdict, ...], bool]:
    """Return the verdicts on items 1…count in a reply, in that order, and whether its JSON was repaired.

    Raises:
        NotUsable: an item has no verdict, or different ones.
    """
    found, repaired = read_words(text, count, _WORDS)
    return tuple(ItemVerdict(*one) for one in found), repaired


def read_questions(text: str, count: int) -> tuple[tuple[tuple[str, ...], bool], bool]:
    """Return the first ``count`` questions with whether the answer evades, and whether the JSON was repaired.

    Raises:
        NotUsable: there are fewer questions (an evasive answer needs none), or it is not told whether it
            evades.
    """
    reply, repaired = read_typed(text, GeneratedShape)
    questions = tuple(filter(None, reply.questions))[:count]
    if len(questions) < count and not reply.noncommittal:
        raise NotUsable(f'"questions" must be a list of {count} questions, not of {len(questions)}')
    return (questions, reply.noncommittal), repaired
