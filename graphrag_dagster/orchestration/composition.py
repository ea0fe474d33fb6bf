"""The pipeline as definitions: assets, checks, jobs, automation and the resources that they use."""

import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dagster import (
    AssetsDefinition,
    AssetSpec,
    ConfigurableResource,
    DagsterLogManager,
    Definitions,
    ExecutorDefinition,
    InitResourceContext,
)

from graphrag_dagster.kernel.catalogue.registry import loaded, systems
from graphrag_dagster.kernel.common.progress import Listener, listening
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import IO_MANAGER, resource_key
from graphrag_dagster.kernel.pipeline.orchestration.io_manager import WarehouseIOManager
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.home import HomeFolders
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.orchestration.assets import ASSETS, jobs
from graphrag_dagster.orchestration.automation import SCHEDULES, SENSORS


def compose(
    places: HomeFolders | None = None,
    *,
    max_tokens: int | None = None,
    max_usd: float | None = None,
    executor: ExecutorDefinition | None = None,
    owners: Sequence[str] = (),
    group_prefix: str = "",
) -> Definitions:
    """Return the definitions of the pipeline, to be used alone or merged with others.

    Args:
        places: where files are; default: as the environment says when they are used.
        max_tokens: most tokens of a run, unless its run config says another limit; default: no limit.
        max_usd: most US dollars of a run, in the same way.
        executor: of the jobs; default: that of the definitions they become part of.
        owners: of every asset, as Dagster writes them.
        group_prefix: before the name of every asset group.
    """
    where = places or HomeFolders()
    corpora, warehouse = CorpusStoreResource(root=where.corpora), WarehouseResource(path=where.warehouse)
    memory = LLMCacheResource(file=where.memory)
    resources = {
        resource_key("corpora"): corpora,
        resource_key("warehouse"): warehouse,
        resource_key("memory"): memory,
        **{
            resource_key(key): _configurable(loaded(kind)).configure_at_launch()
            for system in systems().values()
            for key, kind in system.resources.items()
        },
        resource_key("language"): LanguageResource.configure_at_launch(
            max_tokens=max_tokens, max_usd=max_usd, memory=memory, corpora=corpora
        ),
        IO_MANAGER: WarehouseIOManager(warehouse=warehouse),
    }
    return Definitions(
        assets=_described(owners, group_prefix),
        jobs=jobs(executor),
        schedules=SCHEDULES,
        sensors=SENSORS,
        resources=resources,
    )


def _described(owners: Sequence[str], group_prefix: str) -> Sequence[AssetsDefinition]:
    if not (owners or group_prefix):
        return ASSETS

    def described(spec: AssetSpec) -> AssetSpec:
        return spec.replace_attributes(owners=list(owners), group_name=f"{group_prefix}{spec.group_name}")

    return [made.map_asset_specs(described) for made in ASSETS]


class WarehouseResource(ConfigurableResource[None], Warehouse):
    """Reads and writes the declared tables of each corpus, in a DuckDB file of its own."""


class CorpusStoreResource(ConfigurableResource[None], CorpusStore):
    """Finds corpora: folders below ``root``, or elsewhere where a file ``NAME.path`` there points to."""


class LLMCacheResource(ConfigurableResource[None], LLMCache):
    """The LLM cache, and what every run used of it."""


def _configurable(kind: type[Resource]) -> type[ConfigurableResource[None]]:
    """Return a resource of a system as one that run config sets."""
    bases, own = (ConfigurableResource[None], kind), {"__doc__": kind.__doc__, "__module__": kind.__module__}
    return types.new_class(f"{kind.__name__}Resource", bases, exec_body=lambda space: space.update(own))


class LanguageResource(ConfigurableResource[None], Language):
    """Opens the engines of the language tasks for an asset; the limits hold for each run as a whole."""

    memory: LLMCacheResource
    corpora: CorpusStoreResource

    @contextmanager
    def yield_for_execution(self, context: InitResourceContext) -> Iterator[None]:
        """Have what calls of models meet with told in the log of the run while it goes on."""
        if context.log is None:
            yield self.create_resource(context)
            return
        with listening(_RunLog(context.log)):
            yield self.create_resource(context)


class _RunLog(Listener):
    """What is said while stages run, in the log of a run."""

    def __init__(self, log: DagsterLogManager) -> None:
        self._log = log

    def start(self, stage: str, total: int | None) -> None:
        """Say nothing: each step has its own events."""

    def advance(self, stage: str, steps: int) -> None:
        """Say nothing."""

    def finish(self, stage: str) -> None:
        """Say nothing."""

    def say(self, line: str) -> None:
        """Write a warning."""
        self._log.warning("%s", line)
