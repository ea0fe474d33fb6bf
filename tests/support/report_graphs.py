"""Small graphs as the tables hold them, and ways to count tokens by hand."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES, GLEANED_RELATIONSHIPS


def rows_of(text: str) -> int:
    """One token per row, none per header."""
    return sum(line[:1].isdigit() for line in text.split("\n"))


def marks_of(text: str) -> int:
    """One token per word ``w``; anything else is free."""
    return len(re.findall(r"\bw\b", text))


def words_of(text: str) -> int:
    """One token per word."""
    return len(text.split())


@dataclass(frozen=True)
class Counted:
    """Counts tokens by a function, text by text."""

    count: Callable[[str], int]
    lines_add_up: bool = False

    def counts_of_lines(self, texts: Sequence[str]) -> list[int]:
        return list(map(self.count, texts))


@dataclass(frozen=True)
class Graph:
    entities: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame
    communities: pl.DataFrame
    members: pl.DataFrame

    def frames(self) -> dict[str, pl.DataFrame]:
        return {
            "entities": self.entities,
            "relationships": self.relationships,
            "claims": self.claims,
            "communities": self.communities,
            "members": self.members,
        }

    def tables(self) -> dict[Table, pl.DataFrame]:
        return tables_of(self.frames())


_TABLES = {
    "entities": tables.ENTITIES,
    "relationships": tables.RELATIONSHIPS,
    "claims": tables.MERGED_CLAIMS,
    "communities": tables.COMMUNITIES,
    "members": tables.COMMUNITY_MEMBERS,
    "text_chunks": tables.TEXT_CHUNKS,
    "gleaned_entities": GLEANED_ENTITIES,
    "gleaned_relationships": GLEANED_RELATIONSHIPS,
    "aliases": ALIASES,
    "context_nodes": CONTEXT_NODES,
}


def tables_of(frames: Mapping[str, pl.DataFrame]) -> dict[Table, pl.DataFrame]:
    return {_TABLES[name]: frame for name, frame in frames.items()}


def build_graph(
    edges: Sequence[tuple[str, str]],
    communities: Mapping[str, tuple[str | None, str]],
    *,
    degrees: Mapping[str, int] | None = None,
    descriptions: Mapping[str, str] | None = None,
    claims: Sequence[tuple[str, str | None, str]] = (),
) -> Graph:
    """Names are single letters; ``communities``: id → (parent, members); claims: subject, object, text.

    ``descriptions`` are by name, for edges by the two names in order; the default is nothing.
    """
    told = descriptions or {}
    pairs = sorted({(min(pair), max(pair)) for pair in edges})
    names = sorted(
        {name for pair in pairs for name in pair} | {n for _, ms in communities.values() for n in ms}
    )
    degree = degrees or {name: sum(name in pair for pair in pairs) for name in names}
    entities = [
        entity_row(number, name, told.get(name, ""), degree[name]) for number, name in enumerate(names)
    ]
    relationships = [
        relationship_row(number, *pair, told.get("".join(pair), ""), degree[pair[0]] + degree[pair[1]])
        for number, pair in enumerate(pairs)
    ]
    level = {name: _level(name, communities) for name in communities}
    parents = {parent for parent, _ in communities.values()}
    return Graph(
        tables.ENTITIES.frame(entities),
        tables.RELATIONSHIPS.frame(relationships),
        tables.CLAIMS.frame([claim_row(number, *claim) for number, claim in enumerate(claims)]),
        tables.COMMUNITIES.frame(
            [
                {
                    "community_id": name,
                    "human_readable_id": number,
                    "level": level[name],
                    "parent_id": parent,
                    "is_leaf": name not in parents,
                    "size": len(inside),
                    "internal_edges": sum(set(pair) <= set(inside) for pair in pairs),
                    "summed_degree": sum(degree[one] for one in inside),
                }
                for number, (name, (parent, inside)) in enumerate(communities.items())
            ]
        ),
        tables.COMMUNITY_MEMBERS.frame(
            [
                {"community_id": name, "entity_id": stable_id("entity", one), "level": level[name]}
                for name, (_, inside) in communities.items()
                for one in inside
            ]
        ),
    )


def _level(name: str, communities: Mapping[str, tuple[str | None, str]]) -> int:
    parent = communities[name][0]
    return 0 if parent is None else 1 + _level(parent, communities)


def entity_row(number: int, name: str, description: str, degree: int) -> dict[str, object]:
    return {
        "entity_id": stable_id("entity", name),
        "human_readable_id": number,
        "name": name,
        "title": name,
        "names": [name],
        "type": "GEO",
        "description": description,
        "description_engine": "as_is",
        "description_problem": None,
        "text_unit_ids": [],
        "frequency": 1,
        "instances": 1,
        "degree": degree,
    }


def relationship_row(
    number: int, source: str, target: str, description: str, degree: int
) -> dict[str, object]:
    return {
        "relationship_id": stable_id("relationship", source, target),
        "human_readable_id": number,
        "source": source,
        "target": target,
        "source_id": stable_id("entity", source),
        "target_id": stable_id("entity", target),
        "description": description,
        "description_engine": "as_is",
        "description_problem": None,
        "weight": 1.0,
        "instances": 1,
        "combined_degree": degree,
        "text_unit_ids": [],
    }


def claim_row(number: int, subject: str, other: str | None, description: str) -> dict[str, object]:
    return {
        "claim_id": f"claim{number}",
        "human_readable_id": number,
        "text_unit_id": "t0",
        "round": 0,
        "position": number,
        "subject": subject,
        "object": other,
        "type": "EVENT",
        "status": "TRUE",
        "description": description,
        "start_date": None,
        "end_date": "1907-06-01",
        "spans": [],
        "engine": "extractive",
    }
