"""What an answer of the method ``graph`` says of how it came about: on a line, and in full."""

import json
from collections.abc import Iterator

from graphrag_dagster.core.search.context.answer import Record, Section, community, entity, facts, section
from graphrag_dagster.core.search.methods.graph.trace import GraphTrace
from graphrag_dagster.core.wording import counted

_CHOSEN_BY = {"rules": "", "model": " (a model chose)"}


def told(trace: GraphTrace) -> str:
    """Return how an answer came about."""
    return "; ".join(_parts(trace))


def _parts(trace: GraphTrace) -> Iterator[str]:
    yield f"{trace.route}: {trace.reason}{_CHOSEN_BY[trace.by]}"
    if trace.communities and trace.route != "local":
        yield f"{counted(len(trace.communities), 'community', 'communities')} looked into"
    for one in trace.queries:
        made = f"the template {one.template}" if one.template else "a query that the model wrote"
        more = " or more" if one.more else ""
        yield f"{made} over the {one.over}: {counted(one.rows, 'row')}{more}"
    if trace.untold and any(one.over == "tables" for one in trace.queries):
        yield trace.untold
    if trace.context_nodes:
        brought = counted(len(trace.brought_in), "relationship")
        yield f"{counted(len(trace.context_nodes), 'context node')} brought in {brought}"
    elif trace.boundary:
        yield trace.boundary


def sections_of(trace: GraphTrace) -> tuple[Section, ...]:
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
        (Record(one.head, "relationship", (one.relationship_id,)), one.relation, one.tail, one.similarity)
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
