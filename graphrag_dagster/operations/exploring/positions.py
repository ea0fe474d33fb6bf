"""Where entities are drawn."""

import numpy as np
import polars as pl

from graphrag_dagster.operations.exploring.opened import OpenSnapshot
from graphrag_dagster.tables import LAYOUT

_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def positions(shown: OpenSnapshot, entities: pl.DataFrame) -> pl.DataFrame:
    """Return entities with ``x`` and ``y``: as the snapshot has them, else arranged by community.

    Args:
        shown: the snapshot.
        entities: ``entity_id``, ``degree`` and ``community_id`` of all that are drawn.
    """
    arranged = _arranged(entities)
    if not shown.has(LAYOUT):
        return arranged
    kept = shown.frame(f"select entity_id, x as kept_x, y as kept_y from {shown[LAYOUT]}")
    return (
        arranged.join(kept, on="entity_id", how="left", maintain_order="left")
        .with_columns(x=pl.coalesce("kept_x", "x"), y=pl.coalesce("kept_y", "y"))
        .drop("kept_x", "kept_y")
    )


def _arranged(entities: pl.DataFrame) -> pl.DataFrame:
    """Put communities around the middle, the largest inside, and members around the middle of theirs.

    Both as seeds in a flower's head (H. Vogel, A better way to construct the sunflower head, 1979): each
    further one the golden angle on, at a distance that gives all the same room.
    """
    ordered = entities.sort("degree", "entity_id", descending=[True, False]).with_columns(
        rank=pl.int_range(pl.len()).over("community_id")
    )
    sizes = (
        ordered.group_by("community_id")
        .agg(size=pl.len())
        .sort("size", "community_id", descending=[True, False], nulls_last=True)
        .with_columns(before=pl.col("size").cum_sum() - pl.col("size") / 2, place=pl.int_range(pl.len()))
    )
    placed = ordered.join(sizes, on="community_id", nulls_equal=True, maintain_order="left")
    around = _seeds(placed["place"].to_numpy(), np.sqrt(2 * placed["before"].to_numpy()))
    inside = _seeds(placed["rank"].to_numpy(), 0.8 * np.sqrt(placed["rank"].to_numpy()))
    # A single community needs no place among others.
    alone = 0.0 if sizes.height <= 1 else 1.0
    x, y = (alone * one + other for one, other in zip(around, inside, strict=True))
    made = placed.with_columns(x=pl.Series(x, dtype=pl.Float64), y=pl.Series(y, dtype=pl.Float64))
    return entities.join(made.select("entity_id", "x", "y"), on="entity_id", maintain_order="left")


def _seeds(number: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    angle = number * _GOLDEN_ANGLE
    return distance * np.cos(angle), distance * np.sin(angle)
