"""Ids of communities that outlive a new clustering, by overlap of members."""

import polars as pl

from graphrag_dagster.core.ids import stable_id

_SAME_FROM = 0.5


def named(clusters: pl.DataFrame, previous: pl.DataFrame | None) -> dict[int, str]:
    """Return an id for every cluster.

    A cluster takes the id of the previous community that it goes on from, see :func:`matched`. Any other gets
    a hash of its level and members, and of a counter where a previous community bears that id already.

    Args:
        clusters: ``cluster``, ``level`` and ``entity_id``, the sorted list of members.
        previous: rows of ``graph.community_members`` of the clustering before, None where there is none.
    """
    ids = {
        cluster: stable_id("community", level, *members)
        for cluster, level, members in clusters.select("cluster", "level", "entity_id").iter_rows()
    }
    if previous is None or previous.is_empty():
        return ids
    new = clusters.select(
        pl.col("cluster").replace_strict(ids, return_dtype=pl.String).alias("community_id"),
        "level",
        "entity_id",
    ).explode("entity_id")
    kept, before = matched(new, previous), set(previous["community_id"])
    return {cluster: kept.get(name) or _unused(name, before) for cluster, name in ids.items()}


def matched(new: pl.DataFrame, previous: pl.DataFrame, *, same_from: float = _SAME_FROM) -> dict[str, str]:
    """Return which new communities go on from which previous ones, one to one.

    Pairs of the same level are taken by the Jaccard overlap of their members, the largest first, as long as
    both are free; of equals the pair with more members in common, then that with the smaller ids.

    Args:
        new: ``community_id``, ``level``, ``entity_id``: a row per community and member.
        previous: the same of the clustering before.
        same_from: smallest overlap, of 0 to 1, with which a community goes on.
    """
    level = pl.col("level").cast(pl.Int32)
    sizes = [rows.group_by("community_id").len() for rows in (new, previous)]
    pairs = (
        new.with_columns(level)
        .join(previous.with_columns(level), on=["level", "entity_id"], suffix="_before")
        .group_by("community_id", "community_id_before")
        .agg(pl.len().cast(pl.Int64).alias("common"))
        .join(sizes[0], on="community_id")
        .join(sizes[1], left_on="community_id_before", right_on="community_id", suffix="_before")
        .with_columns(overlap=pl.col("common") / (pl.col("len") + pl.col("len_before") - pl.col("common")))
        .filter(pl.col("overlap") >= same_from)
        .sort(
            "overlap",
            "common",
            "community_id_before",
            "community_id",
            descending=[True, True, False, False],
        )
    )
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name, before in pairs.select("community_id", "community_id_before").iter_rows():
        if name not in found and before not in taken:
            found[name] = before
            taken.add(before)
    return found


def _unused(name: str, taken: set[str]) -> str:
    free, attempt = name, 0
    while free in taken:
        attempt += 1
        free = stable_id("community", name, attempt)
    return free
