"""What is drawn of the graph: entities, and communities in place of those that are too many."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from graphrag_dagster.apps.explorer.community_map import check_level, levels_of, place_cells, positions
from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables

MOST_NODES = 2_000
_MOST_EDGES = 6_000
#: The share of nodes that may be communities.
_COMMUNITIES = 4
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Node:
    """A node to draw.

    Attributes:
        id: of the entity or the community; ``rest`` for what is left.
        kind: an entity, a community in place of those of its members that are not drawn, or all the rest.
        label: title of the entity, or of the community's report.
        type: of an entity; null for others.
        x: place from left to right; of what stands for several, the mean of theirs.
        y: place from bottom to top.
        size: neighbours of an entity, members that others stand for.
        community: place among the communities of the drawing; null where it is in none.
        members: entities that it stands for; 1 for an entity.
    """

    id: str
    kind: Literal["entity", "community", "rest"]
    label: str
    type: str | None
    x: float
    y: float
    size: int
    community: int | None
    members: int


@dataclass(frozen=True, slots=True)
class DrawnCommunity:
    """A community that nodes belong to."""

    community_id: str
    number: int
    title: str
    level: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing of the whole graph, or of a community.

    Attributes:
        level: k of Ck, whose communities nodes belong to.
        within: the community that is drawn; null for the whole graph.
        nodes: what is drawn, entities first.
        edges: places of two nodes, and the weight of the relationships between them, the heaviest first.
        communities: those that nodes belong to, the largest first.
        entities: how many there are in what is drawn.
        drawn: how many of them are drawn as themselves.
        aggregated: how many of them others stand for.
        edges_left_out: edges between nodes that are not drawn, because there are heavier ones.
    """

    level: int
    within: str | None
    nodes: list[Node]
    edges: list[tuple[int, int, float]]
    communities: list[DrawnCommunity]
    entities: int
    drawn: int
    aggregated: int
    edges_left_out: int


def draw_graph(shown: OpenSnapshot, level: int | None, within: str | None, most: int) -> Drawn:
    """Return what is drawn of the graph.

    Args:
        shown: the snapshot.
        level: k of Ck; default: the top, or one finer than the community that is drawn.
        within: the community that is drawn; default: the whole graph.
        most: most nodes.

    Raises:
        MissingError: there is no such community.
        QuestionError: there is no such level.
    """
    level = _level(shown, level, within)
    entities = _scope(shown, level, within)
    assigned = _assign_nodes(positions(shown, entities), most)
    nodes = _nodes(assigned)
    communities = _communities(shown, nodes)
    edges, left_out = _edges(shown, assigned)
    titled = _with_titles(shown, nodes, communities)
    alone = int(assigned["alone"].sum())
    return Drawn(
        level=level,
        within=within,
        nodes=[Node(**row) for row in titled.iter_rows(named=True)],
        edges=[(row[0], row[1], row[2]) for row in edges.iter_rows()],
        communities=[DrawnCommunity(**row) for row in communities.drop("community").iter_rows(named=True)],
        entities=entities.height,
        drawn=alone,
        aggregated=entities.height - alone,
        edges_left_out=left_out,
    )


def _level(shown: OpenSnapshot, level: int | None, within: str | None) -> int:
    own = place_cells(shown, within)[1].level if within is not None else None
    if level is not None:
        check_level(shown, level)
        return level
    known = levels_of(shown)
    finer = min(known, default=0) if own is None else own + 1
    return min(finer, max(known, default=0))


def _scope(shown: OpenSnapshot, level: int, within: str | None) -> pl.DataFrame:
    """``entity_id``, ``degree``, ``community_id`` at the level, of all that are in what is drawn."""
    inside = ""
    parameters: dict[str, object] = {"level": level}
    if within is not None:
        inside = f"""where entity_id in (
            select entity_id from {shown[tables.COMMUNITY_MEMBERS]} where community_id = $within
        )"""
        parameters |= {"within": within}
    return shown.frame(
        f"""
        select entity_id, degree, community_id
        from {shown[tables.ENTITIES]}
        left join (
            select entity_id, community_id from {shown[tables.COMMUNITY_LEVELS]} where level = $level
        ) using (entity_id)
        {inside}
        order by degree desc, entity_id
        """,
        **parameters,
    )


