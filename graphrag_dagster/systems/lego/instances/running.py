"""An instance at work: a subgraph, paths in it, an answer from them (spec_lego §5)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import MappingProxyType

import numpy as np

from graphrag_dagster.kernel.graph.arrays import PathStore
from graphrag_dagster.systems.lego.instances.community_reports import SeedReports
from graphrag_dagster.systems.lego.instances.found import ModuleUse, Outcome, PathQuery
from graphrag_dagster.systems.lego.instances.options import PathOptions
from graphrag_dagster.systems.lego.instances.seeds import NO_SEED
from graphrag_dagster.systems.lego.retrieval.port import PathRetriever, Retrieved
from graphrag_dagster.systems.lego.subgraphs.port import Extracted, SubgraphExtractor
from graphrag_dagster.systems.lego.tasks import GraphAnswer, PathAnswerer

#: Why there are no paths though there are seeds.
NO_EDGE, NO_PATH = "no_edge", "no_path"


@dataclass(frozen=True, slots=True)
class Given:
    """A subgraph of a question, and the seconds that it took."""

    extracted: Extracted
    seconds: float


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
    reports: SeedReports | None = None
    extraction: object = None
    base: object = None

    def extract(self, query: PathQuery, beforehand: float = 0.0) -> Given:
        """Return the subgraph of a question.

        Args:
            query: the question.
            beforehand: its share of the seconds in which it was prepared.
        """
        begin = perf_counter()
        found = self.extractor.extract(query)
        return Given(found, perf_counter() - begin + beforehand)

    def run(self, query: PathQuery, given: Given | None = None) -> Outcome:
        """Return what the instance makes of a question.

        Args:
            query: the question; without a seed it has no path, and is answered without.
            given: its subgraph, where that has been extracted.

        Raises:
            QuestionError: a seed is no node of the graph.
            EngineError: who selects or answers cannot do it.
            EndpointError: the model endpoint cannot be used.
        """
        given = given or self.extract(query)
        subgraph, begin = given.extracted.subgraph, perf_counter()
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
                    "extraction": given.extracted.use,
                    "retrieval": found.use,
                    "answer": ModuleUse(answer.usage, problems=problems),
                }
            ),
            MappingProxyType(
                {
                    "extraction": given.seconds,
                    "retrieval": retrieved - begin,
                    "answer": answered - retrieved,
                }
            ),
            reason,
            found.cut,
        )

    def _answer(self, query: PathQuery, found: Retrieved) -> GraphAnswer:
        first = np.arange(min(len(found.paths), self.options.shown))
        shown = found.paths.at(first)
        reports = self.reports.of(query.seeds) if self.reports else ()
        return self.answerer.answer(query.question, shown.verbalised, shown.scores, reports)


def run_together(runners: Sequence[Runner], query: PathQuery, beforehand: float = 0.0) -> list[Outcome]:
    """Return what several instances make of a question; what is the same subgraph is extracted once.

    Each is booked with the seconds of its subgraph, whoever extracted it.
    """
    known: dict[object, Given] = {}
    found = []
    for runner in runners:
        if runner.extraction is None or runner.extraction not in known:
            given = runner.extract(query, beforehand)
            if runner.extraction is not None:
                known[runner.extraction] = given
        else:
            given = known[runner.extraction]
        found.append(runner.run(query, given))
    return found


def run_batch(runners: Sequence[Runner], queries: Sequence[PathQuery]) -> Iterator[list[Outcome]]:
    """Yield for each question what several instances make of it; subgraphs are prepared for all at once."""
    share = _prepared(runners, queries) / max(len(queries), 1)
    for query in queries:
        yield run_together(runners, query, share)


def _prepared(runners: Iterable[Runner], queries: Sequence[PathQuery]) -> float:
    begin, seen = perf_counter(), set()
    for runner in runners:
        if runner.base not in seen:
            seen.add(runner.base)
            runner.extractor.prepare(queries)
    return perf_counter() - begin
