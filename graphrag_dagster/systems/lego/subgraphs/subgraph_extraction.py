"""Subgraph extraction as the options say: by hops, walks, PageRank, communities or vectors (spec_lego §3)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.search.instance_definitions import REFUSED, BaseExtraction, PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.subgraphs.approximate_pagerank import (
    fora_ranks,
    push_ranks,
    rbs_ranks,
    stepped,
)
from graphrag_dagster.systems.lego.subgraphs.community_partition import CommunityTexts, GraphPartition
from graphrag_dagster.systems.lego.subgraphs.personalized_pagerank import page_ranks_of
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import (
    ExtractedSubgraph,
    NodeVectorSubgraphs,
    PartitionedSubgraphs,
    RankedSubgraphs,
    SubgraphExtractor,
    TripleVectorSubgraphs,
    checked,
    label_vectors,
    of_reports,
    of_seeds,
    triple_vectors,
)
from graphrag_dagster.systems.lego.subgraphs.subgraph_pruning import PrunedSubgraphs, pruned_level, window
from graphrag_dagster.systems.lego.subgraphs.text_vectors import TextVectors
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import WalkTransitions, adjacency_of
from graphrag_dagster.systems.lego.tasks import PathSelector


@dataclass(frozen=True)
class _Given:
    """What :func:`extractor_of` is given beside options."""

    store: PathStore
    scorer: PathScorer | None
    embedder: CorpusEmbedder | None
    partition: GraphPartition | None
    reports: CommunityTexts | None
    vectors: TextVectors | None


def extractor_of(
    options: PathOptions,
    store: PathStore,
    *,
    scorer: PathScorer | None = None,
    selector: PathSelector | None = None,
    embedder: CorpusEmbedder | None = None,
    partition: GraphPartition | None = None,
    reports: CommunityTexts | None = None,
    vectors: TextVectors | None = None,
) -> SubgraphExtractor:
    """Return the extraction that options stand for.

    Args:
        options: which.
        store: the graph.
        scorer: of a pruning, and of the triples of a node with many edges.
        selector: of a pruning by one.
        embedder: of the question, where extractions look through vectors or reports.
        partition: of the graph, made beforehand.
        reports: of its communities, where the nearest is chosen.
        vectors: of the labels or of the triples, made beforehand; None: they are made now.

    Raises:
        GraphragError: there is no such extraction, an option has no such value, or what is needed is not
            given.
    """
    given = _Given(store, scorer, embedder, partition, reports, vectors)
    check_extraction(options.extraction)
    base = _MAKERS[options.extraction](options, given)
    if options.pruning == "none":
        return base
    if scorer is None:
        raise GraphragError(f"pruning {options.pruning!r} needs a scorer")
    if options.pruning == "llm" and selector is None:
        raise GraphragError("pruning 'llm' needs a selector")
    level = pruned_level(options, store)
    chosen = selector if options.pruning == "llm" else None
    return PrunedSubgraphs(base, scorer, level, window(options, level), chosen)


def check_extraction(name: str) -> None:
    """Refuse extractions that there are not.

    Raises:
        GraphragError: why, or which there are.
    """
    if name in REFUSED:
        raise GraphragError(f"extraction {name!r} is not offered: {REFUSED[name]}")
    if name not in _MAKERS:
        raise GraphragError(f"there is no extraction {name!r}; there are {', '.join(_MAKERS)}")


def _adjacency(options: PathOptions, given: _Given) -> WalkTransitions:
    return adjacency_of(given.store, given.store.followed(options.direction))


def _ppr(options: PathOptions, given: _Given) -> SubgraphExtractor:
    store = given.store
    known = page_ranks_of(store, store.followed(options.direction), options.damping)
    return RankedSubgraphs(store, known.ranks, options.max_ent, known.prepare)


def _push(options: PathOptions, given: _Given) -> SubgraphExtractor:
    ranks = partial(push_ranks, _adjacency(options, given), damping=options.damping, rmax=options.rmax)
    return RankedSubgraphs(given.store, ranks, options.max_ent)


def _fora(options: PathOptions, given: _Given) -> SubgraphExtractor:
    ranks = partial(
        fora_ranks,
        _adjacency(options, given),
        damping=options.damping,
        epsilon=options.epsilon,
        seed=options.seed,
    )
    return RankedSubgraphs(given.store, ranks, options.max_ent)


def _rbs(options: PathOptions, given: _Given) -> SubgraphExtractor:
    ranks = partial(
        rbs_ranks,
        _adjacency(options, given),
        damping=options.damping,
        theta=options.rmax,
        seed=options.seed,
    )
    return RankedSubgraphs(given.store, ranks, options.max_ent)


def _khop(options: PathOptions, given: _Given) -> SubgraphExtractor:
    return Neighbourhoods(given.store, _adjacency(options, given), options.hops)


def _walks(options: PathOptions, given: _Given) -> SubgraphExtractor:
    adjacency = _adjacency(options, given)
    return WalkedSubgraphs(given.store, adjacency, options.walks, options.walk_steps, options.seed)


def _partition(options: PathOptions, given: _Given) -> SubgraphExtractor:
    store, partition = given.store, given.partition
    if partition is None:
        raise GraphragError("extraction 'partition' needs the communities of the graph, made beforehand")
    if options.partitions == "seed":
        chosen = of_seeds(partition)
    elif given.reports is None:
        raise GraphragError("partitions 'report' needs reports of the communities")
    else:
        chosen = of_reports(given.reports, _embedder(options, given))
    followed = store.followed(options.direction)
    return PartitionedSubgraphs(store, partition, chosen, followed, options.damping, options.max_ent)


def _node_vectors(options: PathOptions, given: _Given) -> SubgraphExtractor:
    embedder = _embedder(options, given)
    return NodeVectorSubgraphs(
        given.store,
        given.vectors or label_vectors(given.store, embedder),
        embedder,
        options.nearest,
        options.vector_hops,
        options.edges_of_node,
        given.scorer,
    )


def _triple_vectors(options: PathOptions, given: _Given) -> SubgraphExtractor:
    embedder = _embedder(options, given)
    vectors = given.vectors or triple_vectors(given.store, embedder)
    return TripleVectorSubgraphs(given.store, vectors, embedder, options.max_triples)


def _embedder(options: PathOptions, given: _Given) -> CorpusEmbedder:
    if given.embedder is None:
        raise GraphragError(f"extraction {options.extraction!r} needs an embedder")
    return given.embedder


_MAKERS: Mapping[BaseExtraction, Callable[[PathOptions, _Given], SubgraphExtractor]] = {
    "ppr": _ppr,
    "push": _push,
    "fora": _fora,
    "rbs": _rbs,
    "khop": _khop,
    "walks": _walks,
    "partition": _partition,
    "node_vectors": _node_vectors,
    "triple_vectors": _triple_vectors,
}


class Neighbourhoods:
    """The nodes in so many hops of a seed, with all edges among them (KSE).

    Args:
        store: the graph.
        adjacency: where steps can go.
        hops: 0 or more.
    """

    def __init__(self, store: PathStore, adjacency: WalkTransitions, hops: int) -> None:
        self._store, self._adjacency, self._hops = store, adjacency, hops

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return the neighbourhood of the seeds; see the port."""
        seeds = checked(self._store, query)
        near = within_hops(self._adjacency, np.asarray(seeds, dtype=np.int64), self._hops)
        return ExtractedSubgraph(Subgraph.of_nodes(self._store, near, seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Nothing is shared with others."""


def within_hops(adjacency: WalkTransitions, nodes: Longs, hops: int) -> Longs:
    """Return the nodes that can be reached in so many steps, in order."""
    seen = np.zeros(adjacency.nodes, dtype=np.bool_)
    seen[nodes] = True
    border = nodes
    for _ in range(hops):
        _, ends = adjacency.neighbours(border)
        border = np.unique(ends[~seen[ends]]).astype(np.int64)
        if not len(border):
            break
        seen[border] = True
    return np.flatnonzero(seen)


class WalkedSubgraphs:
    """The nodes that walks from the seeds come by, with all edges among them.

    A walk ends at a dead end. Those from a node are the same in every question.

    Args:
        store: the graph.
        adjacency: where steps can go.
        walks: from each seed.
        steps: of a walk.
        seed: of chance.
    """

    def __init__(
        self, store: PathStore, adjacency: WalkTransitions, walks: int, steps: int, seed: int
    ) -> None:
        self._store, self._adjacency = store, adjacency
        self._walks, self._steps, self._seed = walks, steps, seed

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return what walks from the seeds come by; see the port."""
        seeds = checked(self._store, query)
        parts = [self._walked(seed) for seed in seeds]
        nodes = np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
        return ExtractedSubgraph(Subgraph.of_nodes(self._store, nodes, seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Nothing is shared with others."""

    def _walked(self, start: int) -> Longs:
        drawn = np.random.default_rng([self._seed, start])
        at = [np.full(self._walks, start, dtype=np.int64)]
        for _ in range(self._steps):
            at.append(stepped(self._adjacency, at[-1], drawn))
        found: Longs = np.unique(np.concatenate(at))
        return found
