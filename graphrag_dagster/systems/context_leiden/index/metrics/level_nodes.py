"""The nodes of a level as its measures need them."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.systems.context_leiden.index.adjacency import Places
from graphrag_dagster.systems.context_leiden.index.metrics.memberships import NONE, Memberships
from graphrag_dagster.systems.context_leiden.index.metrics.nearest import nearest_nodes
from graphrag_dagster.systems.context_leiden.index.units import Units
from graphrag_dagster.systems.context_leiden.index.vectors.node_vectors import NodeVectors

_EXACT_UP_TO, _SAMPLED = 200_000, 20_000


@dataclass(frozen=True, slots=True)
class LevelNodes:
    """The nodes of a level that have a vector, and the neighbours of those that precision is measured at.

    Attributes:
        ids: of all nodes of the level.
        units: their vectors.
        members: those that have one.
        looked_at: those that precision is measured at, as places among ``members``.
        near: of each of these the most similar others, as such places.
    """

    ids: pl.Series
    units: Units
    members: Places
    looked_at: Places
    near: Places


def level_nodes(ids: pl.Series, vectors: NodeVectors, neighbours: int, seed: int) -> LevelNodes:
    """Return the nodes of a level; beyond 200,000 precision is measured at 20,000 drawn at random."""
    units = Units(vectors.of(ids))
    members = np.flatnonzero(units.present)
    looked_at = np.arange(len(members))
    if len(members) > _EXACT_UP_TO:
        looked_at = np.sort(np.random.default_rng(seed).choice(len(members), _SAMPLED, replace=False))
    near = (
        nearest_nodes(units, members, looked_at, neighbours)
        if len(members)
        else np.empty((0, 0), dtype=np.int64)
    )
    return LevelNodes(ids, units, members, looked_at, near)


def memberships(rows: pl.DataFrame, candidates: pl.DataFrame, members: Places) -> Memberships:
    """Return where the members belong.

    Args:
        rows: community of each node of the level.
        candidates: of the level.
        members: the nodes that have a vector.
    """
    chosen = rows[members]
    names = chosen["community_id"].unique().sort()
    targets = chosen.join(
        candidates.select("entity_id", target="community_id", taken=pl.col("outcome") == "taken"),
        on="entity_id",
        how="left",
        maintain_order="left",
    )
    home = names.search_sorted(chosen["community_id"]).to_numpy().astype(np.int64)
    held = targets["target"].is_not_null().to_numpy()
    resembled = np.full(len(members), NONE)
    resembled[held] = names.search_sorted(targets["target"].drop_nulls()).to_numpy()
    taken = targets["taken"].fill_null(value=False).to_numpy()
    return Memberships(home, np.where(taken, resembled, NONE), resembled)
