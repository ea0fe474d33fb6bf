"""Declaration of a step, the input of its function, and its output."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, TypeVar

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.common.progress import quietly
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse, WrittenTable
from graphrag_dagster.kernel.tables import (
    ENTITY_EMBEDDINGS,
    REPORT_EMBEDDINGS,
    TEXT_UNIT_EMBEDDINGS,
    Table,
    Tables,
)
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
        corpus: its name.
        run_id: of the run that the step is part of.
        settings: of the corpus.
        warehouse: with the tables of before.
        corpora: reads the files of corpora.
        language: opens the engines of the tasks.
        memory: the cached replies of models, and the account of what they cost.
        resources: of systems, by their keys.
        code_of_tables: gives the version of the code that made each table of the corpus, by ``schema/table``.
        begun: what the step has begun.
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
    begun: list[Future[Any]] = field(default_factory=list)

    def session(self, user: str) -> TaskProvider:
        """Return the engines of the tasks; what they ask of models is booked to ``user``."""
        return self.language.session_of(self.settings, User(self.corpus, user, self.run_id))

    def resource(self, kind: type[R]) -> R:
        """Return the resource of a type that a system has declared."""
        return next(one for one in self.resources.values() if isinstance(one, kind))

    def before(self, table: Table) -> pl.DataFrame | None:
        """Return the rows of a table as the last run left them; None where there are none."""
        return self.warehouse.read_if_present(table, self.corpus)

    def begin(self, work: Callable[[], T], *, quiet: bool = False) -> "Future[T]":
        """Have work done in a thread while the step goes on, and return its result to come.

        Where the run has a limit of tokens or money it is done at once: what is left of that is known then.
        A step that fails does not wait for it, but where it is tried again.

        Args:
            work: done once; what it raises, the result raises.
            quiet: do not show its progress.
        """
        result: Future[T] = Future()

        def done() -> None:
            try:
                with quietly() if quiet else nullcontext():
                    result.set_result(work())
            except BaseException as error:
                result.set_exception(error)

        self.begun.append(result)
        if self.language.limited:
            done()
        else:
            Thread(target=done, name=f"beside {self.corpus}", daemon=True).start()
        return result


@dataclass(frozen=True, slots=True)
class Made:
    """A table that was made.

    Attributes:
        table: the table.
        rows: all rows of the corpus.
        told: what is shown of them, by name.
    """

    table: Table
    rows: pl.DataFrame
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stored:
    """A table that a step has written itself, since not all of its rows may fit in memory."""

    table: Table
    rows: WrittenTable


@dataclass(frozen=True, slots=True)
class Artifact:
    """Output of a step besides tables: a version of its content, and its metadata by name."""

    version: str
    told: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the pipeline, and of a run.

    Attributes:
        name: of the step.
        run: makes its tables, but for those that are made by queries. Where it raises, what it gave before is
            written all the same.
        reads: tables that ``run`` is given; those that the step makes by a query are made for it.
        assets: the tables that are assets, each with what it is shown to be made of.
        side_tables: tables that are written with these and are no assets: states, accounts, look-ups.
        artifact: key of what it makes that is no table, and is an asset.
        made_of: what the artifact is shown to be made of.
        group: under which its assets are shown; default: its name.
        requested: it is made by jobs of its own, not with the index.
    """

    name: str
    run: Callable[[Tables, StepRun], Iterable[Made | Stored | Artifact]]
    reads: tuple[Table, ...] = ()
    assets: Mapping[Table, tuple[Table | str, ...]] = field(default_factory=dict)
    side_tables: tuple[Table, ...] = ()
    artifact: str = ""
    made_of: tuple[Table | str, ...] = ()
    group: str = ""
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
        """The stages that its tables are of; a system that is not installed has none."""
        return tuple(dict.fromkeys(table.group for table in self.makes if table.group in stages()))

    @property
    def asks_models(self) -> bool:
        """Whether it may ask a model."""
        return any(stages()[part].users for part in self.parts)


def by_queries(_tables: Tables, _run: StepRun) -> Iterable[Made]:
    """Make nothing: all tables of the step are made by queries."""
    return ()


_TEXT_OF: Mapping[Table, Callable[[pl.DataFrame], pl.Series]] = {
    TEXT_UNIT_EMBEDDINGS: text_of_unit,
    ENTITY_EMBEDDINGS: text_of_entity,
    REPORT_EMBEDDINGS: text_of_report,
}


def embedded(run: StepRun, table: Table, rows: pl.DataFrame) -> Made:
    """Embed rows: one call per distinct text and embedder, none where the last run made the vector.

    Args:
        run: of the stage.
        table: of the vectors.
        rows: of the table that they are made of.
    """
    session = run.session(f"{table.name}_embeddings")
    embedder = session.embedder()
    # Reports are searched by their vectors whatever else is kept.
    if run.settings.embeddings.kept != "all" and table != REPORT_EMBEDDINGS:
        rows = rows.clear()
    known, texts = run.before(table), _TEXT_OF[table](rows)
    vectors = embed_rows(rows[table.key[0]], texts, embedder, known, named=table.name.replace("_", " "))
    session.still_uses(texts.to_list())
    reused = 0 if known is None else known.filter(pl.col("embedder") == embedder.name).height
    return Made(table, vectors, {"embedder": embedder.name, "known_before": reused, **session.finish()})
