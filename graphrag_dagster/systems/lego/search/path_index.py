"""One question by one or several instances over a published corpus, and the resources they need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, Prefilter
from graphrag_dagster.kernel.questions.corpus_index import check_embedder
from graphrag_dagster.kernel.questions.question import validate_question
from graphrag_dagster.kernel.storage.published.snapshot_manifest import reading
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import COMMUNITY_MEMBERS, COMMUNITY_REPORTS, REPORT_EMBEDDINGS
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.lego.search.graph_arrays import (
    Of,
    path_partition_of,
    path_store_of,
    path_vectors_of,
)
from graphrag_dagster.systems.lego.search.hop_prediction import KnownHops
from graphrag_dagster.systems.lego.search.instance_definitions import (
    INSTANCES,
    Beforehand,
    Recipe,
    by_reports,
    needs_embedder,
)
from graphrag_dagster.systems.lego.search.instance_runner import InstanceResources, run_batch
from graphrag_dagster.systems.lego.search.reasoning_paths import Outcome, PathQuery
from graphrag_dagster.systems.lego.search.seed_linking import Linked, LinkedBy, SeedLinker
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.benchmark_runs import OutcomeRow, path_rows
from graphrag_dagster.systems.lego.studies.question_files import strip_marks
from graphrag_dagster.systems.lego.subgraphs.community_partition import ReportedCommunities, SeedReports
from graphrag_dagster.systems.lego.subgraphs.recall_constraint import WindowRow
from graphrag_dagster.systems.lego.subgraphs.text_vectors import TextVectors
from graphrag_dagster.systems.lego.tables import RECALL_WINDOWS
from graphrag_dagster.systems.lego.tasks import PATH_ANSWERER, PATH_SELECTOR


def resources_of(
    session: TaskProvider,
    store: PathStore,
    recipes: Iterable[Recipe],
    reports: SeedReports | None = None,
    *,
    windows: Sequence[WindowRow] = (),
    beforehand: Beforehand | None = None,
    hops: Mapping[str, int] | None = None,
) -> InstanceResources:
    """Return what instances are made of.

    Args:
        session: the engines.
        store: the graph.
        recipes: of the instances; what none of them needs is not made.
        reports: of the seeds' communities.
        windows: rows of ``paths.recall_windows``.
        beforehand: see :func:`prepared_parts_of`.
        hops: steps of questions, as far as they are told.

    Raises:
        EngineError: the engine of paths cannot do what an instance needs.
        SettingsError: the settings of a model or an embedder cannot be used.
    """
    chosen = list(recipes)
    embedded = any(
        (recipe.scores and recipe.options.scorer == "embedder") or needs_embedder(recipe.options)
        for recipe in chosen
    )
    return InstanceResources(
        store,
        session.task(PATH_ANSWERER),
        session.task(PATH_SELECTOR) if any(recipe.asks_selector for recipe in chosen) else None,
        session.embedder() if embedded else None,
        reports,
        windows,
        beforehand or Beforehand(),
        KnownHops(hops or {}),
    )


def prepared_parts_of(
    session: TaskProvider, warehouse: Warehouse, corpus: str, recipes: Iterable[Recipe]
) -> Beforehand:
    """Return what instances need that is made of the whole graph, made where it is not there yet.

    Raises:
        GraphragError: it would be too large.
        SettingsError: another embedder made the vectors of reports.
        WarehouseError: nothing has been published, or it cannot be made.
    """
    chosen = [recipe.options for recipe in recipes]
    kinds = {options.extraction for options in chosen if not by_reports(options)}
    prefilter = session.settings.section(PathSettings).prefilter.prefilter()

    def vectors(of: Of) -> TextVectors:
        return path_vectors_of(warehouse, corpus, prefilter, session.embedder(), of)

    return Beforehand(
        path_partition_of(warehouse, corpus, prefilter) if "partition" in kinds else None,
        _reported_communities(session, warehouse, corpus, prefilter)
        if any(map(by_reports, chosen))
        else None,
        vectors("labels") if "node_vectors" in kinds else None,
        vectors("triples") if "triple_vectors" in kinds else None,
    )


def _reported_communities(
    session: TaskProvider, warehouse: Warehouse, corpus: str, prefilter: Prefilter
) -> ReportedCommunities:
    store, embedder = path_store_of(warehouse, corpus, prefilter), session.embedder()
    with reading(warehouse, corpus) as (reader, _):
        members, vectors = reader.read(COMMUNITY_MEMBERS), reader.read(REPORT_EMBEDDINGS)
    check_embedder(vectors, embedder.name)
    return ReportedCommunities.of(store, members, vectors)


def reports_of(
    warehouse: Warehouse, corpus: str, store: PathStore, recipes: Iterable[Recipe], encoding: str
) -> SeedReports | None:
    """Return the published reports of communities, where an instance reads them; None where none does.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.
        store: its graph.
        recipes: of the instances.
        encoding: by which tokens are counted.

    Raises:
        WarehouseError: the corpus has not been indexed.
    """
    if not any(recipe.reports for recipe in recipes):
        return None
    with reading(warehouse, corpus) as (reader, _):
        members, reports = reader.read(COMMUNITY_MEMBERS), reader.read(COMMUNITY_REPORTS)
    return SeedReports(store, members, reports, get_tokenizer(encoding))


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that paths begin from."""

    entity_id: str
    label: str


