"""The two retrievers: nodes and edges by a query, and summaries of communities (fourth paper §III.C)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import polars as pl

from graphrag_dagster.apps.cypher.asking import GraphAnswer
from graphrag_dagster.apps.cypher.graph_search.boundary import Boundary, brought_in, nodes_of
from graphrag_dagster.apps.cypher.graph_search.communities import (
    communities_of,
    level_of,
    members_of,
    nearest_summaries,
)
from graphrag_dagster.apps.cypher.graph_search.context import Found
from graphrag_dagster.apps.cypher.graph_search.queries import NodeQueries, texts_in
from graphrag_dagster.apps.cypher.graph_search.trace import FoundCommunity
from graphrag_dagster.kernel.graph.relations import CO_OCCURS, RELATED_TO
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.tasks.answering import QueryWriter
from graphrag_dagster.kernel.text.similarity import stems
from graphrag_dagster.systems.graphrag.search.graph_facts.facts import Key, facts_of, keys_of, nearest_first
from graphrag_dagster.systems.graphrag.search.graph_facts.tables import edges_of
from graphrag_dagster.systems.graphrag.search.graph_facts.templates import (
    around,
    attributes,
    inside,
    members,
    path,
)

#: Labels that say nothing of how two are related.
_OF_ANY = (CO_OCCURS, RELATED_TO)
#: Entities of a subgraph that a query is restricted to, at most; those with the most neighbours stay.
_LARGEST_PART = 2_000
#: Entities that rows name, at most.
_MOST_NAMED = 50
_TOGETHER = re.compile(
    r"\b(?:connect\w*|relat(?:ed|ions?|ionships?)|link(?:s|ed)?|paths?|ties|tied|associat\w+|between)\b",
    re.IGNORECASE,
)
_COMMUNITY = re.compile(r"\b(?:communit(?:y|ies)|clusters?)\b", re.IGNORECASE)
#: Stems of what a question asks of an entity itself.
_OF_ITSELF = frozenset(
    stem
    for word in ("type kind sort describe description define definition entity called known",)
    for stem in stems(word)
)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found, the queries that found it, the communities that were looked into, and the boundary."""

    found: Found
    queries: NodeQueries
    communities: tuple[FoundCommunity, ...] = ()
    boundary: Boundary = field(default_factory=Boundary)
    facts: int = 0


def local(search: Search, entities: Mapping[str, str], writer: QueryWriter | None) -> Retrieved:
    """Find what the graph has around the entities of a question, and across the border of their communities.

    Args:
        search: the question.
        entities: titles by id.
        writer: of queries; None: templates make them.
    """
    communities = tuple(communities_of(search, list(entities)))
    return _nodes(search, entities, communities, None, writer)


def hybrid(search: Search, entities: Mapping[str, str], writer: QueryWriter | None) -> Retrieved:
    """Find what :func:`local` does in the part of the graph that summaries locate.

    That part are the members of the communities with the nearest summaries, of those of the entities, and the
    context nodes of both. Where the question names no entity, it is every edge in that part.
    """
    near = nearest_summaries(search)
    own = [one for one in communities_of(search, list(entities)) if one.community_id not in _ids(near)]
    communities = (*near, *own)
    level = level_of(search)
    nodes = [one.entity_id for one in nodes_of(search.index, level, _ids(communities))]
    part = dict.fromkeys([*entities, *nodes, *members_of(search.index, level, _ids(communities))])
    return _nodes(search, entities, communities, list(part)[:_LARGEST_PART], writer)


def summaries(search: Search) -> Retrieved:
    """Find the communities with the nearest summaries, and what their context nodes bring in."""
    near = tuple(nearest_summaries(search))
    boundary = brought_in(search, _ids(near), (), ())
    found = Found(summaries=near, brought_in=[fact for fact, _ in boundary.facts])
    return Retrieved(found, NodeQueries(search.index), near, boundary)


def _nodes(
    search: Search,
    entities: Mapping[str, str],
    communities: tuple[FoundCommunity, ...],
    part: Sequence[str] | None,
    writer: QueryWriter | None,
) -> Retrieved:
    queries = NodeQueries(search.index)
    made = _by_model(search, queries, communities, part, writer) if writer else None
    found = made or _by_templates(search, queries, entities, communities, part)
    most = search.options.graph.facts
    ends = [end for fact in found.facts[:most] for end in fact.ends]
    boundary = brought_in(search, _ids(communities), {*entities, *ends}, {fact.key for fact in found.facts})
    shown = replace(found, facts=found.facts[:most], brought_in=[fact for fact, _ in boundary.facts])
    return Retrieved(shown, queries, communities, boundary, len(found.facts))


