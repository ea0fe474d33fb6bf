"""Subgraphs of the highest ranked nodes: by random walk, in communities, or by vectors (paper B.7)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError, QuestionError
from graphrag_dagster.kernel.common.stable_values import round_for_comparison
from graphrag_dagster.kernel.graph.adjacency_arrays import Followed, Longs, PathStore
from graphrag_dagster.kernel.graph.graph_labels import VerbalizedRows, first_by_score
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.search.reasoning_paths import ModuleUse, PathQuery, Subgraph
from graphrag_dagster.systems.lego.subgraphs.community_partition import CommunityTexts, GraphPartition
from graphrag_dagster.systems.lego.subgraphs.personalized_pagerank import PageRanks
from graphrag_dagster.systems.lego.subgraphs.text_vectors import Precision, TextVectors
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import Mass, WalkTransitions


@dataclass(frozen=True, slots=True)
class ExtractedSubgraph:
    """A part of the graph, and what it cost."""

    subgraph: Subgraph
    use: ModuleUse = field(default_factory=ModuleUse)


Seeds = tuple[int, ...]


class SubgraphExtractor(ABC):
    """Gives a question a part of the graph."""

    @abstractmethod
    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return the part that the question is about; the seeds are always in it.

        Without a seed it is empty, unless the extractor needs none.

        Raises:
            QuestionError: a seed is no node of the graph.
        """

    def prepare(self, queries: Iterable[PathQuery]) -> None:  # noqa: B027 - most share nothing.
        """Find out beforehand what extractors that look at the same graph share, such as PageRank.

        It changes no result; so its time can be told from theirs, and the first does not bear it alone.
        """


class SeededSubgraphs(SubgraphExtractor):
    """The nodes that are found from the seeds of a question, with all edges among them.

    Args:
        store: the graph.
        found: gives the nodes for seeds, of which there is one at least.
        prepare: finds out beforehand what is found from several, where that is cached.
    """

    def __init__(
        self,
        store: PathStore,
        found: Callable[[Seeds], Longs],
        prepare: Callable[[Iterable[Seeds]], None] | None = None,
    ) -> None:
        self._store, self._found, self._prepare = store, found, prepare

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return the subgraph of a question; see the port."""
        seeds = check_seeds(self._store, query)
        nodes = self._found(seeds) if seeds else np.zeros(0, dtype=np.int64)
        return ExtractedSubgraph(Subgraph.of_nodes(self._store, nodes, seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Find out beforehand what is found from the seeds of several questions."""
        if self._prepare is not None:
            self._prepare(check_seeds(self._store, query) for query in queries if query.seeds)


def largest_places(ranks: Mass, most: int, seeds: tuple[int, ...]) -> Longs:
    """Return the nodes of the largest ranks, in order of the nodes; equal ranks: the first nodes.

    Seeds come before all others; what has a rank of 0 does not come.
    """
    chosen = np.asarray(seeds, dtype=np.int64)
    reached = ranks > 0
    reached[chosen] = True
    nodes = np.flatnonzero(reached).astype(np.int64)
    rounded = round_for_comparison(ranks[nodes])
    rounded[np.searchsorted(nodes, chosen)] = np.inf
    most = max(most, len(seeds))
    if len(nodes) > most:
        border = np.partition(rounded, len(nodes) - most)[len(nodes) - most]
        above, equal = nodes[rounded > border], nodes[rounded == border]
        nodes = np.sort(np.concatenate([above, equal[: most - len(above)]]))
    return nodes


def check_seeds(store: PathStore, query: PathQuery) -> tuple[int, ...]:
    """Return the seeds of a question.

    Raises:
        QuestionError: one is no node of the graph.
    """
    for seed in query.seeds:
        if not 0 <= seed < store.nodes:
            raise QuestionError(
                f"{query.question!r}: seed {seed} is not in the graph, which has the nodes "
                f"0 to {store.nodes - 1}; link the question to this graph"
            )
    return query.seeds


Communities = tuple[int, ...]
#: Sets of communities whose part of the graph is cached.
_KEPT = 64


@dataclass(frozen=True, eq=False)
class _CommunityPart:
    """Some communities by themselves: their nodes and edges, and the ends of these by their place."""

    nodes: Longs
    edges: Longs
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    ranks: PageRanks


