"""Replies with statements, with verdicts on numbered items, and with questions, read tolerantly."""

from typing import Any, Literal

from graphrag_dagster.apps.evaluation.tasks import ItemVerdict, VerdictWord
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    NotUsable,
    first_value,
    is_placeholder,
    with_normalised_keys,
)
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, meaning_of, read_json, read_words

_STATEMENTS = ("statements", "claims", "facts", "sentences")
_TEXTS = ("statement", "claim", "fact", "sentence", "question", "text", "content")
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

    statements: list[str]


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

    questions: list[str]
    noncommittal: bool


def read_statements(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the statements in a reply, maybe none, and whether its JSON was repaired.

    Raises:
        NotUsable: it holds no list of statements, or something else than text in it.
    """
    value, repaired = read_json(text)
    listed = value if isinstance(value, list) else first_value(with_normalised_keys(value), _STATEMENTS)
    if not isinstance(listed, list):
        raise NotUsable('it has no list "statements"')
    found = tuple(_text(one) for one in listed)
    if not all(found):
        raise NotUsable('"statements" must be a list of sentences, none of them blank')
    return found, repaired


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
    value, repaired = read_json(text)
    fields = with_normalised_keys(value)
    evades = meaning_of(first_value(fields, ("noncommittal", "non_committal", "evasive")), _WORDS)
    if evades not in ("yes", "no"):
        raise NotUsable('"noncommittal" must be true or false')
    listed = first_value(fields, ("questions", "question"))
    texts = [_text(one) for one in (listed if isinstance(listed, list) else [listed])]
    questions = tuple(one for one in texts if one)[:count]
    if len(questions) < count and evades == "no":
        raise NotUsable(f'"questions" must be a list of {count} questions, not of {len(questions)}')
    return (questions, evades == "yes"), repaired


def _text(value: Any) -> str:
    """Return a text on one line; blank for what is none, placeholders included."""
    inner = first_value(with_normalised_keys(value), _TEXTS) if isinstance(value, dict) else value
    return "" if not isinstance(inner, str) or is_placeholder(inner) else " ".join(inner.split())
