"""How an answer of the way ``graph`` came about: route, queries, and what context nodes brought in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Route = Literal["local", "global", "hybrid"]
#: What a query for nodes was run over.
Over = Literal["property graph", "tables"]


@dataclass(frozen=True, slots=True)
class NodeQuery:
    """A query for nodes or edges that was run.

    Attributes:
        template: that it was made from; None where a model wrote it.
        reading: what it asks, in words.
        text: the query, in openCypher.
        parameters: values of its ``$names``.
        rows: how many it gave.
        more: there are or may be others.
        over: the property graph, or the tables of the index where there is none of it.
    """

    template: str | None
    reading: str
    text: str
    parameters: Mapping[str, Any]
    rows: int
    more: bool
    over: Over


@dataclass(frozen=True, slots=True)
class FoundCommunity:
    """A community that was looked into; ``score``: how near its report is, None where an entity led to it."""

    community_id: str
    title: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ContextNode:
    """A context node that led on: attached to ``community_id``, and a member of ``home_id``."""

    entity_id: str
    title: str
    community_id: str
    home_id: str


@dataclass(frozen=True, slots=True)
class BroughtIn:
    """A relationship that context nodes brought in; ``similarity`` of its ends, None where no vectors are."""

    relationship_id: str
    head: str
    relation: str
    tail: str
    similarity: float | None


@dataclass(frozen=True, slots=True)
class GraphTrace:
    """All of it.

    Attributes:
        route: whether nodes, summaries of communities, or both were looked for.
        reason: why, in words.
        by: who chose: rules, or a model.
        queries: in the order in which they were run.
        untold: why a query ran over the tables, or was not run at all; blank where it ran as it should.
        communities: the nearest first, then those of the entities in the question.
        facts: relationships that the queries found, of which ``shown`` stand in the context.
        context_nodes: that led on.
        brought_in: by them, the most similar first.
        boundary: what is to be said of context nodes where none led on.
    """

    route: Route
    reason: str
    by: Literal["rules", "model"]
    queries: tuple[NodeQuery, ...] = ()
    untold: str = ""
    communities: tuple[FoundCommunity, ...] = ()
    facts: int = 0
    shown: int = 0
    context_nodes: tuple[ContextNode, ...] = ()
    brought_in: tuple[BroughtIn, ...] = ()
    boundary: str = ""