@dataclass(frozen=True, slots=True)
class InstanceAnswer:
    """What an instance makes of a question.

    Attributes:
        instance: its name; ``-lex`` behind it: rules stood in for the model of one of its modules.
        modules: what it is made of, as the paper writes it.
        question: that was asked.
        seeds: entities that paths begin from, the surest first.
        linked_by: how they were found.
        unknown: entities given with the question that the graph does not have.
        nodes: of the subgraph.
        edges: of the subgraph.
        components: weakly connected ones of the subgraph.
        found: paths that were found; the first of them are ``paths``.
        paths: those that the answer was made from, with rank, text, entity_ids, relations, score and length.
        reason: why there is no path; blank where there is.
        answer: as people read it.
        named: what it names as answers, best first; None by a model.
        cited: for each of these the rank of the path that it rests on.
        engine: who answered.
        problems: replies that could not be used.
        calls: of a model.
        seconds: by module.
    """

    instance: str
    modules: str
    question: str
    seeds: tuple[Seed, ...]
    linked_by: LinkedBy
    unknown: tuple[str, ...]
    nodes: int
    edges: int
    components: int
    found: int
    paths: tuple[OutcomeRow, ...]
    reason: str
    answer: str
    named: tuple[str, ...] | None
    cited: tuple[int, ...]
    engine: str
    problems: tuple[str, ...]
    calls: int
    seconds: dict[str, float]


class PathIndex:
    """The graph of a corpus as it is published, to be asked for paths.

    Args:
        warehouse: where the tables are.
        corpus: its name.
        session: the engines.

    Raises:
        WarehouseError: nothing has been published.
    """

    def __init__(self, warehouse: Warehouse, corpus: str, session: TaskProvider) -> None:
        self._warehouse, self._corpus, self._session = warehouse, corpus, session
        self._own = session.settings.section(PathSettings)
        self.store = path_store_of(warehouse, corpus, self._own.prefilter.prefilter())

    def ask(
        self, question: str, instances: Sequence[str], entities: Sequence[str] = ()
    ) -> list[InstanceAnswer]:
        """Return what instances make of a question, in their order.

        Args:
            question: at most 4,000 characters; entities may stand in brackets: ``who directed [Alien]``.
            instances: by their names.
            entities: that the question is about; default: those in brackets, else those that it names.

        Raises:
            QuestionError: the question is empty or too long.
            GraphragError: there is no instance of a name, or it cannot be made here.
        """
        text, marked = strip_marks(validate_question(question))
        recipes = [self._own.recipe(name) for name in instances]
        linked = self._linker.link(text, tuple(entities) or marked)
        workshop = self._resources(recipes)
        runners = [workshop.runner(recipe) for recipe in recipes]
        (outcomes,) = run_batch(runners, [PathQuery(text, linked.seeds)])
        return [
            self._describe_outcome(recipe, outcome, linked)
            for recipe, outcome in zip(recipes, outcomes, strict=True)
        ]

    @cached_property
    def _linker(self) -> SeedLinker:
        return SeedLinker(self.store, self._session.embedder() if self._own.embedded_links else None)

    def _resources(self, recipes: Sequence[Recipe]) -> InstanceResources:
        encoding = self._session.settings.text_units.encoding
        reports = reports_of(self._warehouse, self._corpus, self.store, recipes, encoding)
        with reading(self._warehouse, self._corpus) as (reader, _):
            windows = reader.read_if_present(RECALL_WINDOWS)
        return resources_of(
            self._session,
            self.store,
            recipes,
            reports,
            windows=() if windows is None or not self._own.recall.enabled else tuple(windows.to_dicts()),
            beforehand=prepared_parts_of(self._session, self._warehouse, self._corpus, recipes),
        )

    def _describe_outcome(self, recipe: Recipe, outcome: Outcome, linked: Linked) -> InstanceAnswer:
        subgraph, answer = outcome.subgraph, outcome.answer
        uses = outcome.uses.values()
        return InstanceAnswer(
            outcome.instance,
            modules_of(recipe),
            outcome.query.question,
            tuple(Seed(self.store.entity_ids[seed], self.store.label(seed)) for seed in linked.seeds),
            linked.by,
            linked.unknown,
            len(subgraph.nodes),
            len(subgraph.edges),
            subgraph.components,
            len(outcome.paths),
            tuple(path_rows(outcome.paths, outcome.shown)),
            outcome.reason,
            answer.text,
            answer.named,
            tuple(place + 1 for place in answer.cited),
            answer.engine,
            tuple(problem for use in uses for problem in use.problems),
            sum(use.usage.calls for use in uses),
            {module: round(seconds, 6) for module, seconds in outcome.seconds.items()},
        )


def modules_of(recipe: Recipe) -> str:
    """Return what an instance is made of, as the paper writes it; of others their modules by setting."""
    titles: dict[str, Any] = {one.name: one.title for one in INSTANCES}
    options = recipe.options
    own = f"{options.extraction}/{options.pruning}+{options.retrieval}/{options.judged}"
    return str(titles.get(recipe.name, own))