class PartitionedSubgraphs(SubgraphExtractor):
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
        partition: GraphPartition,
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
        self._part = lru_cache(_KEPT)(self._cut_community)

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return the subgraph of a question; where no seed is in its communities, all of their nodes are."""
        seeds = check_seeds(self._store, query)
        communities = self._chosen(query)
        if not communities:
            return ExtractedSubgraph(Subgraph.of_nodes(self._store, np.asarray(seeds, dtype=np.int64), seeds))
        part = self._part(communities)
        inside = np.flatnonzero(np.isin(part.nodes, np.asarray(seeds, dtype=np.int64)))
        begins = tuple(inside.tolist()) or tuple(range(len(part.nodes)))
        kept = np.zeros(len(part.nodes), dtype=np.bool_)
        kept[largest_places(part.ranks.ranks(begins), self._most, tuple(inside.tolist()))] = True
        edges = part.edges[kept[part.heads] & kept[part.tails]]
        nodes = np.union1d(part.nodes[kept], np.asarray(seeds, dtype=np.int64)).astype(np.int64)
        return ExtractedSubgraph(Subgraph(self._store, nodes, edges, seeds))

    def _cut_community(self, communities: Communities) -> _CommunityPart:
        store, community_of = self._store, self._partition.community_of
        nodes = self._partition.members(np.array(communities, dtype=np.int64))
        edges = store.between(nodes)
        edges = edges[community_of[store.heads[edges]] == community_of[store.tails[edges]]]
        heads, tails = (
            np.searchsorted(nodes, ends[edges]).astype(np.int32) for ends in (store.heads, store.tails)
        )
        adjacency = WalkTransitions.of_edges(heads, tails, len(nodes), self._followed)
        return _CommunityPart(nodes, edges, heads, tails, PageRanks(adjacency, self._damping))


def of_seeds(partition: GraphPartition) -> Callable[[PathQuery], Communities]:
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


class NodeVectorSubgraphs(SubgraphExtractor):
    """The edges of the nodes whose labels are nearest to the question, in both directions.

    Seeds are kept, and nothing is looked for from them; so the parts are not connected in general.

    Args:
        store: the graph.
        vectors: of its labels.
        embedder: makes the vector of the question.
        most: nodes whose edges are taken.
        hops: 1, or more: the edges of the nodes that are reached as well.
        cap: edges of a node; the best of more by the scorer, or the first.
        scorer: of triples; None: the first are taken, those out of the node before those into it.
    """

    def __init__(
        self,
        store: PathStore,
        vectors: TextVectors,
        embedder: CorpusEmbedder,
        most: int = 20,
        hops: int = 1,
        cap: int = 200,
        scorer: PathScorer | None = None,
    ) -> None:
        vectors.check_count(len(store.labels))
        self._store, self._vectors, self._embedder = store, vectors, embedder
        self._most, self._hops, self._cap, self._scorer = most, hops, cap, scorer

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return what is around the nearest nodes; a question needs no seed for it."""
        seeds = check_seeds(self._store, query)
        question = self._embedder.embed_queries([query.question])[0]
        border, seen = self._nearest(question), np.zeros(self._store.nodes, dtype=np.bool_)
        edges, use = [np.zeros(0, dtype=np.int64)], ModuleUse()
        seen[border] = True
        for _ in range(self._hops):
            for node in border.tolist():
                kept, asked = self._edges(query.question, node)
                edges.append(kept)
                use += asked
            found = np.concatenate(edges)
            ends = np.union1d(self._store.heads[found], self._store.tails[found]).astype(np.int64)
            border = ends[~seen[ends]]
            seen[border] = True
        return ExtractedSubgraph(Subgraph.of_edges(self._store, np.concatenate(edges), seeds), use)

    def _nearest(self, question: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Longs:
        """Return the nodes of the nearest labels; of namesakes the first nodes."""
        labels = self._vectors.nearest(question, self._most)
        rank = np.full(len(self._store.labels), len(labels))
        rank[labels] = np.arange(len(labels))
        own = rank[self._store.label_of]
        nodes = np.flatnonzero(own < len(labels))
        return nodes[np.argsort(own[nodes], kind="stable")[: self._most]]

    def _edges(self, question: str, node: int) -> tuple[Longs, ModuleUse]:
        edges = np.concatenate([self._store.out_edges(node), self._store.into_edges(node)])
        edges = edges[np.sort(np.unique(edges, return_index=True)[1])]
        if len(edges) <= self._cap or self._scorer is None:
            return edges[: self._cap], ModuleUse()
        triples = _triples(self._store, edges)
        best = first_by_score(self._scorer.scores(question, triples), triples, self._cap)
        return edges[best], ModuleUse(scored=len(edges), scored_tokens=self._scorer.tokens(triples))


class TripleVectorSubgraphs(SubgraphExtractor):
    """The triples whose texts are nearest to the question, and the seeds.

    Args:
        store: the graph.
        vectors: of its triples, in order of the edges.
        embedder: makes the vector of the question.
        most: triples that are taken.
    """

    def __init__(
        self, store: PathStore, vectors: TextVectors, embedder: CorpusEmbedder, most: int = 256
    ) -> None:
        vectors.check_count(store.edges)
        self._store, self._vectors, self._embedder, self._most = store, vectors, embedder, most

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return the nearest triples; a question needs no seed for it."""
        seeds = check_seeds(self._store, query)
        question = self._embedder.embed_queries([query.question])[0]
        return ExtractedSubgraph(
            Subgraph.of_edges(self._store, self._vectors.nearest(question, self._most), seeds)
        )


def label_vectors(
    store: PathStore, embedder: CorpusEmbedder, precision: Precision = "float32"
) -> TextVectors:
    """Return the vectors of the labels of a graph; errors as of :meth:`~.vectors.TextVectors.of`."""

    def texts(start: int, end: int) -> Sequence[str]:
        return store.labels[start:end]

    return TextVectors.of(len(store.labels), texts, embedder, precision)


def triple_vectors(
    store: PathStore, embedder: CorpusEmbedder, precision: Precision = "float32"
) -> TextVectors:
    """Return the vectors of the triples of a graph; errors as of :meth:`~.vectors.TextVectors.of`."""

    def texts(start: int, end: int) -> Sequence[str]:
        return _triples(store, np.arange(start, end)).texts

    return TextVectors.of(store.edges, texts, embedder, precision)


def _triples(store: PathStore, edges: Longs) -> VerbalizedRows:
    none = np.zeros(0, dtype=np.int64)
    return Subgraph(store, none, none, ()).triples(edges)
