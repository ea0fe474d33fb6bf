"""How an answer of the search method ``graph`` came about: route, queries, context nodes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.questions.context.answer import (
    RowLink,
    TraceSection,
    community,
    entity,
    facts,
    section,
)

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
    """A community that was looked into.

    Attributes:
        community_id: its id.
        title: of its report.
        score: how near its report is; None where an entity led to it.
        synopsis: its stored summary, where that was looked up.
    """

    community_id: str
    title: str
    score: float | None = None
    synopsis: str = ""


@dataclass(frozen=True, slots=True)
class TracedContextNode:
    """A context node that led on: attached to ``community_id``, and a member of ``home_id``."""

    entity_id: str
    title: str
    community_id: str
    home_id: str


@dataclass(frozen=True, slots=True)
class ContextNodeFacts:
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
    context_nodes: tuple[TracedContextNode, ...] = ()
    brought_in: tuple[ContextNodeFacts, ...] = ()
    boundary: str = ""


_CHOSEN_BY = {"rules": "", "model": " (chosen by a model)"}


def explain(trace: GraphTrace) -> str:
    """Return how an answer came about."""
    return "; ".join(_parts(trace))


def _parts(trace: GraphTrace) -> Iterator[str]:
    yield f"{trace.route}: {trace.reason}{_CHOSEN_BY[trace.by]}"
    if trace.communities and trace.route != "local":
        yield f"{plural(len(trace.communities), 'community', 'communities')} looked into"
    for one in trace.queries:
        made = f"the template {one.template}" if one.template else "a query that the model wrote"
        more = " or more" if one.more else ""
        yield f"{made} over the {one.over}: {plural(one.rows, 'row')}{more}"
    if trace.untold and any(one.over == "tables" for one in trace.queries):
        yield trace.untold
    if trace.context_nodes:
        brought = plural(len(trace.brought_in), "relationship")
        yield f"{plural(len(trace.context_nodes), 'context node')} brought in {brought}"
    elif trace.boundary:
        yield trace.boundary


def sections_of(trace: GraphTrace) -> tuple[TraceSection, ...]:
    """Return in full how an answer came about."""
    route = facts(
        "Route through the graph",
        route=trace.route,
        chosen_by=trace.by,
        why=trace.reason,
        relationships_found=trace.facts if trace.queries else None,
        relationships_read=trace.shown if trace.queries else None,
        not_over_the_property_graph=trace.untold,
        context_nodes=trace.boundary,
    )
    queries = (
        (
            one.over,
            f"template {one.template}" if one.template else "the model",
            one.reading,
            one.text,
            json.dumps(dict(one.parameters), ensure_ascii=False) if one.parameters else None,
            one.rows,
            one.more,
        )
        for one in trace.queries
    )
    communities = ((community(one.community_id, one.title), one.score) for one in trace.communities)
    nodes = (
        (
            entity(one.entity_id, one.title),
            community(one.community_id, one.community_id),
            community(one.home_id, one.home_id),
        )
        for one in trace.context_nodes
    )
    brought = (
        (RowLink(one.head, "relationship", (one.relationship_id,)), one.relation, one.tail, one.similarity)
        for one in trace.brought_in
    )
    made = (
        route,
        section("Communities", ("community", "score"), communities),
        section("Queries", ("over", "made by", "read as", "query", "values", "rows", "or more"), queries),
        section("Context nodes", ("context node", "attached to", "member of"), nodes),
        section("Brought in", ("head", "relation", "tail", "similarity"), brought),
    )
    return tuple(one for one in made if one.rows)