def _assign_nodes(entities: pl.DataFrame, most: int) -> pl.DataFrame:
    """Give every entity, those of the highest degree first, its node: ``node``, ``alone``, ``stands``.

    ``stands`` is the community that stands for it, null for itself or the rest.
    """
    if entities.height <= most:
        return entities.with_columns(
            node=pl.int_range(pl.len()), alone=pl.lit(value=True), stands=pl.lit(None, pl.String)
        )
    groups = min(most // _COMMUNITIES, entities["community_id"].n_unique() + 1)
    alone = pl.int_range(pl.len()) < most - groups
    marked = entities.with_columns(alone=alone)
    others = (
        marked.filter(~pl.col("alone") & pl.col("community_id").is_not_null())
        .group_by("community_id")
        .len()
        .sort("len", "community_id", descending=[True, False])
    )
    unplaced = marked.filter(~pl.col("alone") & pl.col("community_id").is_null()).height > 0
    whole = others.height <= groups and not (unplaced and others.height == groups)
    kept = (others if whole else others.head(groups - 1)).select(
        "community_id", group=pl.int_range(pl.len()) + (most - groups)
    )
    rest = most - groups + kept.height
    return (
        marked.join(kept, on="community_id", how="left", maintain_order="left")
        .with_columns(
            node=pl.when("alone").then(pl.int_range(pl.len())).otherwise(pl.col("group").fill_null(rest)),
            stands=pl.when(~pl.col("alone") & pl.col("group").is_not_null()).then("community_id"),
        )
        .drop("group")
    )


def _nodes(assigned: pl.DataFrame) -> pl.DataFrame:
    """A row per node, in order: what stands for what, and where."""
    return (
        assigned.group_by("node")
        .agg(
            pl.col("entity_id", "community_id", "stands", "alone", "degree").first(),
            pl.col("x", "y").mean().round(_DIGITS),
            members=pl.len(),
        )
        .sort("node")
        .with_columns(
            community_id=pl.when(pl.col("alone") | pl.col("stands").is_not_null()).then("community_id")
        )
    )


def _communities(shown: OpenSnapshot, nodes: pl.DataFrame) -> pl.DataFrame:
    sql = f"""
        select c.community_id, c.human_readable_id as number,
            coalesce(r.title, 'Community ' || c.human_readable_id) as title, c.level
        from {shown[tables.COMMUNITIES]} as c
        left join {shown[tables.COMMUNITY_REPORTS]} as r on r.report_id = c.community_id
        where c.community_id in (select community_id from nodes)
        order by c.size desc, c.community_id
    """
    with shown.temporary_frames(nodes=nodes.select("community_id")):
        found = shown.frame(sql)
    return found.with_columns(community=pl.int_range(pl.len()))


def _with_titles(shown: OpenSnapshot, nodes: pl.DataFrame, communities: pl.DataFrame) -> pl.DataFrame:
    with shown.temporary_frames(nodes=nodes.filter("alone").select("entity_id")):
        titles = shown.frame(
            f"""
            select entity_id, title as entity, type from {shown[tables.ENTITIES]}
            where entity_id in (select entity_id from nodes)
            """
        )

    def each(entity: pl.Expr | str, community: pl.Expr | str, rest: pl.Expr) -> pl.Expr:
        stands = pl.col("stands").is_not_null()
        return pl.when("alone").then(entity).when(stands).then(community).otherwise(rest)

    return (
        nodes.join(titles, on="entity_id", how="left", maintain_order="left")
        .join(communities, on="community_id", how="left", maintain_order="left")
        .select(
            "x",
            "y",
            "community",
            "members",
            id=each("entity_id", "stands", pl.lit("rest")),
            kind=each(pl.lit("entity"), pl.lit("community"), pl.lit("rest")),
            label=each("entity", "title", pl.format("{} more entities", "members")),
            type=pl.when("alone").then("type"),
            size=pl.when("alone").then(pl.col("degree").cast(pl.Int64)).otherwise("members"),
        )
    )


def _edges(shown: OpenSnapshot, assigned: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The heaviest edges between nodes, and how many others there are."""
    nodes = assigned.select("entity_id", "node")
    related = shown.frame(f"select source_id, target_id, weight from {shown[tables.RELATIONSHIPS]}")
    ends = (
        related.join(nodes.rename({"node": "source"}), left_on="source_id", right_on="entity_id")
        .join(nodes.rename({"node": "target"}), left_on="target_id", right_on="entity_id")
        .filter(pl.col("source") != pl.col("target"))
    )
    found = ends.group_by(
        one=pl.min_horizontal("source", "target"), other=pl.max_horizontal("source", "target")
    ).agg(pl.col("weight").sum().round(_DIGITS))
    heaviest = found.sort("weight", "one", "other", descending=[True, False, False]).head(_MOST_EDGES)
    return heaviest, found.height - heaviest.height
