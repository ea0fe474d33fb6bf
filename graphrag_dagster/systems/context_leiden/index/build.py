"""Context nodes of all levels of communities (spec_context_leiden §1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.network import network_of
from graphrag_dagster.kernel.tables import CONTEXT_ACCOUNT, CONTEXT_CANDIDATES, CONTEXT_NODES
from graphrag_dagster.kernel.tables.context import OUTCOMES
from graphrag_dagster.systems.context_leiden.index.adjacency import Places, adjacency
from graphrag_dagster.systems.context_leiden.index.betweenness import centrality
from graphrag_dagster.systems.context_leiden.index.distances import UNREACHABLE
from graphrag_dagster.systems.context_leiden.index.partition import Context, context_leiden
from graphrag_dagster.systems.context_leiden.index.units import Units

if TYPE_CHECKING:
    from graphrag_dagster.systems.context_leiden.index.vectors.node_vectors import NodeVectors
    from graphrag_dagster.systems.context_leiden.settings import ContextSettings


@dataclass(frozen=True, slots=True)
class ContextTables:
    """Rows of ``graph.context_candidates``, ``graph.context_nodes`` and ``graph.context_account``."""

    candidates: pl.DataFrame
    nodes: pl.DataFrame
    account: pl.DataFrame


@dataclass(frozen=True, slots=True)
class LevelContext:
    """The context nodes of a level, by number.

    Attributes:
        level: its k.
        ids: of all nodes.
        names: ids of the communities.
        labels: of every node its community, -1 for none.
        context: what was found.
    """

    level: int
    ids: pl.Series
    names: pl.Series
    labels: Places
    context: Context


def as_tables(levels: list[LevelContext], embedding: str) -> ContextTables:
    """Return the rows of all levels; ``embedding`` names what was compared."""
    candidates = pl.concat([CONTEXT_CANDIDATES.empty(), *map(_candidates, levels)])
    taken = candidates.filter(pl.col("outcome") == "taken").with_columns(score="penalised_score")
    account = [_account(level, embedding) for level in levels]
    return ContextTables(
        candidates.sort("level", "entity_id"),
        taken.select(CONTEXT_NODES.column_names).sort("level", "community_id", "rank"),
        CONTEXT_ACCOUNT.frame(account),
    )


def _candidates(level: LevelContext) -> pl.DataFrame:
    found, selection = level.context.candidates, level.context.selection
    frame = pl.DataFrame(
        {
            "level": np.full(len(found.node), level.level),
            "entity_id": level.ids.gather(found.node),
            "home_id": level.names.gather(level.labels[found.node]),
            "community_id": level.names.gather(found.target),
            "similarity": found.similarity,
            "home_similarity": level.context.home_similarity,
            "distance": pl.Series(found.distance).replace(UNREACHABLE, None),
            "betweenness": found.centrality,
            "score": selection.score,
            "penalised_score": selection.penalised,
            "rank": pl.Series(selection.rank).replace(0, None),
            "outcome": pl.Series(OUTCOMES).gather(selection.outcome),
        }
    )
    return frame.select(pl.col(name).cast(type_) for name, type_ in CONTEXT_CANDIDATES.types().items())


def _account(level: LevelContext, embedding: str) -> dict[str, object]:
    context = level.context
    counts = np.bincount(context.selection.outcome, minlength=len(OUTCOMES))
    return {
        "level": level.level,
        "embedding": embedding,
        "communities": len(level.names),
        "nodes": int((level.labels >= 0).sum()),
        "without_vector": context.without_vector,
        "misaligned": len(context.candidates.node),
        **dict(zip(OUTCOMES, counts.tolist(), strict=True)),
    }


__all__ = ["ContextTables", "build_context", "partitions"]


def build_context(
    relationships: pl.DataFrame,
    community_levels: pl.DataFrame,
    vectors: NodeVectors,
    options: ContextSettings,
) -> ContextTables:
    """Find the context nodes of every level.

    Betweenness is that of the whole graph, computed once. A level with the partition of the one before has
    its rows, too, which are not computed again.

    Args:
        relationships: rows of ``graph.relationships``.
        community_levels: rows of ``graph.community_levels``; they stay as they are.
        vectors: of the nodes; a node of which there is none has zeros.
        options: how they are chosen.

    Raises:
        GraphragError: an edge cannot be used, see :func:`graphrag_dagster.kernel.graph.network.network`; or a
            node stands twice in a level.
    """
    whole = network_of(relationships)
    clustered = community_levels["entity_id"].cast(pl.String)
    ids = pl.concat([whole.names.cast(pl.String), clustered]).unique().sort()
    graph = adjacency(whole, ids)
    units = Units(vectors.of(ids))
    levels = partitions(community_levels)
    central = centrality(graph, options) if levels else np.zeros(0)
    made: list[LevelContext] = []
    for number, (level, rows) in enumerate(levels):
        if number and rows.equals(levels[number - 1][1]):
            made.append(replace(made[-1], level=level))
            continue
        names = rows["community_id"].unique().sort()
        labels = np.full(len(ids), -1, dtype=np.int64)
        labels[ids.search_sorted(rows["entity_id"]).to_numpy()] = names.search_sorted(
            rows["community_id"]
        ).to_numpy()
        context = context_leiden(graph, labels, units, central, options)
        made.append(LevelContext(level, ids, names, labels, context))
    return as_tables(made, vectors.name)


def partitions(community_levels: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """Return of each level the community of each node, sorted by node.

    Raises:
        GraphragError: a node stands twice in a level.
    """
    rows = community_levels.select("level", "entity_id", "community_id").sort("level", "entity_id")
    twice = rows.filter(pl.struct("level", "entity_id").is_duplicated())
    if len(twice):
        level, node, _ = twice.row(0)
        raise GraphragError(
            f"graph.community_levels has node {node!r} more than once at level {level}: the rows are no "
            "partition; materialise the communities again"
        )
    return [
        (int(str(level)), found.select("entity_id", "community_id"))
        for (level,), found in rows.group_by("level", maintain_order=True)
    ]
