"""The shapes of JSON replies, and a tolerant reader of what a model says of numbered items."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from graphrag_dagster.kernel.models.chat.reply_parsing import (
    Incomplete,
    NotUsable,
    first_value,
    is_placeholder,
    read_typed,
    with_normalised_keys,
)


class Shape(BaseModel):
    """The shape of a reply, as the endpoint is asked for it and as it is read.

    A reply may have further keys, and spell keys with blanks, hyphens and capitals; one that is null counts
    as missing; what is one list may come without its key. What else is tolerated (:func:`or_named`,
    :data:`AnyNumber`, :data:`Line`, validators) is no part of the schema.
    """

    model_config = ConfigDict(
        json_schema_extra={"additionalProperties": False}, json_schema_serialization_defaults_required=True
    )

    @model_validator(mode="before")
    @classmethod
    def _normalise_keys(cls, value: Any) -> Any:
        if isinstance(value, list) and len(cls.model_fields) == 1:
            return dict.fromkeys(cls.model_fields, value)
        if not isinstance(value, dict):
            return value
        return {key: item for key, item in with_normalised_keys(value).items() if item is not None}


#: Asked for as a whole number, and read as it came: models write "85 of 100", or 0.85.
AnyNumber = Annotated[Any, WithJsonSchema({"type": "integer"})]


def _line(value: Any) -> Any:
    if isinstance(value, dict):
        value = first_value(with_normalised_keys(value), _TEXTS)
    if not isinstance(value, str):
        return value
    return "" if is_placeholder(value) or not any(map(str.isalnum, value)) else " ".join(value.split())


def _number(value: Any) -> int:
    # Only a number by itself: a statement that is repeated in its place may hold any.
    found = None if isinstance(value, bool) else _NUMBER.fullmatch(str(value).strip())
    return int(found[1]) if found else 0


def plain_word(value: Any) -> str:
    """Return a word in small letters, without punctuation round it."""
    return str(value).strip(" .!\"'`*\n\t").lower().replace("’", "'")


_TEXTS = ("text", "statement", "claim", "fact", "sentence", "question", "task", "query", "content")
_NUMBER = re.compile(r"(?:[a-z]+\.?\s*)?#?(\d{1,9})[.:)]?", re.IGNORECASE)
#: A text on one line, also one that came as an object; blank where it holds no words.
Line = Annotated[str, BeforeValidator(_line)]
#: The number of an item, also one that came as text; 0 where it is none.
ItemNumber = Annotated[int, BeforeValidator(_number)]


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


class _Verdict(Shape):
    """A verdict as a model may write it; ``id`` is the number of its item."""

    id: ItemNumber = or_named(
        "id", "number", "statement_id", "passage_id", "index", "statement", "passage", missing=int
    )
    verdict: Any = or_named("verdict", "judgement", "judgment", "answer", "label", "rating", missing=str)
    reason: str = or_named("reason", "explanation", "why", missing=str)

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"verdict": value}


class _Verdicts(Shape):
    verdicts: list[_Verdict] = or_named(
        "verdicts", "statements", "passages", "judgements", "judgments", "results", "ratings"
    )


def read_words(text: str, count: int, words: Mapping[str, W]) -> tuple[tuple[tuple[W, str], ...], bool]:
    """Return verdict and reason of items 1…count in a reply, in that order; see :func:`read_some_words`.

    Raises:
        NotUsable: not every item has one verdict.
    """
    try:
        found, repaired = read_some_words(text, count, words, "verdict")
    except Incomplete as problem:
        raise NotUsable(str(problem)) from None
    return tuple(found[number] for number in range(1, count + 1)), repaired


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

    Records without a number count in their order if there are exactly as many as items.

    Args:
        text: the reply.
        count: how many items there are.
        words: what a verdict may be, in lower case, with what it means.
        key: what a verdict is called in the prompt.
        otherwise: what any other word means; None: nothing.
        check: raises NotUsable where a reason is of no use.

    Raises:
        Incomplete: not every item has one verdict.
        NotUsable: none has, or there is a verdict on what was not asked, so that no number can be trusted.
    """
    reply, repaired = read_typed(text, _Verdicts)
    given = reply.verdicts
    numbers: Iterable[int] = (one.id for one in given)
    if len(given) == count and not any(one.id for one in given):
        numbers = range(1, count + 1)
    if check:
        check(one.reason for one in given)
    said: dict[int, dict[W, str]] = {}
    for number, one in zip(numbers, given, strict=True):
        if not 1 <= number <= count:
            raise NotUsable(f'a {key} has no "id" from 1 to {count}')
        word = meaning_of(one.verdict, words)
        if (meant := otherwise if word is None else word) is not None:
            said.setdefault(number, {}).setdefault(meant, " ".join(one.reason.split()))
    found = {number: next(iter(of.items())) for number, of in said.items() if len(of) == 1}
    if not found:
        raise NotUsable(f'it does not give any number exactly one "{key}" of the allowed words')
    if missing := [str(one) for one in range(1, count + 1) if one not in found]:
        named = ", ".join(missing[:10])
        raise Incomplete(f'it does not give exactly one "{key}" for number {named} of {count}', found)
    return found, repaired


def meaning_of(value: Any, words: Mapping[str, W]) -> W | None:
    """Return what a word means, however it is capitalised and punctuated; None: it is none of them."""
    return words.get(plain_word(value))
