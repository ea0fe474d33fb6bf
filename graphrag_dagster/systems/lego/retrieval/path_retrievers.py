"""Path retrievers by their options, and which options exclude each other (paper, Table 1 and B.8)."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.systems.lego.retrieval.iterative_retrieval import (
    BeamChoice,
    ByScore,
    BySelection,
    GrowingPaths,
)
from graphrag_dagster.systems.lego.retrieval.oneshot_retrieval import (
    RankedPaths,
    SelectedPaths,
    WindowedPaths,
)
from graphrag_dagster.systems.lego.retrieval.path_enumeration import (
    Ground,
    Ordering,
    PathRetriever,
    RetrievedPaths,
    ShortestPaths,
    Walks,
)
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.retrieval.scorer_registry import hidden_states
from graphrag_dagster.systems.lego.search.hop_prediction import HopPredictor, LexicalHops
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Paths, Subgraph
from graphrag_dagster.systems.lego.tasks import PathSelector

T = TypeVar("T")


def retriever_of(
    options: PathOptions,
    store: PathStore,
    *,
    scorer: PathScorer | None = None,
    selector: PathSelector | None = None,
    hops: HopPredictor | None = None,
) -> PathRetriever:
    """Return what finds paths.

    Args:
        options: which module, with what.
        store: the graph.
        scorer: scores paths.
        selector: selects paths.
        hops: for ``switches.combine``; default: by the words of the question.

    Raises:
        EngineError: switches that mean nothing for the module, or one that it needs is not there.
    """
    check_combination(options)
    if options.retrieval == "spr":
        return ShortestPaths(options, store)
    if options.retrieval == "epr":
        return SimplePaths(options, store)
    if options.switches.llm_embeddings:
        return RankedPaths(options, store, hidden_states(_require(options.llm_embeddings_model, _NO_MODEL)))
    if options.switches.window:
        return WindowedPaths(options, store, _require(selector, _NO_SELECTOR))
    scoring = _require(scorer, "paths are scored, and there is no scorer; set paths.scorer")
    if options.retrieval == "osar" and options.judged == "eem":
        return RankedPaths(options, store, scoring)
    if options.retrieval == "osar":
        return SelectedPaths(options, store, scoring, _require(selector, _NO_SELECTOR))
    if options.judged == "llm" or options.switches.refine or options.switches.early_stop:
        selector = _require(selector, _NO_SELECTOR)
    return GrowingPaths(options, store, _choice(options, hops or LexicalHops()), scoring, selector)


def _choice(options: PathOptions, hops: HopPredictor) -> Callable[[str], BeamChoice]:
    """Who chooses the beam for a question."""
    switches = options.switches
    if options.judged == "llm":
        selecting = BySelection(options.beam, switches.prefilter, switches.supplement)
        return lambda _question: selecting
    if switches.combine:
        pruning = ByScore(options.beam, dynamic=True, percentile=switches.percentile)
        by_triples = ByScore(options.beam, triple_level=True)
        return lambda question: pruning if hops.hops(question) == 1 else by_triples
    scoring = ByScore(options.beam, switches.triple_level, switches.dynamic_prune, switches.percentile)
    return lambda _question: scoring


_NO_SELECTOR = "paths are selected, and there is nobody who does; set judged: eem"
_NO_MODEL = (
    "LLMs-E compares hidden states of a language model on this machine, and none is named; set "
    "paths.llm_embeddings_model to a folder with one, or leave switches.llm_embeddings out"
)


def _require(given: T | None, otherwise: str) -> T:
    if given is None:
        raise EngineError(otherwise)
    return given


#: Where each switch has a meaning: how paths are found, and who judges them.
_FOR: dict[str, tuple[tuple[str, ...], str]] = {
    "triple_level": (("isar",), "eem"),
    "dynamic_prune": (("isar",), "eem"),
    "combine": (("isar",), "eem"),
    "refine": (("isar",), "eem"),
    "early_stop": (("isar",), "eem"),
    "prefilter": (("isar",), "llm"),
    "supplement": (("isar", "osar"), "llm"),
    "rerank": (("osar",), "llm"),
    "window": (("osar",), "llm"),
    "llm_embeddings": (("osar",), "llm"),
}
#: Those that leave no place for another.
_EXCLUDES = {
    "combine": (("triple_level", "dynamic_prune"), "it chooses between these by the question"),
    "window": (("supplement", "rerank"), "it needs no scorer"),
    "llm_embeddings": (("supplement", "rerank", "window"), "it ranks, and nothing is selected"),
}
_MODULE = {"isar": "ISAR", "osar": "OSAR", "spr": "SBR-SPR", "epr": "SBR-EPR"}
_JUDGED = {"eem": "-EEMs", "llm": "-LLMs", "none": ""}


def check_combination(options: PathOptions) -> None:
    """Refuse switches that mean nothing for how paths are found.

    Raises:
        EngineError: one does; names it and what it is for.
    """
    switches, module = options.switches, _MODULE[options.retrieval]
    if options.retrieval in {"osar", "isar"} and options.judged == "none":
        raise EngineError(f"{module} needs someone who judges paths; set judged: eem or llm")
    own = module + (_JUDGED[options.judged] if options.retrieval in {"osar", "isar"} else "")
    on = [name for name in _FOR if getattr(switches, name)]
    for name in on:
        retrievals, judged = _FOR[name]
        if options.retrieval not in retrievals or options.judged != judged:
            wanted = " or ".join(_MODULE[one] + _JUDGED[judged] for one in retrievals)
            raise EngineError(f"switches.{name} is for {wanted}, not for {own}; leave it out there")
        others, why = _EXCLUDES.get(name, ((), ""))
        if clash := next((one for one in others if one in on), None):
            raise EngineError(f"switches.{name} and switches.{clash} do not go together: {why}")
    if switches.percentile is not None and not (switches.dynamic_prune or switches.combine):
        raise EngineError("switches.percentile needs switches.dynamic_prune or switches.combine")


#: Steps that are looked at together.
_AT_ONCE = 1_000_000


class SimplePaths:
    """All simple paths of up to ``max_hop`` steps, unscored; of more than ``most_paths`` the first.

    What is first: short ones, then those of the first seeds. Parallel edges make paths of their own.

    Args:
        options: ``direction``, ``max_hop``, ``most_paths`` and ``ties``.
        store: the graph.
    """

    def __init__(self, options: PathOptions, store: PathStore) -> None:
        self._followed = store.resolve_direction(options.direction)
        self._hops = options.max_hop
        self._most = options.most_paths
        self._ordering = Ordering(options.ties, store)

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> RetrievedPaths:
        """Return the paths, short ones first; see the port. ``cut``: there are more."""
        ground = Ground(subgraph, subgraph.steps(self._followed))
        walks = ground.walks_from(query.seeds)
        parts, room = [Paths.none(subgraph.store)], self._most
        for _ in range(self._hops):
            # One more than there is room for tells whether there are more.
            walks = _extend_walks(walks, ground, room + 1)
            parts.append(ground.paths(walks.at(np.arange(min(room, len(walks))))))
            room -= len(walks)
            if room < 0 or not len(walks):
                break
        paths = Paths.concatenate(parts)
        return RetrievedPaths(paths.at(self._ordering.order(paths, query.seeds)), cut=room < 0)


def _extend_walks(walks: Walks, ground: Ground, most: int) -> Walks:
    """The first walks that are a step longer and come to no node twice."""
    steps = ground.steps
    sizes = np.cumsum(steps.starts[walks.ends + 1] - steps.starts[walks.ends])
    parts, count, start = [walks.extend(*_NOTHING, steps)], 0, 0
    while start < len(walks) and count < most:
        done = sizes[start - 1] if start else 0
        end = max(int(np.searchsorted(sizes, done + _AT_ONCE, side="right")), start + 1)
        some = walks.at(np.arange(start, end))
        of, taken = some.next_steps(steps)
        new = np.flatnonzero(~some.revisits(of, taken, steps))[: most - count]
        parts.append(some.extend(of[new], taken[new], steps))
        count, start = count + len(new), end
    return Walks(np.concatenate([one.nodes for one in parts]), np.concatenate([one.taken for one in parts]))


_NOTHING = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
