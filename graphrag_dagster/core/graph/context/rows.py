"""Context nodes as rows of their tables."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.core.graph.context.adjacency import Places
from graphrag_dagster.core.graph.context.distances import UNREACHABLE
from graphrag_dagster.core.graph.context.partition import Context
from graphrag_dagster.tables.context import CONTEXT_ACCOUNT, CONTEXT_CANDIDATES, CONTEXT_NODES, OUTCOMES


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
