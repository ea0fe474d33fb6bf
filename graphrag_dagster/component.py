"""The pipeline as a component: ``defs.yaml`` adds it to a Dagster project.

Dagster's tools import this in every project whose environment has the package, so the pipeline itself is only
imported to build the definitions.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dagster import (
    AssetsDefinition,
    AssetSpec,
    Component,
    ComponentLoadContext,
    ComponentTypeSpec,
    DagsterInvalidDefinitionError,
    Definitions,
    ExecutorDefinition,
    Model,
    Resolvable,
    Scaffolder,
    ScaffoldRequest,
    scaffold_component,
    scaffold_with,
)
from pydantic import BaseModel, Field

from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.storage.home import HomeFolders, cache_location
from graphrag_dagster.resources.dagster_keys import IO_MANAGER, resource_key
from graphrag_dagster.resources.executors import DEFAULT, ExecutorName, executor_named


class ScaffoldParams(BaseModel):
    """Parameters for scaffolding an instance."""

    home: str = Field("graphrag", description="folder of corpora, tables and the LLM cache")


class GraphRagScaffolder(Scaffolder[ScaffoldParams]):
    """Writes a ``defs.yaml`` with a home, and all other attributes as comments."""

    @classmethod
    def get_scaffold_params(cls) -> type[ScaffoldParams]:
        """Return the parameters of the command line."""
        return ScaffoldParams

    def scaffold(self, request: ScaffoldRequest[ScaffoldParams]) -> None:
        """Write the file; without comments if it is Python or appended to another file."""
        if request.append or request.scaffold_format != "yaml":
            scaffold_component(request, request.params.model_dump())
            return
        lines = [f"type: {request.type_name}", "", "attributes:", *_commented(request.params.model_dump())]
        (request.target_path / "defs.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@scaffold_with(GraphRagScaffolder)
class GraphRagComponent(Component, Model, Resolvable):
    """The whole GraphRAG pipeline: assets, checks, jobs, sensors, a schedule and their resources.

    A project can have one: its asset keys, jobs and sensors have fixed names.
    """

    home: str | None = Field(
        None,
        description="Folder of corpora, tables and the LLM cache, relative to the project; default: "
        "as the environment says",
        examples=["graphrag"],
    )
    corpora: str | None = Field(
        None,
        description="Folder with a folder for each corpus; default: corpora in the home",
        examples=["docs"],
    )
    warehouse: str | None = Field(
        None,
        description="DuckDB file of a corpus, with {corpus}; default: warehouse/{corpus}.duckdb in the home",
        examples=["/data/graphrag/{corpus}.duckdb"],
    )
    cache: str | None = Field(
        None,
        description="File of the LLM cache; default: cache/replies.sqlite in the home",
        examples=["/data/replies.sqlite"],
    )
    published: str | None = Field(
        None,
        description="URL where machines share snapshots; default: as the environment says",
        examples=["s3://bucket/graphrag"],
    )
    max_tokens: int | None = Field(
        None,
        ge=0,
        description="Most tokens, in and out, of a run; default: no limit for an index",
        examples=[2000000],
    )
    max_usd: float | None = Field(
        None, ge=0, description="Most US dollars of a run; default: no limit", examples=[5.0]
    )
    executor: ExecutorName = Field(
        DEFAULT, description="Where the steps of the jobs are carried out", examples=["multiprocess"]
    )
    owners: list[str] = Field(
        [],
        description="Owners of every asset: addresses, or teams",
        examples=[["team:search", "ada@example.org"]],
    )
    group_prefix: str = Field(
        "", description="Before the name of every asset group, e.g. graphrag_", examples=["graphrag_"]
    )

    @classmethod
    def get_spec(cls) -> ComponentTypeSpec:
        """Return the component's description for tools."""
        return ComponentTypeSpec(
            tags=["graphrag", "duckdb"],
            produces=["asset", "asset_check", "job", "schedule", "sensor", "resource"],
        )

    def build_defs(self, context: ComponentLoadContext) -> Definitions:
        """Build the definitions of the pipeline from the attributes.

        Raises:
            DagsterInvalidDefinitionError: the project has a second instance.
            SettingsError: the executor's package is not installed.
        """
        if len(context.component_tree.get_all_components(of_type=GraphRagComponent)) > 1:
            raise DagsterInvalidDefinitionError(
                "this project has more than one GraphRagComponent, and its assets and jobs have fixed names; "
                "put all corpora into one home, where each is a partition, or make the second a code "
                "location of its own"
            )
        return compose(
            self._places(context.project_root),
            max_tokens=self.max_tokens,
            max_usd=self.max_usd,
            executor=executor_named(self.executor),
            owners=self.owners,
            group_prefix=self.group_prefix,
        )

    def _places(self, project: Path) -> HomeFolders:
        below = HomeFolders() if self.home is None else HomeFolders.below(project / self.home)
        return HomeFolders(
            corpora=str(project / self.corpora) if self.corpora else below.corpora,
            warehouse=str(project / self.warehouse) if self.warehouse else below.warehouse,
            memory=cache_location(self.cache, project) if self.cache else below.memory,
            published=self.published or "",
        )


