"""What context nodes bring in: facts of communities beside those that were found (fourth paper §IV.B).

A context node of a found community leads to the community that it is a member of; an entity that was found
and is a context node itself leads to both of its communities.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

import polars as pl

from graphrag_dagster.apps.cypher.graph_search.communities import level_of, members_of
from graphrag_dagster.apps.cypher.graph_search.trace import ContextNode
from graphrag_dagster.kernel.graph.relations import CO_OCCURS, RELATED_TO
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.context.local_rows import titles_of
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.ranking import first_places
from graphrag_dagster.systems.graphrag.search.graph_facts.facts import Fact, Key, facts_of, keys_of
from graphrag_dagster.systems.graphrag.search.graph_facts.smoothing import likeness
from graphrag_dagster.systems.graphrag.search.graph_facts.tables import edges_of

#: Edges that are compared with the question, the strongest ones: a root community may hold most of a graph.
_MOST_COMPARED = 20_000
_OFF = "search.graph.propagation is off"
_NONE = "this index has no context nodes"
_NONE_HERE = "no context node leads on from there"


@dataclass(frozen=True, slots=True)
class Boundary:
    """Context nodes that lead on, the facts they bring in with their likeness, and what is to be said."""

    nodes: tuple[ContextNode, ...] = ()
    facts: tuple[tuple[Fact, float | None], ...] = ()
    told: str = ""


def brought_in(
    search: Search, communities: Collection[str], entities: Collection[str], known: Collection[Key]
) -> Boundary:
    """Return the facts beside those known that context nodes lead to, the nearest to the question first.

    Args:
        search: the question.
        communities: that were found.
        entities: that were found.
        known: edges that were found; what joins the same two is not brought in again.
    """
    options = search.options.graph
    if not options.propagation:
        return Boundary(told=_OFF)
    if search.index.context_nodes is None or search.index.context_nodes.is_empty():
        return Boundary(told=_NONE)
    nodes = nodes_of(search.index, level_of(search), communities, entities)
    if not nodes:
        return Boundary(told=_NONE_HERE)
    keys = _between_others(_edges(search, nodes, entities), known)
    near = likeness(search, [(head, tail) for head, _, tail in keys])
    if near is None:
        chosen: list[tuple[Key, float | None]] = [(key, None) for key in keys[: options.brought_in]]
    else:
        best = (place for place in first_places(near).tolist() if near[place] > 0)
        chosen = [(keys[place], round(float(near[place]), 6)) for place in islice(best, options.brought_in)]
    like = dict(chosen)
    facts = facts_of(search.index, like)
    return Boundary(nodes, tuple((fact, like[fact.key]) for fact in facts))


def _between_others(keys: Iterable[Key], known: Iterable[Key]) -> list[Key]:
    """The first edge between each two that no known edge joins, whatever its label."""
    found = {frozenset((key[0], key[2])): key for key in known}
    joined = set(found)
    for key in keys:
        found.setdefault(frozenset((key[0], key[2])), key)
    return [key for pair, key in found.items() if pair not in joined]


def nodes_of(
    index: IndexSnapshot, level: int, communities: Collection[str], entities: Collection[str] = ()
) -> tuple[ContextNode, ...]:
    """Return the context nodes of communities, and those among entities, by community and rank."""
    if index.context_nodes is None:
        return ()
    chosen = index.context_nodes.filter(
        (pl.col("level") == level)
        & (pl.col("community_id").is_in(list(communities)) | pl.col("entity_id").is_in(list(entities)))
    )
    titles = titles_of(index)
    rows = chosen.sort("community_id", "rank").select("entity_id", "community_id", "home_id").iter_rows()
    return tuple(ContextNode(one, titles[one], of, home) for one, of, home in rows if one in titles)


def _edges(search: Search, nodes: Collection[ContextNode], entities: Collection[str]) -> list[Key]:
    """Edges inside of the communities that context nodes lead to, the strongest first."""
    homes = {one.home_id for one in nodes}
    attached = {one.community_id for one in nodes if one.entity_id in set(entities)}
    members = members_of(search.index, level_of(search), sorted(homes | attached))
    inside = pl.col("head_id").is_in(members) & pl.col("tail_id").is_in(members)
    bridges = [one.entity_id for one in nodes]
    crossing = (pl.col("head_id").is_in(bridges) & pl.col("tail_id").is_in(members)) | (
        pl.col("tail_id").is_in(bridges) & pl.col("head_id").is_in(members)
    )
    found = edges_of(search.index).filter(inside | crossing)
    telling = ~pl.col("relation").is_in([CO_OCCURS, RELATED_TO])
    ordered = found.sort(~telling, -pl.col("strength"), "head_id", "relation", "tail_id").head(_MOST_COMPARED)
    return keys_of(ordered.iter_rows(named=True))
