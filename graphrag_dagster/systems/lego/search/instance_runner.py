"""Runs an instance: a subgraph of the wanted size or recall, paths in it, an answer (paper, Table 1, B.5)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import MappingProxyType

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.systems.lego.retrieval.path_enumeration import PathRetriever, RetrievedPaths
from graphrag_dagster.systems.lego.retrieval.path_retrievers import retriever_of
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.retrieval.scorer_registry import recipe_scorer
from graphrag_dagster.systems.lego.search.hop_prediction import HopPredictor
from graphrag_dagster.systems.lego.search.instance_definitions import (
    LEX,
    Beforehand,
    PathOptions,
    Recipe,
    by_reports,
)
from graphrag_dagster.systems.lego.search.reasoning_paths import ModuleUse, Outcome, PathQuery
from graphrag_dagster.systems.lego.search.seed_linking import NO_SEED
from graphrag_dagster.systems.lego.subgraphs.community_partition import SeedReports
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import ExtractedSubgraph, SubgraphExtractor
from graphrag_dagster.systems.lego.subgraphs.recall_constraint import Classifier, WindowRow, window_for
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.tasks import PathAnswer, PathAnswerer, PathSelector

#: Why there are no paths though there are seeds.
NO_EDGE, NO_PATH = "no_edge", "no_path"


@dataclass(frozen=True)
class Runner:
    """An instance.

    Attributes:
        store: the graph.
        extractor: gives subgraphs.
        retriever: finds paths in them.
        answerer: answers from the first of the paths.
        options: its modules and how they work.
        instance_name: what it is called, ``-lex`` behind it where rules stand in for a model.
        reports: what is read beside the paths; None: nothing.
        extraction: the same for those whose subgraphs are the same.
        base: the same for those whose subgraphs are parts of the same walk.
    """

    store: PathStore
    extractor: SubgraphExtractor
    retriever: PathRetriever
    answerer: PathAnswerer
    options: PathOptions
    instance_name: str
    reports: SeedReports | None
    extraction: object
    base: object

    def run(self, query: PathQuery, extracted: ExtractedSubgraph, seconds: float) -> Outcome:
        """Return what the instance makes of a question.

        Args:
            query: the question; without a seed it has no path, and is answered without.
            extracted: its subgraph.
            seconds: that this took.

        Raises:
            QuestionError: a seed is no node of the graph.
            EngineError: who selects or answers cannot do it.
            EndpointError: the model endpoint cannot be used.
        """
        subgraph, begin = extracted.subgraph, perf_counter()
        found = self.retriever.retrieve(query, subgraph)
        retrieved = perf_counter()
        answer = self._answer(query, found)
        answered = perf_counter()
        reason = ""
        if not len(found.paths):
            reason = NO_SEED if not query.seeds else NO_PATH if len(subgraph.edges) else NO_EDGE
        problems = (answer.problem,) if answer.problem else ()
        return Outcome(
            self.instance_name,
            query,
            subgraph,
            found.paths,
            min(len(found.paths), self.options.shown),
            answer,
            MappingProxyType(
                {
                    "extraction": extracted.use,
                    "retrieval": found.use,
                    "answer": ModuleUse(answer.usage, problems=problems),
                }
            ),
            MappingProxyType(
                {
                    "extraction": seconds,
                    "retrieval": retrieved - begin,
                    "answer": answered - retrieved,
                }
            ),
            reason,
            found.cut,
        )

    def _answer(self, query: PathQuery, found: RetrievedPaths) -> PathAnswer:
        first = np.arange(min(len(found.paths), self.options.shown))
        shown = found.paths.at(first)
        reports = self.reports.of(query.seeds) if self.reports else ()
        return self.answerer.answer(query.question, shown.verbalised, shown.scores, reports)


def run_batch(runners: Sequence[Runner], queries: Sequence[PathQuery]) -> Iterator[list[Outcome]]:
    """Yield for each question what several instances make of it.

    Subgraphs are prepared for all questions at once, and what is the same subgraph is extracted once; each
    instance is booked with the seconds of its subgraph, whoever extracted it.
    """
    share = _prepare(runners, queries) / max(len(queries), 1)
    for query in queries:
        known: dict[object, tuple[ExtractedSubgraph, float]] = {}
        for runner in runners:
            if runner.extraction not in known:
                begin = perf_counter()
                found = runner.extractor.extract(query)
                known[runner.extraction] = found, perf_counter() - begin + share
        yield [runner.run(query, *known[runner.extraction]) for runner in runners]


def _prepare(runners: Iterable[Runner], queries: Sequence[PathQuery]) -> float:
    begin, seen = perf_counter(), set()
    for runner in runners:
        if runner.base not in seen:
            seen.add(runner.base)
            runner.extractor.prepare(queries)
    return perf_counter() - begin


_NEUTRAL = PathOptions()
#: What subgraphs before pruning, and these alone, depend on.
_OF_WALKS = ("direction", "extraction", "damping", "rmax", "epsilon", "hops", "walks", "walk_steps", "seed")
_OF_VECTORS = ("nearest", "vector_hops", "edges_of_node", "partitions")
_OF_EXTRACTION = (
    *(*_OF_WALKS, *_OF_VECTORS),
    *("max_ent", "pruning", "pruning_level", "max_edge", "max_triples", "max_nodes", "parsing"),
)


@dataclass
class InstanceResources:
    """What instances are made of, over one graph; scorers are made once for all of them.

    Attributes:
        store: the graph.
        answerer: answers from paths.
        selector: selects; None: nobody does.
        embedder: of the corpus, for the scorer of that name.
        reports: of the seeds' communities, where there are any.
        windows: rows of ``paths.recall_windows``, by which subgraphs are as large as their class needs; none:
            all are of ``max_ent``.
        beforehand: what was made of the graph for extractions that look through all of it.
        hops: tells the steps of questions, for ``switches.combine``; None: by their words.
    """

    store: PathStore
    answerer: PathAnswerer
    selector: PathSelector | None = None
    embedder: CorpusEmbedder | None = None
    reports: SeedReports | None = None
    windows: Sequence[WindowRow] = ()
    beforehand: Beforehand = field(default_factory=Beforehand)
    hops: HopPredictor | None = None
    _scorers: dict[object, PathScorer] = field(default_factory=dict)

    def runner(self, recipe: Recipe) -> Runner:
        """Return an instance.

        Raises:
            EngineError: what it needs is not there, or its switches mean nothing for its modules.
            GraphragError: its options do not fit the graph.
        """
        options = recipe.options
        scorer = self._scorer(recipe) if recipe.scores else None
        selector = self._selector(recipe) if recipe.asks_selector else None
        made = self.beforehand
        reported = made.reported if by_reports(options) else None

        def sized(most: int) -> SubgraphExtractor:
            return extractor_of(
                replace(options, max_ent=most),
                self.store,
                scorer=scorer,
                selector=selector,
                embedder=self.embedder,
                partition=reported.partition if reported else made.partition,
                reports=reported.texts if reported else None,
                vectors=made.vectors(options),
            )

        extractor = sized(options.max_ent)
        if self.windows:
            classifier = Classifier(self.store, options.direction)
            extractor = ConstrainedSubgraphs(sized, self.windows, classifier)
        retriever = retriever_of(options, self.store, scorer=scorer, selector=selector, hops=self.hops)
        scored = options.pruning != "none" or options.extraction == "node_vectors"
        scoring = (options.scorer, recipe.scorer_model, options.relation_words) if scored else None
        return Runner(
            self.store,
            extractor,
            retriever,
            self.answerer,
            options,
            instance_label(recipe, self.answerer.engine if selector is None else selector.engine),
            self.reports if recipe.reports else None,
            (_only_options(options, _OF_EXTRACTION), scoring),
            _only_options(options, (*_OF_WALKS, *_OF_VECTORS)),
        )

    def _selector(self, recipe: Recipe) -> PathSelector:
        if self.selector is None:
            raise EngineError(
                f"instance {recipe.name} selects paths, and the engine of paths cannot; set paths.engine"
            )
        return self.selector

    def _scorer(self, recipe: Recipe) -> PathScorer:
        own = recipe.options
        key = (own.scorer, recipe.scorer_model, own.seed, own.relation_words)
        if key not in self._scorers:
            self._scorers[key] = recipe_scorer(recipe, self.embedder)
        return self._scorers[key]


def instance_label(recipe: Recipe, engine: str) -> str:
    """Return what an instance is called: :data:`LEX` behind it where an engine without a model does its part.

    Args:
        recipe: of the instance.
        engine: who selects, and reads reports.
    """
    for_model = recipe.asks_selector or recipe.reports
    return f"{recipe.name}{LEX}" if for_model and not asks_model(engine) else recipe.name


def _only_options(options: PathOptions, names: tuple[str, ...]) -> PathOptions:
    return replace(_NEUTRAL, **{name: getattr(options, name) for name in names})


class ConstrainedSubgraphs(SubgraphExtractor):
    """Subgraphs of the window that was chosen for the class of each question.

    Args:
        extractor: gives subgraphs of a size.
        rows: of ``paths.recall_windows``, with one for each class or for all.
        classifier: says of which class a question is.
    """

    def __init__(
        self, extractor: Callable[[int], SubgraphExtractor], rows: Sequence[WindowRow], classifier: Classifier
    ) -> None:
        self._rows, self._classifier = rows, classifier
        self._sized = {row["chosen"]: extractor(row["chosen"]) for row in rows}

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return the subgraph of a question; see the port."""
        row = window_for(self._rows, self._classifier.of(query)) or self._rows[0]
        return self._sized[row["chosen"]].extract(query)

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Find out beforehand what several questions will need."""
        next(iter(self._sized.values())).prepare(queries)
