"""Worked examples from a corpus's own domain, which replace the general ones in prompts (paper §3.1.2)."""

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

#: Most examples of one kind, and most records of one kind in an example.
MOST_EXAMPLES, _MOST_RECORDS = 8, 40
#: Delimiters of records; inside a field they would end it.
_MARKS = ("<|", "|>", "##")


def _tidy(text: str) -> str:
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if not any(map(str.isalnum, cleaned)):
        raise ValueError("contains no letter or digit")
    if mark := next((mark for mark in _MARKS if mark in cleaned), None):
        raise ValueError(f"contains {mark!r}, which separates the records of a reply")
    return cleaned


def _check_label(text: str) -> str:
    if (label := relation_label(text)) is None:
        raise ValueError("should be a label of at most 8 words, such as founded_by")
    return label


_Name = Annotated[str, Field(max_length=200), AfterValidator(_tidy)]
_Sentences = Annotated[str, Field(max_length=1000), AfterValidator(_tidy)]
_Text = Annotated[str, Field(max_length=4000), AfterValidator(_tidy)]
_Label = Annotated[str, Field(max_length=200), AfterValidator(_check_label)]
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
    def _serialize(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Without a label, the result is the same as before labels were introduced.
        return {name: value for name, value in written(self).items() if name != "relation" or value}


class GraphExample(_Example):
    """A text, with the entities and relationships that are to be found in it."""

    text: _Text
    entities: Annotated[tuple[ExampleEntity, ...], Field(min_length=1, max_length=_MOST_RECORDS)]
    relationships: Annotated[tuple[ExampleRelationship, ...], Field(max_length=_MOST_RECORDS)] = ()

    @model_validator(mode="after")
    def _check_ends(self) -> "GraphExample":
        known = {normalise(entity.name) for entity in self.entities}
        for index, relationship in enumerate(self.relationships):
            ends = (relationship.source, relationship.target)
            if missing := [name for name in ends if normalise(name) not in known]:
                raise ValueError(
                    f"relationships.{index} names {missing[0]!r}, which is not among its entities"
                )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its entities."""
        return tuple(entity.name for entity in self.entities)


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
    """A text with entities it names, and the claims about them that are to be found."""

    text: _Text
    entities: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=_MOST_RECORDS)]
    claims: Annotated[tuple[ExampleClaim, ...], Field(min_length=1, max_length=_MOST_RECORDS)]

    @model_validator(mode="after")
    def _check_quotes(self) -> "ClaimExample":
        known = {normalise(name) for name in self.entities}
        for index, claim in enumerate(self.claims):
            if normalise(claim.subject) not in known:
                raise ValueError(
                    f"claims.{index}.subject is {claim.subject!r}, which is not among its entities"
                )
            if missing := [quote for quote in claim.quotes if quote not in self.text]:
                raise ValueError(f"claims.{index}.quotes are not all in its text: {missing[0][:60]!r}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its entities."""
        return self.entities
