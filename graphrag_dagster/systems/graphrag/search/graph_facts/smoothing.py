"""Vectors of entities after one step over the edges of the graph (fourth paper §IV.B).

z′ = normalise(z + weighted mean of the neighbours' z): an entity is near to a question whose neighbours are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores, cosines, unit_rows
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.finding import with_history
from graphrag_dagster.kernel.retrieval.lists import WeightedLists
from graphrag_dagster.kernel.retrieval.ranking import Vectors, rows_of


@dataclass(frozen=True, slots=True)
class Smoothed:
    """Vectors of all entities, and what is beside each; smoothed ones are made where they are asked for."""

    places: dict[str, int]
    vectors: NDArray[np.float32]
    neighbours: WeightedLists

    def of(self, entity_ids: Sequence[str]) -> Vectors:
        """Return smoothed unit vectors [n, d], zeros where neither an entity nor a neighbour has one."""
        owners = np.array([self.places[one] for one in entity_ids], dtype=np.int64)
        which, beside, weights = self.neighbours.of_all(owners)
        told = np.any(self.vectors[beside] != 0, axis=1)
        which, beside, weights = which[told], beside[told], weights[told]
        summed = np.zeros((len(owners), self.vectors.shape[1]))
        np.add.at(summed, which, weights[:, None] * self.vectors[beside])
        whole = np.bincount(which, weights, len(owners))
        mean = summed / np.where(whole > 0, whole, 1.0)[:, None]
        return unit_rows(self.vectors[owners] + mean)


def likeness(search: Search, pairs: Sequence[tuple[str, str]]) -> Scores | None:
    """Return the mean cosine of the question with the smoothed vectors of the two ends of each edge.

    Args:
        search: the question.
        pairs: ids of the ends.

    Returns:
        as many; None where there are no vectors of entities, or another embedder made them.
    """
    frame = vectors_of(search.index)
    smoothed = search.index.once(_smoothed)
    if frame is None or smoothed is None or not pairs:
        return None
    embedder = search.engines.embedder()
    if frame["embedder"].unique().to_list() != [embedder.name]:
        return None
    wanted = embedder.embed_queries([with_history(search)])[0]
    ends = sorted({end for pair in pairs for end in pair})
    near = dict(zip(ends, cosines(smoothed.of(ends), wanted).tolist(), strict=True))
    return np.array([(near[one] + near[other]) / 2 for one, other in pairs])


def vectors_of(index: IndexSnapshot) -> pl.DataFrame | None:
    """Return the vectors of entities, else those of the context nodes alone; None where there are neither."""
    known = (index.entity_vectors, index.context_vectors)
    return next((frame for frame in known if frame is not None and not frame.is_empty()), None)


def _smoothed(index: IndexSnapshot) -> Smoothed | None:
    ids = index.entities["entity_id"].to_list()
    vectors = rows_of(ids, vectors_of(index), "entity_id")
    if vectors is None:
        return None
    places = {entity_id: place for place, entity_id in enumerate(ids)}
    known = pl.DataFrame({"end": ids, "place": range(len(ids))}, schema={"end": pl.String, "place": pl.Int64})
    edges = (
        index.relationships.select("source_id", "target_id", "weight")
        .join(known.rename({"end": "source_id", "place": "one"}), on="source_id", maintain_order="left")
        .join(known.rename({"end": "target_id", "place": "other"}), on="target_id", maintain_order="left")
    )
    one, other, weight = (edges[name].to_numpy() for name in ("one", "other", "weight"))
    lists = WeightedLists.of_pairs(
        len(ids), np.concatenate([one, other]), np.concatenate([other, one]), np.tile(weight, 2)
    )
    return Smoothed(places, vectors, lists)
