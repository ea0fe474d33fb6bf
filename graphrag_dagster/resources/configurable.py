"""Warehouse, corpora, models and the LLM cache as resources that run config can set."""

import types
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import duckdb
from dagster import (
    ConfigurableResource,
    DagsterLogManager,
    InitResourceContext,
)
from dagster_duckdb import DuckDBResource
from pydantic import Field

from graphrag_dagster.errors import GraphragError, WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.common.progress import Listener, listening
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.duckdb_access import attach
from graphrag_dagster.kernel.storage.home import HomeFolders
from graphrag_dagster.kernel.storage.published.shared_snapshots import shared_corpora
from graphrag_dagster.kernel.storage.published.snapshot_manifest import open_snapshot
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.resources.dagster_keys import IO_MANAGER, resource_key
from graphrag_dagster.resources.io_manager import WarehouseIOManager


class WarehouseResource(ConfigurableResource[None], Warehouse):
    """Reads and writes the declared tables of each corpus, in one DuckDB file per corpus."""


class SnapshotsResource(DuckDBResource):
    """DuckDB with the published snapshot of each corpus attached, read-only, under the corpus's name.

    So ``select * from harbour.graph.entities`` reads a table of the corpus ``harbour``, and one query can
    read several corpora. Tables can be made in memory; they end with the connection.
    """

    database: str = Field(default=":memory:", description="DuckDB file to begin with; default: in memory")
    warehouse: WarehouseResource

    @contextmanager
    def get_connection(self, *corpora: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection for the block.

        A corpus without a snapshot is not attached.

        Args:
            *corpora: names of those that are attached; default: all. Where machines share snapshots, each is
                fetched if it is newer than the copy here.

        Raises:
            WarehouseError: a snapshot cannot be read, or the names of two corpora differ in case alone, which
                DuckDB takes for the same.
        """
        with ExitStack() as stack:
            connection = stack.enter_context(super().get_connection())
            # The parent does not close it where the block fails.
            stack.callback(connection.close)
            attached: dict[str, str] = {}
            named = corpora or {*self.warehouse.corpora(), *shared_corpora(self.warehouse)}
            for corpus in sorted(set(named)):
                if other := attached.get(corpus.lower()):
                    raise WarehouseError(
                        f"DuckDB cannot attach the corpora {other!r} and {corpus!r} beside each other: their "
                        "names differ in case alone; rename one"
                    )
                attaching = partial(attach, connection, alias=corpus, read_only=True)
                if open_snapshot(self.warehouse, corpus, attaching):
                    attached[corpus.lower()] = corpus
            yield connection


class CorpusStoreResource(ConfigurableResource[None], CorpusStore):
    """Finds corpora: folders below ``root``, or elsewhere if a pointer file ``NAME.path`` below it leads
    there.
    """


class LLMCacheResource(ConfigurableResource[None], LLMCache):
    """The LLM cache and the usage of every run."""


def _configurable(kind: type[Resource]) -> type[ConfigurableResource[None]]:
    """Return a system's resource class as one that run config can set."""
    bases, attributes = (
        (ConfigurableResource[None], kind),
        {"__doc__": kind.__doc__, "__module__": kind.__module__},
    )
    return types.new_class(
        f"{kind.__name__}Resource", bases, exec_body=lambda space: space.update(attributes)
    )


class LanguageResource(ConfigurableResource[None], Language):
    """Opens the task provider of an asset. The limits hold for each run as a whole."""

    memory: LLMCacheResource
    corpora: CorpusStoreResource

    @contextmanager
    def yield_for_execution(self, context: InitResourceContext) -> Iterator[None]:
        """Write problems of model calls to the run's log during the run."""
        if context.log is None:
            yield self.create_resource(context)
            return
        with listening(_RunLog(context.log)):
            yield self.create_resource(context)


class _RunLog(Listener):
    """Forwards messages of running stages to the log of a run."""

    def __init__(self, log: DagsterLogManager) -> None:
        self._log = log

    def say(self, line: str) -> None:
        """Log a warning."""
        self._log.warning("%s", line)


def configured_resources(
    where: HomeFolders, *, max_tokens: int | None = None, max_usd: float | None = None
) -> dict[str, Any]:
    """Return the resources of the pipeline by key.

    Args:
        where: file locations.
        max_tokens: default token limit of a run; default: no limit.
        max_usd: default cost limit of a run in US dollars, likewise.
    """
    corpora = CorpusStoreResource(root=where.corpora)
    warehouse = WarehouseResource(path=where.warehouse, published=where.published)
    memory = LLMCacheResource(file=where.memory)
    return {
        resource_key("corpora"): corpora,
        resource_key("warehouse"): warehouse,
        resource_key("memory"): memory,
        resource_key("duckdb"): SnapshotsResource(warehouse=warehouse),
        **{
            resource_key(key): _configurable(load_target(kind)).configure_at_launch()
            for system in systems().values()
            for key, kind in system.resources.items()
        },
        resource_key("language"): LanguageResource.configure_at_launch(
            max_tokens=max_tokens, max_usd=max_usd, memory=memory, corpora=corpora
        ),
        IO_MANAGER: WarehouseIOManager(warehouse=warehouse),
    }


def all_settings(where: HomeFolders) -> Iterator[CorpusSettings]:
    """Yield the default settings and those of each corpus; unusable ones are left to its run to report."""
    yield CorpusSettings()
    corpora = CorpusStore(root=where.corpora)
    with suppress(GraphragError, OSError):
        for name in corpora.names():
            with suppress(GraphragError, OSError):
                yield corpora.settings(name)
