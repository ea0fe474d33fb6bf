"""What instances work with, over what a corpus has published."""

from collections.abc import Iterable, Mapping, Sequence

from graphrag_dagster.kernel.graph.arrays import PathStore
from graphrag_dagster.kernel.graph.prefilter import Prefilter
from graphrag_dagster.kernel.questions.asking.embedding import check_embedder
from graphrag_dagster.kernel.storage.published.reading import reading
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import COMMUNITY_MEMBERS, COMMUNITY_REPORTS, REPORT_EMBEDDINGS
from graphrag_dagster.kernel.tasks.session import Session
from graphrag_dagster.kernel.text.tokens import get_tokenizer
from graphrag_dagster.systems.lego.instances.community_reports import ReportedCommunities, SeedReports
from graphrag_dagster.systems.lego.instances.composing import Workshop
from graphrag_dagster.systems.lego.instances.declared import Beforehand, Recipe, by_reports, needs_embedder
from graphrag_dagster.systems.lego.instances.hops import ToldHops
from graphrag_dagster.systems.lego.search.graph_arrays import (
    Of,
    path_partition_of,
    path_store_of,
    path_vectors_of,
)
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.recall.windows import Row
from graphrag_dagster.systems.lego.subgraphs.vectors import TextVectors
from graphrag_dagster.systems.lego.tasks import PATH_ANSWERER, PATH_SELECTOR


def workshop_of(
    session: Session,
    store: PathStore,
    recipes: Iterable[Recipe],
    reports: SeedReports | None = None,
    *,
    at_once: bool = False,
    windows: Sequence[Row] = (),
    beforehand: Beforehand | None = None,
    hops: Mapping[str, int] | None = None,
) -> Workshop:
    """Return what instances are made of.

    Args:
        session: the engines.
        store: the graph.
        recipes: of the instances; what none of them needs is not made.
        reports: of the seeds' communities.
        at_once: several threads will ask the instances.
        windows: rows of ``paths.recall_windows``.
        beforehand: see :func:`beforehand_of`.
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
    return Workshop(
        store,
        session.task(PATH_ANSWERER),
        session.task(PATH_SELECTOR) if any(recipe.asks_selector for recipe in chosen) else None,
        session.embedder() if embedded else None,
        reports,
        at_once,
        windows,
        beforehand or Beforehand(),
        ToldHops(hops or {}),
    )


def beforehand_of(
    session: Session, warehouse: Warehouse, corpus: str, recipes: Iterable[Recipe]
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
        _reported(session, warehouse, corpus, prefilter) if any(map(by_reports, chosen)) else None,
        vectors("labels") if "node_vectors" in kinds else None,
        vectors("triples") if "triple_vectors" in kinds else None,
    )


def _reported(
    session: Session, warehouse: Warehouse, corpus: str, prefilter: Prefilter
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
