"""Context nodes of every level: candidates, scores, budgets, selection (paper §III.A)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.undirected_graph import network_of
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_ACCOUNT, CONTEXT_NODES
from graphrag_dagster.systems.context_leiden.index.betweenness import centrality
from graphrag_dagster.systems.context_leiden.index.community_distances import UNREACHABLE, distances
from graphrag_dagster.systems.context_leiden.index.cosine_similarity import UnitVectors, alignment
from graphrag_dagster.systems.context_leiden.index.graph_neighbours import Places, adjacency
from graphrag_dagster.systems.context_leiden.tables import CONTEXT_CANDIDATES, OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphrag_dagster.systems.context_leiden.index.cosine_similarity import Doubles
    from graphrag_dagster.systems.context_leiden.index.graph_neighbours import NeighbourLists
    from graphrag_dagster.systems.context_leiden.index.node_embeddings import NodeVectors
    from graphrag_dagster.systems.context_leiden.settings import ContextSettings


#: Scores that differ in later digits alone are equal.
_DIGITS = 9
#: What the logarithm of a power of two may be off.
_ROUNDING = 1e-9

TAKEN, OVER_BUDGET, PENALISED, UNREACHED, DISSIMILAR = range(len(OUTCOMES))


@dataclass(frozen=True, slots=True)
class ContextCandidates:
    """Nodes that are most like a community other than their own, ascending.

    Attributes:
        node: the place of each.
        target: the community that it is most like.
        similarity: mean cosine with that.
        distance: edges to it, -1 for more than are looked at.
        centrality: normalised betweenness.
    """

    node: Places
    target: Places
    similarity: Doubles
    distance: NDArray[np.int32]
    centrality: Doubles


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """What became of candidates.

    Attributes:
        score: squared similarity over 1 + distance; 0 for those that are dropped.
        penalised: the score after the penalty of central nodes.
        rank: place among the candidates of the community, 1…; 0 for those without a score.
        outcome: place in :data:`~graphrag_dagster.systems.context_leiden.tables.OUTCOMES`.
    """

    score: Doubles
    penalised: Doubles
    rank: Places
    outcome: Places


def select(candidates: ContextCandidates, options: ContextSettings) -> NodeSelection:
    """Score candidates and take the best of each community, as many as its budget allows.

    Only those with a score above 0 after the penalty count for the budget. Of equals, to nine digits, the
    more similar one comes first, then the one with the lower number.
    """
    unreachable = candidates.distance == UNREACHABLE
    hops = np.where(unreachable, options.max_hops + 1, candidates.distance)
    dissimilar = candidates.similarity <= options.min_sim
    dropped = dissimilar | (unreachable & (options.unreachable == "drop"))
    score = np.where(dropped, 0.0, np.square(candidates.similarity) / (1 + hops))
    penalised = penalty(score, candidates.centrality, options)
    rank, rivals = _ranks(candidates, penalised)
    budget = budgets(rivals, options)
    outcome = np.select(
        [dissimilar, dropped, penalised <= 0, rank <= budget],
        [DISSIMILAR, UNREACHED, PENALISED, TAKEN],
        OVER_BUDGET,
    )
    return NodeSelection(score, penalised, rank, outcome)


def penalty(score: Doubles, centrality: Doubles, options: ContextSettings) -> Doubles:
    """Return scores that are lower the more central a node is."""
    if options.penalty == "factor":
        return score / (1 + centrality)
    return np.maximum(score - options.gamma * centrality, 0.0)


def budgets(candidates: Places, options: ContextSettings) -> Places:
    """Return how many context nodes a community with so many candidates may have: rounded down."""
    grown = options.alpha * np.log2(candidates + 1.0) + _ROUNDING
    whole: Places = np.floor(np.minimum(grown, options.lambda_max)).astype(np.int64)
    return whole


def _ranks(candidates: ContextCandidates, penalised: Doubles) -> tuple[Places, Places]:
    """Return the rank of each among those of its community with a score, and how many these are."""
    rank = np.zeros(len(penalised), dtype=np.int64)
    rivals = rank.copy()
    scored = np.flatnonzero(penalised > 0)
    target = candidates.target[scored]
    by_score, by_similarity = penalised[scored].round(_DIGITS), candidates.similarity[scored].round(_DIGITS)
    order = np.lexsort((candidates.node[scored], -by_similarity, -by_score, target))
    _, first, counts = np.unique(target[order], return_index=True, return_counts=True)
    rank[scored[order]] = np.arange(len(order)) - np.repeat(first, counts) + 1
    rivals[scored[order]] = np.repeat(counts, counts)
    return rank, rivals


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """Context nodes of a partition, which itself is as it was.

    Attributes:
        candidates: misaligned nodes: those most like a community other than their own.
        home_similarity: mean cosine of each with its own community.
        selection: what became of each.
        without_vector: clustered nodes that nothing can be compared of.
    """

    candidates: ContextCandidates
    home_similarity: Doubles
    selection: NodeSelection
    without_vector: int


def context_leiden(
    graph: NeighbourLists, labels: Places, units: UnitVectors, central: Doubles, options: ContextSettings
) -> PartitionContext:
    """Find the context nodes of a partition.

    Args:
        graph: the edges.
        labels: of every node its community, 0… without gaps; -1 for a node in none.
        units: vectors of the nodes.
        central: their normalised betweenness.
        options: how they are chosen.
    """
    members = np.flatnonzero(labels >= 0)
    own = labels[members]
    aligned = alignment(units, members, own, include_self=options.include_self)
    moved = np.flatnonzero(aligned.target != own)
    nodes, targets = members[moved], aligned.target[moved]
    candidates = ContextCandidates(
        nodes,
        targets,
        aligned.similarity[moved],
        distances(graph, labels, nodes, targets, options.max_hops),
        central[nodes],
    )
    without = len(members) - int(units.present[members].sum())
    return PartitionContext(candidates, aligned.home[moved], select(candidates, options), without)


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
    context: PartitionContext


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
        GraphragError: an edge cannot be used, see :func:`.network`; or a
            node stands twice in a level.
    """
    whole = network_of(relationships)
    clustered = community_levels["entity_id"].cast(pl.String)
    ids = pl.concat([whole.names.cast(pl.String), clustered]).unique().sort()
    graph = adjacency(whole, ids)
    units = UnitVectors(vectors.of(ids))
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
    """Return of each level from C0 on the community of each node, sorted by node.

    Raises:
        GraphragError: a node stands twice in a level.
    """
    rows = (
        community_levels.filter(pl.col("level") >= 0)
        .select("level", "entity_id", "community_id")
        .sort("level", "entity_id")
    )
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
