"""Declaration of a step, and the input and output of its function."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, TypeVar

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.common.progress import without_progress
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse, WrittenTable
from graphrag_dagster.kernel.tables.core_tables import (
    ENTITY_EMBEDDINGS,
    REPORT_EMBEDDINGS,
    TEXT_UNIT_EMBEDDINGS,
)
from graphrag_dagster.kernel.tables.table_declaration import Table, Tables
from graphrag_dagster.kernel.tasks.embedded_rows import (
    embed_rows,
    text_of_entity,
    text_of_report,
    text_of_unit,
)
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

T = TypeVar("T")
R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class StepRun:
    """A run of a step for one corpus.

    Attributes:
        corpus: the corpus.
        run_id: the Dagster run.
        settings: the corpus's settings.
        warehouse: the warehouse, with the previous tables.
        corpora: reads the files of corpora.
        language: opens task providers.
        memory: the LLM cache and the usage accounts.
        resources: resources of systems, by key.
        code_of_tables: returns the code version that made each table of the corpus, by ``schema/table``.
        queries: the query of each table that SQL makes.
        begun: background work that the step has started.
        default_tokens: most tokens of a run without a limit; None: any number.
    """

    corpus: str
    run_id: str
    settings: CorpusSettings
    warehouse: Warehouse
    corpora: CorpusStore
    language: Language
    memory: LLMCache
    resources: Mapping[str, Resource]
    code_of_tables: Callable[[], Mapping[str, str]]
    queries: Mapping[Table, str] = field(default_factory=dict)
    begun: list[Future[Any]] = field(default_factory=list)
    default_tokens: int | None = None

    def session(self, user: str) -> TaskProvider:
        """Return the task provider; model calls are accounted to ``user``."""
        return self.language.session_of(
            self.settings, User(self.corpus, user, self.run_id), self.default_tokens
        )

    def resource(self, kind: type[R]) -> R:
        """Return the resource of a type that a system has declared."""
        return next(resource for resource in self.resources.values() if isinstance(resource, kind))

    def before(self, table: Table) -> pl.DataFrame | None:
        """Return the rows of a table from the previous run, or None."""
        return self.warehouse.read_if_present(table, self.corpus)

    def begin(self, work: Callable[[], T], *, quiet: bool = False) -> "Future[T]":
        """Run work in a background thread, and return its future.

        If the run has a token or cost limit, the work is done immediately, so that the remaining budget is
        known. A failing step does not wait for it unless it is retried.

        Args:
            work: called once; the future has its result or exception.
            quiet: whether to hide its progress.
        """
        result: Future[T] = Future()

        def done() -> None:
            try:
                with without_progress() if quiet else nullcontext():
                    result.set_result(work())
            except BaseException as error:
                result.set_exception(error)

        self.begun.append(result)
        if self.language.limited or self.default_tokens is not None:
            done()
        else:
            Thread(target=done, name=f"beside {self.corpus}", daemon=True).start()
        return result


@dataclass(frozen=True, slots=True)
class Made:
    """A table made by a step.

    Attributes:
        table: the table.
        rows: all rows of the corpus.
        told: displayed metadata, by name.
    """

    table: Table
    rows: pl.DataFrame
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stored:
    """A table that a step has written itself, because its rows may exceed memory."""

    table: Table
    rows: WrittenTable


@dataclass(frozen=True, slots=True)
class Artifact:
    """Output of a step other than tables: the version of its content, and its metadata by name."""

    version: str
    told: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the pipeline and of a run.

    Attributes:
        name: name of the step.
        run: makes its tables, except those made by queries. If it raises, the tables it has yielded are still
            written.
        reads: tables passed to ``run``; those that the step makes by a query are computed for it.
        columns: the columns that ``run`` needs of a table of ``reads``; default: all.
        assets: the tables that are assets, each with its displayed dependencies.
        side_tables: tables written together with these that are not assets: states, accounts, look-ups.
        artifact: asset key of its output that is not a table.
        made_of: the displayed dependencies of the artifact.
        requested: whether it is made by separate jobs, not with the index.
    """

    name: str
    run: Callable[[Tables, StepRun], Iterable[Made | Stored | Artifact]]
    reads: tuple[Table, ...] = ()
    columns: Mapping[Table, tuple[str, ...]] = field(default_factory=dict)
    assets: Mapping[Table, tuple[Table | str, ...]] = field(default_factory=dict)
    side_tables: tuple[Table, ...] = ()
    artifact: str = ""
    made_of: tuple[Table | str, ...] = ()
    requested: bool = False

    @property
    def keys(self) -> tuple[Table | str, ...]:
        """All its assets."""
        return (*self.assets, *([self.artifact] if self.artifact else []))

    @property
    def makes(self) -> tuple[Table, ...]:
        """All its tables."""
        return (*self.assets, *self.side_tables)

    @property
    def parts(self) -> tuple[str, ...]:
        """The stages of its assets, which its other tables belong to as well."""
        groups = (key.group if isinstance(key, Table) else key.split("/")[0] for key in self.keys)
        return tuple(dict.fromkeys(groups))

    @property
    def asks_models(self) -> bool:
        """Whether it may call a model."""
        return any(stages()[table.group].users for table in self.assets)


def by_queries(_tables: Tables, _run: StepRun) -> Iterable[Made]:
    """Return nothing: all tables of the step are made by queries."""
    return ()


_TEXT_OF: Mapping[Table, Callable[[pl.DataFrame], pl.Series]] = {
    TEXT_UNIT_EMBEDDINGS: text_of_unit,
    ENTITY_EMBEDDINGS: text_of_entity,
    REPORT_EMBEDDINGS: text_of_report,
}


def embedded(run: StepRun, table: Table, rows: pl.DataFrame) -> Made:
    """Embed rows, with one call per distinct text and embedder, reusing vectors of the previous run.

    Args:
        run: the run of the stage.
        table: the table of vectors.
        rows: rows of the embedded table.
    """
    session = run.session(f"{table.name}_embeddings")
    embedder = session.embedder()
    # Vectors of reports are always kept, because searches need them.
    if run.settings.embeddings.kept != "all" and table != REPORT_EMBEDDINGS:
        rows = rows.clear()
    known, texts = run.before(table), _TEXT_OF[table](rows)
    vectors = embed_rows(rows[table.key[0]], texts, embedder, known, named=table.name.replace("_", " "))
    session.mark_in_use(texts.to_list())
    reused = 0 if known is None else known.filter(pl.col("embedder") == embedder.name).height
    return Made(table, vectors, {"embedder": embedder.name, "known_before": reused, **session.finish()})
