"""Worked examples of a corpus's own domain, shown in prompts in place of the general one (paper §3.1.2)."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from graphrag_dagster.kernel.graph.graph_labels import relation_label
from graphrag_dagster.kernel.text.text_similarity import normalise

#: Most examples of a kind, and most records of one kind in an example.
MOST_EXAMPLES, _MOST_RECORDS = 8, 40
#: The marks of delimited records; inside a field they would end it.
_MARKS = ("<|", "|>", "##")


def _tidy(text: str) -> str:
    tidy = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if not any(map(str.isalnum, tidy)):
        raise ValueError("holds no letter and no digit")
    if mark := next((mark for mark in _MARKS if mark in tidy), None):
        raise ValueError(f"holds {mark!r}, which parts the records of a reply")
    return tidy


def _labelled(text: str) -> str:
    if (label := relation_label(text)) is None:
        raise ValueError("should be a label of at most 8 words, such as founded_by")
    return label


_Name = Annotated[str, Field(max_length=200), AfterValidator(_tidy)]
_Sentences = Annotated[str, Field(max_length=1000), AfterValidator(_tidy)]
_Text = Annotated[str, Field(max_length=4000), AfterValidator(_tidy)]
_Label = Annotated[str, Field(max_length=200), AfterValidator(_labelled)]
_Date = Annotated[str, Field(pattern=r"^\d{4}(-\d\d(-\d\d)?)?$")]


class _Example(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExampleEntity(_Example):
    """An entity that the text of an example names."""

    name: _Name
    type: _Name
    description: _Sentences


class ExampleRelationship(_Example):
    """Two entities of an example that its text connects."""

    source: _Name
    target: _Name
    relation: _Label | None = None
    description: _Sentences
    strength: Annotated[float, Field(ge=1, le=10)] = 5.0

    @model_serializer(mode="wrap")
    def _told(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # One without a label is what it was before there were labels.
        return {name: value for name, value in written(self).items() if name != "relation" or value}


class GraphExample(_Example):
    """A text, with the entities and relationships that are to be found in it."""

    text: _Text
    entities: Annotated[tuple[ExampleEntity, ...], Field(min_length=1, max_length=_MOST_RECORDS)]
    relationships: Annotated[tuple[ExampleRelationship, ...], Field(max_length=_MOST_RECORDS)] = ()

    @model_validator(mode="after")
    def _ends_are_entities(self) -> "GraphExample":
        known = {normalise(one.name) for one in self.entities}
        for place, one in enumerate(self.relationships):
            missing = [name for name in (one.source, one.target) if normalise(name) not in known]
            if missing:
                raise ValueError(f"relationships.{place} names {missing[0]!r}, which is none of its entities")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its entities."""
        return tuple(one.name for one in self.entities)


class ExampleClaim(_Example):
    """A claim that the text of an example makes."""

    subject: _Name
    object: _Name | None = None
    type: _Name
    status: Literal["TRUE", "FALSE", "SUSPECTED"] = "TRUE"
    start_date: _Date | None = None
    end_date: _Date | None = None
    description: _Sentences
    quotes: Annotated[tuple[_Sentences, ...], Field(min_length=1, max_length=10)]


class ClaimExample(_Example):
    """A text with entities that stand in it, and the claims about them that are to be found."""

    text: _Text
    entities: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=_MOST_RECORDS)]
    claims: Annotated[tuple[ExampleClaim, ...], Field(min_length=1, max_length=_MOST_RECORDS)]

    @model_validator(mode="after")
    def _rest_on_the_text(self) -> "ClaimExample":
        known = {normalise(name) for name in self.entities}
        for place, one in enumerate(self.claims):
            if normalise(one.subject) not in known:
                raise ValueError(f"claims.{place}.subject is {one.subject!r}, which is none of its entities")
            if foreign := [quote for quote in one.quotes if quote not in self.text]:
                raise ValueError(f"claims.{place}.quotes are not all in its text: {foreign[0][:60]!r}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its entities."""
        return self.entities


def unlabelled(examples: Iterable[GraphExample]) -> str | None:
    """Return where an example has a relationship without a label; None if none has."""
    return next(
        (
            f"{number}.relationships.{place}"
            for number, example in enumerate(examples)
            for place, one in enumerate(example.relationships)
            if one.relation is None
        ),
        None,
    )


def foreign_type(examples: Iterable[GraphExample], types: Iterable[str]) -> str | None:
    """Return where an example has an entity of a type that is not asked for, and which; None if none has."""
    wanted = {one.strip().upper() for one in types}
    return next(
        (
            f"{number}.entities.{place}.type is {one.type!r}"
            for number, example in enumerate(examples)
            for place, one in enumerate(example.entities)
            if one.type.upper() not in wanted
        ),
        None,
    )
