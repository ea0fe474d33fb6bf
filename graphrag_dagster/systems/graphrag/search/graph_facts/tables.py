"""Query templates over the tables of an index, with the same rows as the property graph."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import polars as pl

from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.context.queries import LONGEST_PATH, MOST_ROWS
from graphrag_dagster.kernel.tables import TRIPLES
from graphrag_dagster.systems.graphrag.search.graph_facts.templates import NodeQuestion

Rows = list[dict[str, Any]]

_EDGE = ("head_id", "relation", "tail_id", "strength")
_ENTITY = ("entity_id", "title", "type", "description", "degree")


def rows_of(question: NodeQuestion, index: IndexSnapshot) -> Rows:
    """Return the first rows that a template gives over the tables, as many as over the property graph."""
    given = question.parameters
    match question.template:
        case "attributes":
            found = index.entities.filter(pl.col("entity_id").is_in(given["entities"])).select(_ENTITY)
            return found.sort(-pl.col("degree"), "entity_id").head(MOST_ROWS).to_dicts()
        case "members":
            return _members(index, given["communities"])
        case "path":
            return list(islice(_paths(index, given["first"], given["second"]), MOST_ROWS))
        case _:
            return _edges(index, given)


def edges_of(index: IndexSnapshot) -> pl.DataFrame:
    """Return the directed, labelled edges both of whose ends are entities; no rows where none were made."""
    return index.once(_known_edges)


def _known_edges(index: IndexSnapshot) -> pl.DataFrame:
    if index.triples is None:
        return TRIPLES.empty()
    known = index.entities["entity_id"].implode()
    both = index.triples["head_id"].is_in(known) & index.triples["tail_id"].is_in(known)
    return index.triples if both.all() else index.triples.filter(both)


def _edges(index: IndexSnapshot, given: Mapping[str, Sequence[str]]) -> Rows:
    found = edges_of(index).select(_EDGE)
    if "entities" in given:
        ends = given["entities"]
        found = found.filter(pl.col("head_id").is_in(ends) | pl.col("tail_id").is_in(ends))
    if "within" in given:
        ends = given["within"]
        found = found.filter(pl.col("head_id").is_in(ends) & pl.col("tail_id").is_in(ends))
    if "relations" in given:
        found = found.filter(pl.col("relation").is_in(given["relations"]))
    ordered = found.sort(-pl.col("strength"), "head_id", "relation", "tail_id")
    return ordered.head(MOST_ROWS).to_dicts()


def _members(index: IndexSnapshot, communities: Sequence[str]) -> Rows:
    if index.members is None:
        return []
    chosen = index.members.filter(pl.col("community_id").is_in(communities))
    found = index.entities.join(chosen, on="entity_id", how="semi").select("entity_id", "degree")
    return found.sort(-pl.col("degree"), "entity_id").head(MOST_ROWS).to_dicts()


def _paths(index: IndexSnapshot, first: str, second: str) -> Iterator[dict[str, Any]]:
    """Every shortest path of at most :data:`LONGEST_PATH` edges, whichever way these lead, by its ids."""
    neighbours = index.once(_neighbours)
    if first == second or first not in neighbours:
        return
    steps = _steps_to(second, neighbours)
    if first not in steps:
        return
    waiting = [[first]]
    while waiting:
        begun = waiting.pop()
        left = steps[begun[-1]]
        if not left:
            yield {"entities": begun, "steps": len(begun) - 1}
            continue
        nearer = (one for one in neighbours[begun[-1]] if steps.get(one) == left - 1)
        waiting += [[*begun, one] for one in sorted(nearer, reverse=True)]


def _steps_to(end: str, neighbours: Mapping[str, set[str]]) -> dict[str, int]:
    """Smallest number of edges from one entity to each other, up to the longest path."""
    steps = {end: 0}
    waiting = deque([end])
    while waiting:
        here = waiting.popleft()
        if steps[here] == LONGEST_PATH:
            break
        for one in neighbours.get(here, ()):
            if one not in steps:
                steps[one] = steps[here] + 1
                waiting.append(one)
    return steps


def _neighbours(index: IndexSnapshot) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for head, tail in edges_of(index).select("head_id", "tail_id").iter_rows():
        found.setdefault(head, set()).add(tail)
        found.setdefault(tail, set()).add(head)
    return found
