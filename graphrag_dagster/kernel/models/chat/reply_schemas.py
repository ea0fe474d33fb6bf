"""The shapes of JSON replies, and a tolerant reader of what a model says of numbered items."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, WithJsonSchema, model_validator

from graphrag_dagster.kernel.models.chat.reply_parsing import (
    Incomplete,
    NotUsable,
    first_value,
    read_typed,
    with_normalised_keys,
)


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

_VERDICTS = ("verdicts", "statements", "passages", "judgements", "judgments", "results")
_IDS = ("id", "number", "statement_id", "passage_id", "index", "statement", "passage")
_VERDICT = ("verdict", "judgement", "judgment", "answer", "label")
_REASONS = ("reason", "explanation", "why")
_NUMBER = re.compile(r"(?:(?:statement|passage|item|number|no\.?)\s*)?#?(\d{1,9})[.:)]?", re.IGNORECASE)


_Json = RootModel[Any]


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
    value, repaired = read_json(text)
    return [(place, *_verdict(record, words)) for place, record in _records(value, count)], repaired


def read_json(text: str) -> tuple[Any, bool]:
    """Return the JSON value in a reply, and whether it was repaired.

    Raises:
        NotUsable: there is none.
    """
    reply, repaired = read_typed(text, _Json)
    return reply.root, repaired


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
    verdict = meaning_of(first_value(fields, _VERDICT) if fields else record, words)
    reason = first_value(fields, _REASONS)
    return verdict, " ".join(reason.split()) if isinstance(reason, str) else ""


def meaning_of(value: Any, words: Mapping[str, W]) -> W | None:
    """Return what a word means, however it is capitalised and punctuated; None: it is none of them."""
    return words.get(str(value).strip(" .!\"'`*\n\t").lower().replace("’", "'"))
