"""Templates of queries for nodes and edges, without a model (spec_context_leiden §6)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graphrag_dagster.kernel.questions.context.queries import LONGEST_PATH, MOST_ROWS

TemplateName = Literal["attributes", "around", "by_relation", "inside", "members", "path"]

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


def around(
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


def inside(entities: Iterable[str]) -> NodeQuestion:
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


def _and(names: Iterable[str]) -> str:
    return " and ".join(names)
