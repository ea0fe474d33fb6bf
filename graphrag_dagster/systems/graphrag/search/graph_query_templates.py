"""Query templates for nodes and edges over the tables of an index (Context-Aware Leiden, §III.B)."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import polars as pl

from graphrag_dagster.kernel.questions.context.index_snapshot import LONGEST_PATH, MOST_ROWS, IndexSnapshot
from graphrag_dagster.kernel.tables import TRIPLES

TemplateName = Literal["attributes", "around", "by_relation", "inside", "members", "path", "summaries"]

_EDGES = """MATCH (h:Entity)-[r:RELATED]->(t:Entity)
WHERE {where}
RETURN h.entity_id AS head_id, r.relation AS relation, t.entity_id AS tail_id, r.strength AS strength
ORDER BY strength DESC, head_id, relation, tail_id
LIMIT {most}"""
_AROUND = "(h.entity_id IN $entities OR t.entity_id IN $entities)"
_WITHIN = "h.entity_id IN $within AND t.entity_id IN $within"
_RELATION = "r.relation IN $relations"
_PATH = """MATCH p = allShortestPaths((a:Entity)-[:RELATED*1..{longest}]-(b:Entity))
WHERE a.entity_id = $first AND b.entity_id = $second
WITH DISTINCT [n IN nodes(p) | n.entity_id] AS entities, length(p) AS steps
WITH entities, steps, entities + ['', ''] AS filled
RETURN entities, steps
ORDER BY steps, filled[1], filled[2], filled[3]
LIMIT {most}"""
_ATTRIBUTES = """MATCH (e:Entity)
WHERE e.entity_id IN $entities
RETURN e.entity_id AS entity_id, e.title AS title, e.type AS type, e.description AS description,
    e.degree AS degree
ORDER BY degree DESC, entity_id
LIMIT {most}"""
_MEMBERS = """MATCH (e:Entity)-[:IN_COMMUNITY]->(c:Community)
WHERE c.community_id IN $communities
RETURN DISTINCT e.entity_id AS entity_id, e.degree AS degree
ORDER BY degree DESC, entity_id
LIMIT {most}"""

_SUMMARIES = """MATCH (r:Report)-[:REPORTS_ON]->(c:Community)
WHERE c.community_id IN $communities
RETURN r.report_id AS report_id, r.title AS title, r.summary AS summary, r.rating AS rating
ORDER BY rating DESC, report_id
LIMIT {most}"""


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """A query of a template.

    Attributes:
        template: its name.
        reading: what it asks, in words.
        text: the query, in openCypher.
        parameters: values of its ``$names``.
    """

    template: TemplateName
    reading: str
    text: str
    parameters: Mapping[str, Any]


def attributes(entities: Mapping[str, str]) -> NodeQuestion:
    """Ask for what is told of entities themselves, given with their titles."""
    return NodeQuestion(
        "attributes",
        f"Found: what is told of {_and(entities.values())}",
        _ATTRIBUTES.format(most=MOST_ROWS),
        {"entities": list(entities)},
    )


def neighbours_question(
    entities: Mapping[str, str], relations: Iterable[str] = (), within: Iterable[str] | None = None
) -> NodeQuestion:
    """Ask for the edges that begin or end at entities.

    Args:
        entities: titles by id.
        relations: labels that the edges have; none: any.
        within: ids of entities that both ends have to be among; None: any.
    """
    labels, inside = list(relations), None if within is None else sorted(within)
    where = [_AROUND, *([_RELATION] if labels else []), *([_WITHIN] if inside is not None else [])]
    parameters: dict[str, Any] = {"entities": list(entities)}
    parameters |= {"relations": labels} if labels else {}
    parameters |= {"within": inside} if inside is not None else {}
    called = f" called {_and(labels)}" if labels else ""
    part = " inside of the communities found" if inside is not None else ""
    return NodeQuestion(
        "by_relation" if labels else "around",
        f"Found: edges{called} of {_and(entities.values())}{part}",
        _EDGES.format(where=" AND ".join(where), most=MOST_ROWS),
        parameters,
    )


def members_question(entities: Iterable[str]) -> NodeQuestion:
    """Ask for the edges among entities, given by their ids."""
    return NodeQuestion(
        "inside",
        "Found: edges inside of the communities found",
        _EDGES.format(where=_WITHIN, most=MOST_ROWS),
        {"within": sorted(entities)},
    )


def path(first: tuple[str, str], second: tuple[str, str]) -> NodeQuestion:
    """Ask for the shortest paths between two entities, each given by its id and title."""
    return NodeQuestion(
        "path",
        f"Found: the shortest paths of at most {LONGEST_PATH} edges between {first[1]} and {second[1]}",
        _PATH.format(longest=LONGEST_PATH, most=MOST_ROWS),
        {"first": first[0], "second": second[0]},
    )


def members(communities: Mapping[str, str]) -> NodeQuestion:
    """Ask for the members of communities, given with their titles."""
    return NodeQuestion(
        "members",
        f"Found: members of {_and(f'“{title}”' for title in communities.values())}",
        _MEMBERS.format(most=MOST_ROWS),
        {"communities": list(communities)},
    )


def stored_summaries(communities: Mapping[str, str]) -> NodeQuestion:
    """Ask for the stored summaries of communities, given with their titles."""
    return NodeQuestion(
        "summaries",
        f"Found: the stored summaries of {_and(f'“{title}”' for title in communities.values())}",
        _SUMMARIES.format(most=MOST_ROWS),
        {"communities": list(communities)},
    )


def _and(names: Iterable[str]) -> str:
    return " and ".join(names)


Rows = list[dict[str, Any]]

_EDGE = ("head_id", "relation", "tail_id", "strength")
_ENTITY = ("entity_id", "title", "type", "description", "degree")
_REPORT = ("report_id", "title", "summary", "rating")


def rows_of(question: NodeQuestion, index: IndexSnapshot) -> Rows:
    """Return the first rows that a template gives over the tables, as many as over the property graph."""
    given = question.parameters
    match question.template:
        case "attributes":
            found = index.entities.filter(pl.col("entity_id").is_in(given["entities"])).select(_ENTITY)
            return found.sort(-pl.col("degree"), "entity_id").head(MOST_ROWS).to_dicts()
        case "members":
            return _members(index, given["communities"])
        case "summaries":
            known = index.reports.filter(pl.col("report_id").is_in(given["communities"])).select(_REPORT)
            return known.sort(-pl.col("rating"), "report_id").head(MOST_ROWS).to_dicts()
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
    steps = _distances_to(second, neighbours)
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


def _distances_to(end: str, neighbours: Mapping[str, set[str]]) -> dict[str, int]:
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
