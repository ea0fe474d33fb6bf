"""The shapes of JSON replies as the endpoint is asked for them; what is read may be looser."""

import json
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """The shape of a reply; it has no other fields."""

    model_config = ConfigDict(extra="forbid")


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


class DescriptionShape(Shape):
    """A merged description."""

    description: str


class FindingShape(Shape):
    """A finding of a report."""

    summary: str
    explanation: str


class ReportShape(Shape):
    """A community report (paper, Appendix E.2)."""

    title: str
    summary: str
    rating: float
    rating_explanation: str
    findings: list[FindingShape]


class AnswerShape(Shape):
    """A partial answer (paper, Appendix E.4)."""

    answer: str
    score: int


class PointShape(Shape):
    """One point of a partial answer."""

    description: str
    score: int


class PointsShape(Shape):
    """A partial answer as points."""

    points: list[PointShape]


@cache
def schema_text(shape: type[BaseModel]) -> str:
    """Return the JSON schema of a model as text; making it takes longer than all else about a request."""
    return json.dumps(shape.model_json_schema(), sort_keys=True, ensure_ascii=False)
