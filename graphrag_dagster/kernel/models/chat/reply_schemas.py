"""The shapes of JSON replies, and a tolerant reader of statements, verdicts and questions."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, WithJsonSchema, model_validator

from graphrag_dagster.kernel.models.chat.reply_parsing import (
    Incomplete,
    NotUsable,
    first_value,
    is_placeholder,
    read_typed,
    with_normalised_keys,
)

#: Verdict on an item: yes, no or unknown.
Verdict = Literal["yes", "no", "idk"]


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """The verdict on one item and the reason, which may be blank."""

    verdict: Verdict
    reason: str = ""


class Shape(BaseModel):
    """The shape of a reply, as the endpoint is asked for it and as it is read.

    A reply may have further keys, and spell keys with blanks, hyphens and capitals; one that is null counts
    as missing. What else is tolerated (:func:`or_named`, :data:`AnyNumber`, validators) is no part of the
    schema.
    """

    model_config = ConfigDict(
        json_schema_extra={"additionalProperties": False}, json_schema_serialization_defaults_required=True
    )

    @model_validator(mode="before")
    @classmethod
    def _normalise_keys(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: item for key, item in with_normalised_keys(value).items() if item is not None}


#: Asked for as a whole number, and read as it came: models write "85 of 100", or 0.85.
AnyNumber = Annotated[Any, WithJsonSchema({"type": "integer"})]


def or_named(*names: str, missing: Callable[[], Any] | None = None) -> Any:
    """Return a field under the first of the names that a reply has; the first is the one that is asked for.

    Args:
        names: the first is that of the field.
        missing: makes the value of a reply without it; None: it has to be there.
    """
    choices = AliasChoices(*names)
    if missing is None:
        return Field(validation_alias=choices)
    return Field(validation_alias=choices, default_factory=missing)


class EntityShape(Shape):
    """An entity record."""

    name: str
    type: str
    description: str


class RelationshipShape(Shape):
    """A relationship record."""

    source: str
    target: str
    description: str
    strength: float


class GraphShape(Shape):
    """What one text holds (paper, Appendix E.1)."""

    entities: list[EntityShape]
    relationships: list[RelationshipShape]


class LabelledRelationshipShape(Shape):
    """A relationship record with a label."""

    source: str
    target: str
    relation: str
    description: str
    strength: float


class LabelledGraphShape(Shape):
    """What one text holds, its relationships labelled."""

    entities: list[EntityShape]
    relationships: list[LabelledRelationshipShape]


class ClaimShape(Shape):
    """A claim record."""

    subject: str
    object: str | None
    type: str
    status: Literal["TRUE", "FALSE", "SUSPECTED"]
    start_date: str | None
    end_date: str | None
    description: str
    quotes: list[str]


class ClaimsShape(Shape):
    """The claims of one text."""

    claims: list[ClaimShape]


@cache
def schema_text(shape: type[BaseModel]) -> str:
    """Return the JSON schema of a model as text; making it takes longer than all else about a request."""
    return json.dumps(shape.model_json_schema(mode="serialization"), sort_keys=True, ensure_ascii=False)


W = TypeVar("W", bound=str)

_STATEMENTS = ("statements", "claims", "facts", "sentences")
_TEXTS = ("statement", "claim", "fact", "sentence", "question", "text", "content")
_VERDICTS = ("verdicts", "statements", "passages", "judgements", "judgments", "results")
_IDS = ("id", "number", "statement_id", "passage_id", "index", "statement", "passage")
_VERDICT = ("verdict", "judgement", "judgment", "answer", "label")
_REASONS = ("reason", "explanation", "why")
_WORDS: dict[str, Verdict] = {
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
_NUMBER = re.compile(r"(?:(?:statement|passage|item|number|no\.?)\s*)?#?(\d{1,9})[.:)]?", re.IGNORECASE)


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


_Json = RootModel[Any]


def read_statements(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the statements in a reply, maybe none, and whether its JSON was repaired.

    Raises:
        NotUsable: it holds no list of statements, or something else than text in it.
    """
    value, repaired = _read(text)
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


def read_words(text: str, count: int, words: Mapping[str, W]) -> tuple[tuple[tuple[W, str], ...], bool]:
    """Return verdict and reason of items 1…count in a reply, in that order, and whether its JSON was
    repaired.

    Records without an id count in their order if there are exactly as many as items.

    Args:
        text: the reply.
        count: how many items there are.
        words: what a verdict may be, in lower case, with what it means.

    Raises:
        NotUsable: an item has no verdict, or different ones.
    """
    found, repaired = _with_words(text, count, words)
    given: dict[int, tuple[W, str]] = {}
    for place, word, reason in found:
        if word is None or not 1 <= place <= count:
            continue
        if given.setdefault(place, (word, reason))[0] != word:
            raise NotUsable(f"it gives number {place} different verdicts")
    missing = [str(place) for place in range(1, count + 1) if place not in given]
    if missing:
        named = ", ".join(missing[:10])
        raise NotUsable(f'it gives no "verdict" of the allowed words for number {named} of {count}')
    return tuple(given[place] for place in range(1, count + 1)), repaired


