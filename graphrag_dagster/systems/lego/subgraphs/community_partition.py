"""A partition of the graph into communities, and the reports of those near to a question (paper B.7)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.common.array_files import load_array
from graphrag_dagster.kernel.common.packed_arrays import expand_ranges
from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.graph.adjacency_arrays import Ints, Longs, PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.text.tokenization import Tokenizer

_FILE = "communities.npy"


@dataclass(frozen=True, eq=False)
class GraphPartition:
    """Which community each node is in.

    Attributes:
        community_of: its number [n]; numbers go by the first node of each.
    """

    community_of: Ints

    @classmethod
    def of(cls, names: NDArray[np.int64] | Sequence[str]) -> "GraphPartition":
        """Return the partition in which nodes of equal names [n] are together."""
        _, first, numbers = np.unique(np.asarray(names), return_index=True, return_inverse=True)
        return cls(np.argsort(np.argsort(first))[numbers.reshape(-1)].astype(np.int32))

    @property
    def communities(self) -> int:
        """Number of communities."""
        return len(self._starts) - 1

    def members(self, communities: Longs) -> Longs:
        """Return the nodes of communities, in order."""
        return np.sort(self._by_community[expand_ranges(self._starts, communities)])

    def write(self, folder: Path) -> None:
        """Write it beside the arrays of its graph; see :meth:`open`."""
        np.save(folder / _FILE, np.ascontiguousarray(self.community_of), allow_pickle=False)

    @classmethod
    def open(cls, folder: Path, store: PathStore) -> "GraphPartition":
        """Return what was written for a graph, mapped.

        Raises:
            WarehouseError: the file is missing, damaged, or of another graph.
        """
        try:
            found = load_array(folder / _FILE, "r")
        except (OSError, ValueError) as error:
            raise WarehouseError(
                f"{folder}: the communities cannot be read ({error}); make them again"
            ) from error
        if found.shape != (store.nodes,):
            raise WarehouseError(
                f"{folder}: communities of {found.size} nodes for a graph of {store.nodes}; make them again"
            )
        return cls(found)

    @cached_property
    def _by_community(self) -> Longs:
        return np.argsort(self.community_of, kind="stable").astype(np.int64)

    @cached_property
    def _starts(self) -> Longs:
        starts = np.zeros(int(self.community_of.max(initial=-1)) + 2, dtype=np.int64)
        np.cumsum(np.bincount(self.community_of), out=starts[1:])
        return starts


def partition_of(store: PathStore) -> GraphPartition:
    """Return the communities that Leiden finds by modularity, flat, in edges without direction.

    Parallel edges, and those there and back, count as often as they are there. A node without an edge to
    another is a community of its own. The same graph gives the same.
    """
    found = np.full(store.nodes, -1, dtype=np.int64)
    clustered = _leiden(store)
    found[list(clustered)] = list(clustered.values())
    alone = found < 0
    found[alone] = found.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return GraphPartition.of(found)


def _leiden(store: PathStore) -> dict[int, int]:
    """Return the community of each node with an edge to another."""
    import graspologic_native

    low, high = np.minimum(store.heads, store.tails), np.maximum(store.heads, store.tails)
    pairs, weights = np.unique((low.astype(np.int64) * store.nodes + high)[low != high], return_counts=True)
    if not len(pairs):
        return {}
    low, high = (ends.tolist() for ends in np.divmod(pairs, store.nodes))
    labels = [str(place) for place in range(store.nodes)]
    edges = [(labels[u], labels[v], float(w)) for u, v, w in zip(low, high, weights.tolist(), strict=True)]
    _, found = graspologic_native.leiden(edges, resolution=1.0, seed=0)
    return {int(node): community for node, community in found.items()}


@dataclass(frozen=True, eq=False)
class CommunityTexts:
    """What communities are about.

    Attributes:
        communities: of a :class:`GraphPartition`, in order [c].
        vectors: of their texts, unit rows [c, d].
    """

    communities: Longs
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, texts: Mapping[int, str], embedder: CorpusEmbedder) -> "CommunityTexts":
        """Return texts of communities with their vectors."""
        communities = sorted(texts)
        return cls(np.array(communities, dtype=np.int64), embedder.embed([texts[one] for one in communities]))

    def nearest(self, vector: NDArray[np.float32]) -> int | None:
        """Return the community whose text is nearest to a vector; None where there is no text."""
        if not len(self.communities):
            return None
        return int(self.communities[int(np.argmax(cosines(self.vectors, vector)))])


#: Tokens of a report, and of all together.
LONGEST, TOGETHER = 2000, 6000


class SeedReports:
    """Finds the report of the deepest community of each seed that has one.

    Args:
        store: the graph.
        members: ``entity_id``, ``community_id`` and ``level``, as ``graph.community_members``.
        reports: ``report_id``, which is a community's, and ``content``, as ``reports.community_reports``.
        tokenizer: counts.
    """

    def __init__(
        self, store: PathStore, members: pl.DataFrame, reports: pl.DataFrame, tokenizer: Tokenizer
    ) -> None:
        self._store, self._tokenizer = store, tokenizer
        self._contents: dict[str, str] = dict(reports.select("report_id", "content").iter_rows())
        self._report_of = _deepest(members, self._contents)

    def of(self, seeds: Sequence[int]) -> tuple[str, ...]:
        """Return the different reports of seeds in their order, cut to :data:`LONGEST` tokens each.

        The one with which there are more than :data:`TOGETHER` is cut to what is left, and ends them.
        """
        ids = (self._report_of.get(self._store.entity_ids[seed]) for seed in seeds)
        left, found = TOGETHER, []
        for report in dict.fromkeys(one for one in ids if one is not None):
            text = self._tokenizer.truncate(self._contents[report], min(LONGEST, left))
            if not text.strip():
                break
            found.append(text)
            left -= self._tokenizer.count(text)
            if left <= 0:
                break
        return tuple(found)


@dataclass(frozen=True)
class ReportedCommunities:
    """The deepest communities with a report as a partition of the graph.

    Attributes:
        partition: the communities; a node that no report is about is one of its own.
        texts: vectors of their reports.
    """

    partition: GraphPartition
    texts: CommunityTexts

    @classmethod
    def of(cls, store: PathStore, members: pl.DataFrame, vectors: pl.DataFrame) -> "ReportedCommunities":
        """Return them.

        Args:
            store: the graph.
            members: as of :class:`SeedReports`.
            vectors: ``report_id`` and ``vector``, as ``embeddings.community_reports``.
        """
        known = dict(vectors.select("report_id", "vector").iter_rows())
        report_of = _deepest(members, known)
        partition = GraphPartition.of([report_of.get(one) or f"alone {one}" for one in store.entity_ids])
        numbers = {
            report: int(community)
            for one, community in zip(store.entity_ids, partition.community_of, strict=True)
            if (report := report_of.get(one)) is not None
        }
        communities = np.array(list(numbers.values()), dtype=np.int64)
        rows = np.array([known[report] for report in numbers], dtype=np.float32)
        return cls(partition, CommunityTexts(communities, rows))


def _deepest(members: pl.DataFrame, reported: Collection[str]) -> dict[str, str]:
    """Return the deepest community of each entity that has a report."""
    deepest = (
        members.filter(pl.col("community_id").is_in(list(reported)))
        .sort("entity_id", "level", "community_id", descending=[False, True, False])
        .unique("entity_id", keep="first", maintain_order=True)
    )
    return dict(deepest.select("entity_id", "community_id").iter_rows())
