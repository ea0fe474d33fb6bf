"""Communities of imported graphs, as communities of the merged graph."""

import json
from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.graph.hierarchy import MEMBERSHIPS, Hierarchy, as_hierarchy, empty_hierarchy
from graphrag_dagster.kernel.graph.network import Network
from graphrag_dagster.kernel.tasks.ports import RecordKind
from graphrag_dagster.systems.graphrag.reports.earlier import KeptReport


def kept_hierarchy(
    communities: pl.DataFrame, declared: pl.DataFrame, entities: pl.DataFrame, relationships: pl.DataFrame
) -> tuple[Hierarchy, dict[tuple[str, str], str]]:
    """Return the communities of graphs as they came, and the id here of each by its graph and key.

    A level is a partition: of several communities of a level an entity is in the first. A parent that there
    is not, or is not of the level above, is none. Communities without any entity of the graph are left out.

    Args:
        communities: rows of ``imports.communities``.
        declared: rows of ``imports.entities``.
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
    """
    graph = _whole(entities, relationships)
    ordered = (
        communities.sort("level", "path", "row")
        .unique(["graph", "key"], keep="first", maintain_order=True)
        .with_row_index("cluster")
    )
    of_key = declared.select("graph", "key", "name").unique()
    of_name = dict(entities.select("name", "entity_id").iter_rows())
    places = {name: place for place, name in enumerate(graph.names)}
    members = (
        ordered.select("cluster", "level", "graph", key="entity_keys")
        .explode("key")
        .drop_nulls("key")
        .join(of_key, on=["graph", "key"], how="left", maintain_order="left")
        .with_columns(name=pl.coalesce("name", "key"))
        .with_columns(node=pl.col("name").replace_strict(of_name, default=None, return_dtype=pl.String))
        .with_columns(node=pl.col("node").replace_strict(places, default=None, return_dtype=pl.Int64))
        .drop_nulls("node")
        .unique(["level", "node"], keep="first", maintain_order=True)
    )
    if members.is_empty():
        return empty_hierarchy(), {}
    parents = _parents(ordered, set(members["cluster"]))
    memberships = members.select(
        "node", "cluster", "level", parent=pl.col("cluster").replace_strict(parents, return_dtype=pl.Int64)
    ).select(pl.col(name).cast(type_) for name, type_ in MEMBERSHIPS.items())
    hierarchy = as_hierarchy(graph, memberships)
    return hierarchy, _ids(hierarchy, memberships, graph, ordered)


def _whole(entities: pl.DataFrame, relationships: pl.DataFrame) -> Network:
    """The graph with its isolated entities."""
    names = entities["entity_id"].sort()
    places = {name: place for place, name in enumerate(names)}
    ends = relationships.select(
        pl.col("source_id", "target_id").replace_strict(places, return_dtype=pl.Int64), "weight"
    )
    ordered = ends.select(
        low=pl.min_horizontal("source_id", "target_id"),
        high=pl.max_horizontal("source_id", "target_id"),
        weight="weight",
    ).sort("low", "high")
    return Network(names, *(ordered[name].to_numpy() for name in ("low", "high", "weight")))


def _parents(ordered: pl.DataFrame, there: set[int]) -> dict[int, int | None]:
    levels = dict(ordered.select("cluster", "level").iter_rows())
    by_key = {
        (of, key): cluster for of, key, cluster in ordered.select("graph", "key", "cluster").iter_rows()
    }
    found: dict[int, int | None] = {}
    for cluster, of, parent in ordered.select("cluster", "graph", "parent_key").iter_rows():
        above = by_key.get((of, parent)) if parent is not None else None
        fits = above in there and above is not None and levels[above] == levels[cluster] - 1
        found[cluster] = above if fits else None
    return found


def _ids(
    hierarchy: Hierarchy, memberships: pl.DataFrame, graph: Network, ordered: pl.DataFrame
) -> dict[tuple[str, str], str]:
    """The id of each community: that of the one of its level that holds the same first entity."""
    at = {
        (level, entity): community
        for level, entity, community in hierarchy.members.select(
            "level", "entity_id", "community_id"
        ).iter_rows()
    }
    keys = {cluster: (of, key) for cluster, of, key in ordered.select("cluster", "graph", "key").iter_rows()}
    first = memberships.group_by("cluster").agg(pl.first("level", "node"))
    return {keys[cluster]: at[level, graph.names[node]] for cluster, level, node in first.iter_rows()}


Numbers = Mapping[RecordKind, Mapping[int, str]]
#: By what Microsoft GraphRAG's reports cite entities, relationships and claims.
_NUMBER = "human_readable_id"


def kept_reports(
    reports: pl.DataFrame,
    communities: Mapping[tuple[str, str], str],
    *,
    entities: pl.DataFrame,
    relations: pl.DataFrame,
    claims: pl.DataFrame,
) -> dict[str, KeptReport]:
    """Return the reports of graphs as they came, by the id here of their community; of several the first.

    Args:
        reports: rows of ``imports.reports``.
        communities: id of each community by its graph and key.
        entities: rows of ``imports.entities``.
        relations: rows of ``imports.relations``.
        claims: rows of ``imports.claims``.
    """
    numbers = _numbers(communities, entities, relations, claims)
    kept: dict[str, KeptReport] = {}
    for row in reports.sort("path", "row").iter_rows(named=True):
        community = communities.get((row["graph"], row["community_key"]))
        if community is not None and community not in kept:
            kept[community] = KeptReport(
                title=row["title"],
                summary=row["summary"],
                content=row["content"],
                rating=row["rating"],
                rating_explanation=row["rating_explanation"],
                findings=tuple((one["summary"], one["explanation"]) for one in json.loads(row["findings"])),
                cited=numbers[row["graph"]],
            )
    return kept


def _numbers(
    communities: Mapping[tuple[str, str], str],
    entities: pl.DataFrame,
    relations: pl.DataFrame,
    claims: pl.DataFrame,
) -> Mapping[str, Numbers]:
    found: dict[str, dict[RecordKind, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    named: tuple[tuple[RecordKind, pl.DataFrame, tuple[str, ...]], ...] = (
        ("entity", entities, ("name",)),
        ("relationship", relations, ("head", "tail")),
        ("claim", claims, ("subject", "object", "type")),
    )
    for kind, frame, columns in named:
        for graph, number, *parts in _numbered(frame, *columns).iter_rows():
            ordered = sorted(parts) if kind == "relationship" else [part or "" for part in parts]
            found[graph][kind][number] = stable_id(kind, *ordered)
    for (graph, key), community in communities.items():
        if key.isdecimal():
            found[graph]["report"][int(key)] = community
    return found


def _numbered(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    number = pl.col("attributes").str.json_path_match(f"$.{_NUMBER}").cast(pl.Int64, strict=False)
    rows = frame.select("graph", number.alias("number"), *columns).drop_nulls("number").unique()
    return rows.sort("graph", "number", *columns)