def _by_templates(
    search: Search,
    queries: NodeQueries,
    entities: Mapping[str, str],
    communities: Sequence[FoundCommunity],
    part: Sequence[str] | None,
) -> Found:
    if not entities:
        keys = keys_of(queries.ask(inside(part))) if part else []
        return Found(facts=nearest_first(search, facts_of(search.index, keys)))
    index, question = search.index, search.question.text
    rest = set(stems(question)) - {stem for title in entities.values() for stem in stems(title)}
    named = list(entities)
    first: list[Key] = []
    if communities and _COMMUNITY.search(question):
        titled = {one.community_id: one.title for one in communities}
        named += [row["entity_id"] for row in queries.ask(members(titled))]
    elif rest <= _OF_ITSELF:
        named = [row["entity_id"] for row in queries.ask(attributes(entities))]
    if labels := _labels_named(index, named[: len(entities)], rest):
        first += keys_of(queries.ask(around(entities, labels, part)))
    every = keys_of(queries.ask(around(entities, within=part)))
    if len(entities) > 1:
        one, other = list(entities.items())[:2]
        together = [key for key in every if {key[0], key[2]} <= set(entities)]
        if _TOGETHER.search(question) or not together:
            on_the_way = _on_paths(index, queries.ask(path(one, other)), part)
            first += on_the_way
            named += [end for head, _, tail in on_the_way for end in (head, tail)]
        first += together
    leading = dict.fromkeys(first)
    ordered = nearest_first(search, facts_of(index, [*leading, *every]))
    return Found(
        entities=list(dict.fromkeys(named)), facts=sorted(ordered, key=lambda one: one.key not in leading)
    )


def _labels_named(index: IndexSnapshot, entities: Sequence[str], rest: set[str]) -> list[str]:
    """Labels of edges at entities whose words all stand in the rest of the question."""
    edges = edges_of(index)
    at = edges.filter(pl.col("head_id").is_in(entities) | pl.col("tail_id").is_in(entities))
    labels = ((label, set(stems(label.replace("_", " ")))) for label in at["relation"].unique().sort())
    return [label for label, words in labels if words and words <= rest and label not in _OF_ANY]


def _on_paths(
    index: IndexSnapshot, rows: Sequence[Mapping[str, Any]], part: Sequence[str] | None
) -> list[Key]:
    """Every edge between two entities that follow one another on a path inside of the part."""
    steps: dict[tuple[str, str], None] = {}
    for row in rows:
        if part is None or set(row["entities"]) <= set(part):
            steps |= dict.fromkeys(pairwise(row["entities"]))
    every = edges_of(index).sort(-pl.col("strength"), "head_id", "relation", "tail_id")
    found: list[Key] = []
    for one, other in steps:
        ends = [one, other]
        found += keys_of(
            every.filter(pl.col("head_id").is_in(ends) & pl.col("tail_id").is_in(ends)).iter_rows(named=True)
        )
    return found


def _by_model(
    search: Search,
    queries: NodeQueries,
    communities: Sequence[FoundCommunity],
    part: Sequence[str] | None,
    writer: QueryWriter,
) -> Found | None:
    """What the rows of a query name that a model wrote; None where none could be run, or it gave no rows."""
    made = queries.written(search, writer, _told_within(communities) if part is not None else "")
    if made is None or not made.ran.found.rows:
        return None
    named = _named_in(search.index, made, None if part is None else set(part))
    ends, within = set(named), pl.col("head_id").is_in(named) & pl.col("tail_id").is_in(named)
    edges = edges_of(search.index).filter(within).sort(-pl.col("strength"), "head_id", "relation", "tail_id")
    keys = keys_of(edges.iter_rows(named=True)) if len(ends) > 1 else []
    return Found(entities=named, facts=nearest_first(search, facts_of(search.index, keys)), ran=made.ran)


def _named_in(index: IndexSnapshot, made: GraphAnswer, part: set[str] | None) -> list[str]:
    """Ids of the entities that the rows name by id, name or title, in their order."""
    known = index.once(_ids_of_names)
    found = (known.get(text) for row in made.ran.found.rows for text in texts_in(list(row)))
    inside_ = (one for one in dict.fromkeys(found) if one is not None and (part is None or one in part))
    return list(inside_)[:_MOST_NAMED]


def _ids_of_names(index: IndexSnapshot) -> dict[str, str]:
    rows = list(index.entities.select("entity_id", "name", "title").iter_rows())
    by_title = {title: key for key, _, title in reversed(rows)}
    return {**by_title, **{name: key for key, name, _ in rows}, **{key: key for key, _, _ in rows}}


def _told_within(communities: Sequence[FoundCommunity]) -> str:
    # Titles are made of the documents' words, and have no place among instructions.
    return (
        "\nThe query has to stay among members (IN_COMMUNITY) of the communities with these values of "
        f"community_id: {', '.join(_ids(communities))}"
    )


def _ids(communities: Sequence[FoundCommunity]) -> list[str]:
    return [one.community_id for one in communities]
