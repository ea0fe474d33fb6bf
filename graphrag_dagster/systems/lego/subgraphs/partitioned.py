"""Personalised PageRank inside of few communities that are chosen by the question (spec_lego §8)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.arrays import Followed, Longs, PathStore
from graphrag_dagster.kernel.models.embedder import CorpusEmbedder
from graphrag_dagster.systems.lego.instances.found import PathQuery
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.subgraphs.adjacency import Adjacency
from graphrag_dagster.systems.lego.subgraphs.partition import CommunityTexts, Partition
from graphrag_dagster.systems.lego.subgraphs.port import Extracted
from graphrag_dagster.systems.lego.subgraphs.ppr import PageRanks
from graphrag_dagster.systems.lego.subgraphs.ranked import checked, largest

Communities = tuple[int, ...]
#: Sets of communities whose part of the graph is remembered.
_KEPT = 64


@dataclass(frozen=True, eq=False)
class _Part:
    """Some communities by themselves: their nodes and edges, and the ends of these by their place."""

    nodes: Longs
    edges: Longs
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    ranks: PageRanks


class PartitionedSubgraphs:
    """The most probable nodes inside of the communities of a question, with the edges inside of each.

    Edges between communities are not followed and not part of the result: that is what the partition costs.

    Args:
        store: the graph.
        partition: of it.
        chosen: the communities of a question; see :func:`of_seeds` and :func:`of_reports`.
        followed: in which directions.
        damping: probability of following an edge.
        most: nodes of a subgraph; only seeds can be more.
    """

    def __init__(
        self,
        store: PathStore,
        partition: Partition,
        chosen: Callable[[PathQuery], Communities],
        followed: Followed,
        damping: float,
        most: int,
    ) -> None:
        if len(partition.community_of) != store.nodes:
            raise GraphragError(
                f"a partition of {len(partition.community_of)} nodes for a graph of {store.nodes}"
            )
        self._store, self._partition, self._chosen = store, partition, chosen
        self._followed, self._damping, self._most = followed, damping, most
        self._part = lru_cache(_KEPT)(self._cut)

    def extract(self, query: PathQuery) -> Extracted:
        """Return the subgraph of a question; where no seed is in its communities, all of their nodes are."""
        seeds = checked(self._store, query)
        communities = self._chosen(query)
        if not communities:
            return Extracted(Subgraph.of_nodes(self._store, np.asarray(seeds, dtype=np.int64), seeds))
        part = self._part(communities)
        inside = np.flatnonzero(np.isin(part.nodes, np.asarray(seeds, dtype=np.int64)))
        begins = tuple(inside.tolist()) or tuple(range(len(part.nodes)))
        kept = np.zeros(len(part.nodes), dtype=np.bool_)
        kept[largest(part.ranks.ranks(begins), self._most, tuple(inside.tolist()))] = True
        edges = part.edges[kept[part.heads] & kept[part.tails]]
        nodes = np.union1d(part.nodes[kept], np.asarray(seeds, dtype=np.int64)).astype(np.int64)
        return Extracted(Subgraph(self._store, nodes, edges, seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Nothing is shared with others."""

    def _cut(self, communities: Communities) -> _Part:
        store, community_of = self._store, self._partition.community_of
        nodes = self._partition.members(np.array(communities, dtype=np.int64))
        edges = store.between(nodes)
        edges = edges[community_of[store.heads[edges]] == community_of[store.tails[edges]]]
        heads, tails = (
            np.searchsorted(nodes, ends[edges]).astype(np.int32) for ends in (store.heads, store.tails)
        )
        adjacency = Adjacency.of_edges(heads, tails, len(nodes), self._followed)
        return _Part(nodes, edges, heads, tails, PageRanks(adjacency, self._damping))


def of_seeds(partition: Partition) -> Callable[[PathQuery], Communities]:
    """Return what chooses the communities of the seeds."""

    def chosen(query: PathQuery) -> Communities:
        return tuple(sorted({int(partition.community_of[seed]) for seed in query.seeds}))

    return chosen


def of_reports(texts: CommunityTexts, embedder: CorpusEmbedder) -> Callable[[PathQuery], Communities]:
    """Return what chooses the community whose text is nearest to the question, whatever its seeds."""

    def chosen(query: PathQuery) -> Communities:
        nearest = texts.nearest(embedder.embed_queries([query.question])[0])
        return () if nearest is None else (nearest,)

    return chosen
