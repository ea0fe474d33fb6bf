"""Subgraph extraction as the options say: by hops, walks, PageRank, communities or vectors."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.search.instance_definitions import REFUSED, BaseExtraction, PathOptions
from graphrag_dagster.systems.lego.subgraphs.approximate_pagerank import (
    fora_ranks,
    push_ranks,
    rbs_ranks,
    step_walks,
)
from graphrag_dagster.systems.lego.subgraphs.community_partition import CommunityTexts, GraphPartition
from graphrag_dagster.systems.lego.subgraphs.personalized_pagerank import page_ranks_of
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import (
    NodeVectorSubgraphs,
    PartitionedSubgraphs,
    SeededSubgraphs,
    Seeds,
    SubgraphExtractor,
    TripleVectorSubgraphs,
    label_vectors,
    largest_places,
    of_reports,
    of_seeds,
    triple_vectors,
)
from graphrag_dagster.systems.lego.subgraphs.subgraph_pruning import PrunedSubgraphs, pruned_level, window
from graphrag_dagster.systems.lego.subgraphs.text_vectors import TextVectors
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import Mass, WalkTransitions, adjacency_of
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
    return adjacency_of(given.store, given.store.resolve_direction(options.direction))


def _ranked(
    options: PathOptions,
    given: _Given,
    ranks: Callable[[Seeds], Mass],
    prepare: Callable[[Iterable[Seeds]], None] | None = None,
) -> SubgraphExtractor:
    """The most probable nodes of each question with the edges among them (SBE)."""
    return SeededSubgraphs(
        given.store, lambda seeds: largest_places(ranks(seeds), options.max_ent, seeds), prepare
    )


def _ppr(options: PathOptions, given: _Given) -> SubgraphExtractor:
    known = page_ranks_of(given.store, given.store.resolve_direction(options.direction), options.damping)
    return _ranked(options, given, known.ranks, known.prepare)


def _push(options: PathOptions, given: _Given) -> SubgraphExtractor:
    own: dict[str, Any] = {"damping": options.damping, "rmax": options.rmax}
    return _ranked(options, given, partial(push_ranks, _adjacency(options, given), **own))


def _fora(options: PathOptions, given: _Given) -> SubgraphExtractor:
    own: dict[str, Any] = {"damping": options.damping, "epsilon": options.epsilon, "seed": options.seed}
    return _ranked(options, given, partial(fora_ranks, _adjacency(options, given), **own))


def _rbs(options: PathOptions, given: _Given) -> SubgraphExtractor:
    own: dict[str, Any] = {"damping": options.damping, "theta": options.rmax, "seed": options.seed}
    return _ranked(options, given, partial(rbs_ranks, _adjacency(options, given), **own))


def _khop(options: PathOptions, given: _Given) -> SubgraphExtractor:
    """The nodes in so many hops of a seed, with all edges among them (KSE)."""
    adjacency = _adjacency(options, given)
    return SeededSubgraphs(given.store, lambda seeds: within_hops(adjacency, seeds, options.hops))


def _walks(options: PathOptions, given: _Given) -> SubgraphExtractor:
    """The nodes that walks from the seeds come by; those from a node are the same in every question."""
    adjacency = _adjacency(options, given)
    return SeededSubgraphs(
        given.store,
        lambda seeds: np.unique(np.concatenate([walked_from(adjacency, seed, options) for seed in seeds])),
    )


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
    followed = store.resolve_direction(options.direction)
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


def within_hops(adjacency: WalkTransitions, seeds: Seeds, hops: int) -> Longs:
    """Return the nodes that can be reached in so many steps, in order."""
    seen = np.zeros(adjacency.nodes, dtype=np.bool_)
    border = np.asarray(seeds, dtype=np.int64)
    seen[border] = True
    for _ in range(hops):
        _, ends = adjacency.neighbours(border)
        border = np.unique(ends[~seen[ends]]).astype(np.int64)
        if not len(border):
            break
        seen[border] = True
    return np.flatnonzero(seen)


def walked_from(adjacency: WalkTransitions, start: int, options: PathOptions) -> Longs:
    """Return the nodes that ``walks`` of ``walk_steps`` come by; a walk ends at a dead end."""
    drawn = np.random.default_rng([options.seed, start])
    at = [np.full(options.walks, start, dtype=np.int64)]
    for _ in range(options.walk_steps):
        at.append(step_walks(adjacency, at[-1], drawn))
    found: Longs = np.unique(np.concatenate(at))
    return found
