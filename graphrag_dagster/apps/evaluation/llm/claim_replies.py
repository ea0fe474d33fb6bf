"""Replies about one sentence of an answer: a verdict with the remaining sentence, or claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, field_validator, model_validator

from graphrag_dagster.kernel.models.chat.replies import NotUsable, read_typed, spelt_alike
from graphrag_dagster.kernel.models.chat.schemas import Shape
from graphrag_dagster.kernel.questions.support.answer_sentences import without_citations
from graphrag_dagster.systems.graphrag.llm.extraction.examples import WorkedExample

_SELECTIONS: Mapping[str, str] = MappingProxyType(
    {"keep": "same", "kept": "same", "rewrite": "new", "rewritten": "new", "drop": "none", "dropped": "none"}
)
_DISAMBIGUATIONS: Mapping[str, str] = MappingProxyType(
    {"clear": "same", "resolved": "new", "resolve": "new", "ambiguous": "none", "unclear": "none"}
)
_CLAIM_NAMES = ("claim", "text", "statement", "sentence")
_MOST_REASON = 300


class SelectionShape(Shape):
    """The reply to selection as the endpoint is asked for it; the reason first, so that it comes first."""

    reason: str
    verdict: Literal["keep", "rewrite", "drop"]
    sentence: str


class DisambiguationShape(Shape):
    """The reply to disambiguation as the endpoint is asked for it."""

    reason: str
    verdict: Literal["clear", "resolved", "ambiguous"]
    sentence: str


class AtomicClaimsShape(Shape):
    """The reply to decomposition as the endpoint is asked for it."""

    claims: list[str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a step on a sentence: ``text``, empty if nothing is left, and why; ``changed``: reworded."""

    text: str
    reason: str
    changed: bool = False


class _Reply(BaseModel):
    """A verdict as it came."""

    verdict: str
    sentence: str = ""
    reason: str = ""

    @model_validator(mode="before")
    @classmethod
    def _small_names(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {str(key).strip().lower(): item for key, item in value.items() if item is not None}

    @field_validator("verdict", "sentence", "reason")
    @classmethod
    def _on_one_line(cls, text: str) -> str:
        return " ".join(text.split())


class _Claims(BaseModel):
    """Claims as they came: texts, or objects that hold one."""

    claims: list[str]

    @model_validator(mode="before")
    @classmethod
    def _however_written(cls, value: Any) -> Any:
        if isinstance(value, dict):
            value = next((item for key, item in value.items() if str(key).strip().lower() == "claims"), value)
        if isinstance(value, str):
            value = [value] if value.strip() else []
        return {"claims": [_claim(one) for one in value]} if isinstance(value, list) else value


def _claim(one: Any) -> Any:
    if not isinstance(one, dict):
        return one
    lower = spelt_alike(one)
    return next((lower[name] for name in _CLAIM_NAMES if name in lower), None)


def read_selection(text: str, sentence: str, example: WorkedExample) -> tuple[Verdict, bool]:
    """Return what selection left of a sentence, and whether the reply was repaired.

    Raises:
        NotUsable: no verdict of those asked for, a rewritten sentence is missing or the example's.
    """
    return _read_verdict(text, sentence, example, _SELECTIONS)


def read_disambiguation(text: str, sentence: str, example: WorkedExample) -> tuple[Verdict, bool]:
    """Return what disambiguation made of a sentence; raises as :func:`read_selection` does."""
    return _read_verdict(text, sentence, example, _DISAMBIGUATIONS)


def read_claims(text: str, sentence: str, example: WorkedExample) -> tuple[tuple[str, ...], bool]:
    """Return the claims without citations, each once, and whether the reply was repaired.

    Raises:
        NotUsable: they are no texts, or one is the example's.
    """
    # A bare list of texts is no JSON to the reader of replies.
    whole = f'{{"claims": {text}}}' if text.startswith("[") else text
    reply, repaired = read_typed(whole, _Claims)
    tidied = [" ".join(without_citations(one).split()) for one in reply.claims]
    claims = tuple({_folded(one): one for one in reversed(tidied) if one}.values())[::-1]
    example.refuse_copies(claims, sentence)
    return claims, repaired


def _read_verdict(
    text: str, sentence: str, example: WorkedExample, meanings: Mapping[str, str]
) -> tuple[Verdict, bool]:
    reply, repaired = read_typed(text, _Reply)
    meaning = meanings.get(reply.verdict.strip("\"'. ").lower())
    reason = reply.reason[:_MOST_REASON]
    if meaning is None:
        first = {meaning: word for word, meaning in reversed(list(meanings.items()))}
        asked = '", "'.join(reversed(list(first.values())))
        raise NotUsable(f'the verdict {reply.verdict[:40]!r} is not one of those allowed: "{asked}"')
    if meaning == "none":
        return Verdict("", reason or reply.verdict.lower()), repaired
    if meaning == "same" or reply.sentence == sentence:
        return Verdict(sentence, reason), repaired
    if not reply.sentence:
        raise NotUsable(f'the verdict is {reply.verdict!r}, but the "sentence" is empty')
    example.refuse_copies([reply.sentence], sentence)
    return Verdict(reply.sentence, reason or reply.verdict.lower(), changed=True), repaired


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