def compose(
    places: HomeFolders | None = None,
    *,
    max_tokens: int | None = None,
    max_usd: float | None = None,
    executor: ExecutorDefinition | None = None,
    owners: Sequence[str] = (),
    group_prefix: str = "",
) -> Definitions:
    """Return the definitions of the pipeline, for use alone or merged with others.

    Args:
        places: file locations; default: those of the environment at the time of use.
        max_tokens: default token limit of a run, overridable in its run config; default: no limit.
        max_usd: default cost limit of a run in US dollars, likewise.
        executor: executor of the jobs; default: that of the merged definitions.
        owners: owners of every asset, in Dagster's format.
        group_prefix: prefix of every asset group's name.
    """
    # Imported here because Dagster loads this module to list its components.
    from graphrag_dagster.assets.step_assets import jobs
    from graphrag_dagster.automation.freshness import FRESHNESS_JOB, fresh, morning
    from graphrag_dagster.automation.sensors import SCHEDULES, SENSORS
    from graphrag_dagster.resources.configurable import (
        CorpusStoreResource,
        LanguageResource,
        LLMCacheResource,
        SnapshotsResource,
        WarehouseResource,
        configurable,
    )
    from graphrag_dagster.resources.io_manager import WarehouseIOManager

    where = places or HomeFolders()
    corpora = CorpusStoreResource(root=where.corpora)
    warehouse = WarehouseResource(path=where.warehouse, published=where.published)
    memory = LLMCacheResource(file=where.memory)
    resources = {
        resource_key("corpora"): corpora,
        resource_key("warehouse"): warehouse,
        resource_key("memory"): memory,
        resource_key("duckdb"): SnapshotsResource(warehouse=warehouse),
        **{
            resource_key(key): configurable(load_target(kind)).configure_at_launch()
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
        asset_checks=[fresh],
        jobs=[*jobs(executor), FRESHNESS_JOB],
        schedules=[*SCHEDULES, morning],
        sensors=SENSORS,
        resources=resources,
    )


def _described(owners: Sequence[str], group_prefix: str) -> Sequence[AssetsDefinition]:
    from graphrag_dagster.assets.step_assets import ASSETS

    if not (owners or group_prefix):
        return ASSETS

    def described(spec: AssetSpec) -> AssetSpec:
        return spec.replace_attributes(owners=list(owners), group_name=f"{group_prefix}{spec.group_name}")

    return [definition.map_asset_specs(described) for definition in ASSETS]


def _commented(given: dict[str, Any]) -> Iterator[str]:
    """Yield every attribute with its description; those not given are commented out."""
    for name, field in GraphRagComponent.model_fields.items():
        prefix, value = ("", given[name]) if name in given else ("# ", (field.examples or [None])[0])
        yield f"  # {field.description}"
        yield f"  {prefix}{name}: {json.dumps(value)}"