def read_some_words(
    text: str,
    count: int,
    words: Mapping[str, W],
    key: str,
    *,
    otherwise: W | None = None,
    check: Callable[[Iterable[str]], None] | None = None,
) -> tuple[dict[int, tuple[W, str]], bool]:
    """Return verdict and reason of the items that have one verdict by their numbers, and whether the JSON of
    the reply was repaired.

    Args:
        text: the reply.
        count: how many items there are.
        words: see :func:`read_words`.
        key: what a verdict is called in the prompt.
        otherwise: what any other word means; None: nothing.
        check: raises NotUsable where a reason is of no use.

    Raises:
        Incomplete: not every item has one verdict.
        NotUsable: none has, or there is a verdict on what was not asked, so that no number can be trusted.
    """
    given, repaired = _with_words(text, count, words)
    if check:
        check(reason for _, _, reason in given)
    said: dict[int, dict[W, str]] = {}
    for number, word, reason in given:
        if not 1 <= number <= count:
            raise NotUsable(f'a {key} has no "id" from 1 to {count}')
        if (meant := otherwise if word is None else word) is not None:
            said.setdefault(number, {}).setdefault(meant, reason)
    found = {number: next(iter(of.items())) for number, of in said.items() if len(of) == 1}
    if not found:
        raise NotUsable(f'it does not give any number exactly one "{key}" of the allowed words')
    if missing := [str(one) for one in range(1, count + 1) if one not in found]:
        named = ", ".join(missing[:10])
        raise Incomplete(f'it does not give exactly one "{key}" for number {named} of {count}', found)
    return found, repaired


def _with_words(
    text: str, count: int, words: Mapping[str, W]
) -> tuple[list[tuple[int, W | None, str]], bool]:
    """Number, verdict and reason of each record of a reply; 0 or None where there is none."""
    value, repaired = _read(text)
    return [(place, *_verdict(record, words)) for place, record in _records(value, count)], repaired


def read_questions(text: str, count: int) -> tuple[tuple[tuple[str, ...], bool], bool]:
    """Return the first ``count`` questions with whether the answer evades, and whether the JSON was repaired.

    Raises:
        NotUsable: there are fewer questions (an evasive answer needs none), or it is not told whether it
            evades.
    """
    value, repaired = _read(text)
    fields = with_normalised_keys(value)
    evades = _word(first_value(fields, ("noncommittal", "non_committal", "evasive")), _WORDS)
    if evades not in ("yes", "no"):
        raise NotUsable('"noncommittal" must be true or false')
    listed = first_value(fields, ("questions", "question"))
    texts = [_text(one) for one in (listed if isinstance(listed, list) else [listed])]
    questions = tuple(one for one in texts if one)[:count]
    if len(questions) < count and evades == "no":
        raise NotUsable(f'"questions" must be a list of {count} questions, not of {len(questions)}')
    return (questions, evades == "yes"), repaired


def _read(text: str) -> tuple[Any, bool]:
    reply, repaired = read_typed(text, _Json)
    return reply.root, repaired


def _text(value: Any) -> str:
    """Return a text on one line; blank for what is none, placeholders included."""
    inner = first_value(with_normalised_keys(value), _TEXTS) if isinstance(value, dict) else value
    return "" if not isinstance(inner, str) or is_placeholder(inner) else " ".join(inner.split())


def _records(value: Any, count: int) -> list[tuple[int, Any]]:
    """Return the records with the numbers of their items; 0 where that is not told."""
    fields = with_normalised_keys(value)
    inner = first_value(fields, _VERDICTS) if fields else value
    if inner is None:
        inner = [value] if any(key in fields for key in _VERDICT) else value
    if isinstance(inner, dict):
        return [(_number(key), record) for key, record in inner.items()]
    if not isinstance(inner, list):
        return []
    numbers = [_number(first_value(with_normalised_keys(record), _IDS)) for record in inner]
    if not any(numbers) and len(inner) == count:
        numbers = list(range(1, count + 1))
    return list(zip(numbers, inner, strict=True))


def _number(value: Any) -> int:
    # Only a number by itself: a statement that is repeated in its place may hold any.
    found = None if isinstance(value, bool) else _NUMBER.fullmatch(str(value).strip())
    return int(found[1]) if found else 0


def _verdict(record: Any, words: Mapping[str, W]) -> tuple[W | None, str]:
    fields = with_normalised_keys(record)
    verdict = _word(first_value(fields, _VERDICT) if fields else record, words)
    reason = first_value(fields, _REASONS)
    return verdict, " ".join(reason.split()) if isinstance(reason, str) else ""


def _word(value: Any, words: Mapping[str, W]) -> W | None:
    return words.get(str(value).strip(" .!\"'`*\n\t").lower().replace("’", "'"))
