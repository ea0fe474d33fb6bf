"""The levels C0, C1, …: partitions of the clustered entities (paper §4.1.2, spec_graphrag §5)."""

import polars as pl

from graphrag_dagster.errors import GraphragError

_SMALLEST_DEEPEST = 3
_SHOWN = 3


def levels(communities: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Return C0 … Ck for k up to max(3, deepest level), with leaves projected downwards.

    Ck holds the communities of level k and the leaves above it, which gives each entity the deepest
    community it has at level k or above.

    Args:
        communities: rows of ``graph.communities``.
        members: rows of ``graph.community_members``.

    Returns:
        Rows of ``graph.community_levels``: ``level``, ``entity_id``, ``community_id``, ``projected``, sorted
        by level and entity.
    """
    deepest = max(_SMALLEST_DEEPEST, int(communities.select(pl.max("level").fill_null(0)).item()))
    found = [
        members.filter(pl.col("level") <= k)
        .sort("entity_id", "level")
        .group_by("entity_id", maintain_order=True)
        .agg(pl.last("community_id"), pl.last("level").alias("found"))
        .select(
            pl.lit(k, pl.Int32).alias("level"), "entity_id", "community_id", projected=pl.col("found") < k
        )
        for k in range(deepest + 1)
    ]
    return pl.concat(found)


def check_partition(level_rows: pl.DataFrame, members: pl.DataFrame) -> list[str]:
    """Return what keeps some Ck from being a partition of the clustered entities; empty when all are.

    At every level each clustered entity must stand exactly once, in a community it is a member of; every
    community must be of that level, or a leaf of a level above; and no level may have fewer communities
    than the one before.

    Args:
        level_rows: rows of ``graph.community_levels``.
        members: rows of ``graph.community_members``.
    """
    problems: list[str] = []
    before = 0
    for (k,), rows in sorted(level_rows.group_by("level")):
        problems += [f"C{k}: {problem}" for problem in _problems(int(str(k)), rows, members)]
        communities = rows["community_id"].n_unique()
        if communities < before:
            problems.append(f"C{k}: {communities} communities, fewer than the {before} of the level before")
        before = communities
    if not len(level_rows) and len(members):
        problems.append("there are members but no levels")
    return problems


def coverage(entities: pl.DataFrame, members: pl.DataFrame) -> dict[str, float]:
    """Return how many nodes are in communities: ``nodes``, ``clustered``, ``isolated`` and ``coverage``.

    ``isolated`` counts the nodes in no community: those without an edge and, in the paper's profile, those
    outside the largest component. ``coverage`` is clustered / nodes, 1 for a graph without nodes.

    Raises:
        GraphragError: a member is no entity.
    """
    clustered = members.select(pl.col("entity_id").unique())
    strays = clustered.join(entities, on="entity_id", how="anti")
    if len(strays):
        raise GraphragError(
            f"{len(strays)} community members are not among the entities, e.g. {strays.item(0, 0)}: "
            "the two tables come from different runs; materialise the communities again"
        )
    nodes = len(entities)
    return {
        "nodes": nodes,
        "clustered": len(clustered),
        "isolated": nodes - len(clustered),
        "coverage": len(clustered) / nodes if nodes else 1.0,
    }


def _problems(k: int, rows: pl.DataFrame, members: pl.DataFrame) -> list[str]:
    clustered = members.select(pl.col("entity_id").unique())
    twice = rows.filter(pl.col("entity_id").is_duplicated()).select(pl.col("entity_id").unique())
    levels_of = members.group_by("community_id").agg(pl.first("level").alias("found"))
    split = members.filter(pl.col("level") <= k).join(
        rows.join(levels_of, on="community_id").select("entity_id", "found"), on="entity_id"
    )
    placed = rows.join(levels_of, on="community_id", how="left")
    return [
        f"{len(wrong)} {what}, e.g. {sorted(wrong[column].unique())[:_SHOWN]}"
        for what, column, wrong in (
            ("entities stand more than once", "entity_id", twice),
            ("clustered entities are missing", "entity_id", clustered.join(rows, on="entity_id", how="anti")),
            (
                "entities are not members of their community",
                "entity_id",
                rows.join(members, on=["community_id", "entity_id"], how="anti"),
            ),
            ("rows are of a deeper level", "community_id", placed.filter(pl.col("found") > k)),
            (
                "communities are split further at or above this level",
                "entity_id",
                split.filter(pl.col("level") > pl.col("found")),
            ),
        )
        if len(wrong)
    ]
