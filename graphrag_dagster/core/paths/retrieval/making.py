"""Path modules by their options."""

from collections.abc import Callable
from typing import TypeVar

from graphrag_dagster.core.language.path_selection import PathSelector
from graphrag_dagster.core.paths.hops import HopPredictor, WordyHops
from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.retrieval.choosing import ByScore, BySelection, Choice
from graphrag_dagster.core.paths.retrieval.iterative import GrowingPaths
from graphrag_dagster.core.paths.retrieval.oneshot import RankedPaths, SelectedPaths, WindowedPaths
from graphrag_dagster.core.paths.retrieval.port import PathRetriever
from graphrag_dagster.core.paths.retrieval.shortest import ShortestPaths
from graphrag_dagster.core.paths.retrieval.simple import SimplePaths
from graphrag_dagster.core.paths.retrieval.switches import refuse_senseless
from graphrag_dagster.core.paths.scoring.making import hidden_states
from graphrag_dagster.core.paths.scoring.port import PathScorer
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.errors import EngineError

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
    refuse_senseless(options)
    if options.retrieval == "spr":
        return ShortestPaths(options, store)
    if options.retrieval == "epr":
        return SimplePaths(options, store)
    if options.switches.llm_embeddings:
        return RankedPaths(options, store, hidden_states(_there(options.llm_embeddings_model, _NO_MODEL)))
    if options.switches.window:
        return WindowedPaths(options, store, _there(selector, _NO_SELECTOR))
    scoring = _there(scorer, "paths are scored, and there is no scorer; set paths.scorer")
    if options.retrieval == "osar" and options.judged == "eem":
        return RankedPaths(options, store, scoring)
    if options.retrieval == "osar":
        return SelectedPaths(options, store, scoring, _there(selector, _NO_SELECTOR))
    if options.judged == "llm" or options.switches.refine or options.switches.early_stop:
        selector = _there(selector, _NO_SELECTOR)
    return GrowingPaths(options, store, _choice(options, hops or WordyHops()), scoring, selector)


def _choice(options: PathOptions, hops: HopPredictor) -> Callable[[str], Choice]:
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


def _there(given: T | None, otherwise: str) -> T:
    if given is None:
        raise EngineError(otherwise)
    return given
