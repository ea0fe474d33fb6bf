"""Subgraphs around what is nearest to the question by vectors (spec_lego §8)."""

from collections.abc import Iterable, Sequence

import numpy as np

from graphrag_dagster.kernel.graph.arrays import Longs, PathStore
from graphrag_dagster.kernel.graph.verbalised import Verbalised, first_by_score
from graphrag_dagster.kernel.models.embedder import CorpusEmbedder
from graphrag_dagster.systems.lego.instances.found import ModuleUse, PathQuery
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.scoring.port import PathScorer
from graphrag_dagster.systems.lego.subgraphs.port import Extracted
from graphrag_dagster.systems.lego.subgraphs.ranked import checked
from graphrag_dagster.systems.lego.subgraphs.vectors import Precision, TextVectors


class NodeVectorSubgraphs:
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

    def extract(self, query: PathQuery) -> Extracted:
        """Return what is around the nearest nodes; a question needs no seed for it."""
        seeds = checked(self._store, query)
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
        return Extracted(Subgraph.of_edges(self._store, np.concatenate(edges), seeds), use)

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Nothing is shared with others."""

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


class TripleVectorSubgraphs:
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

    def extract(self, query: PathQuery) -> Extracted:
        """Return the nearest triples; a question needs no seed for it."""
        seeds = checked(self._store, query)
        question = self._embedder.embed_queries([query.question])[0]
        return Extracted(Subgraph.of_edges(self._store, self._vectors.nearest(question, self._most), seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Nothing is shared with others."""


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


def _triples(store: PathStore, edges: Longs) -> Verbalised:
    none = np.zeros(0, dtype=np.int64)
    return Subgraph(store, none, none, ()).triples(edges)
