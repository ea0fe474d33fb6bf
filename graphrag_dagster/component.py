"""The pipeline as a component: ``defs.yaml`` adds it to a Dagster project.

Dagster's tools import this in every project whose environment has the package, so the pipeline itself is only
imported to build the definitions.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dagster import (
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

from graphrag_dagster.kernel.storage.home import HomeFolders, cache_location
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


#: Owners of the assets where nobody else is named.
OWNERS = ["team:graphrag"]


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
        description="Limit on the tokens, in and out, of a run; default: none for an index",
        examples=[2000000],
    )
    max_usd: float | None = Field(
        None, ge=0, description="Limit on the cost of a run in US dollars; default: none", examples=[5.0]
    )
    executor: ExecutorName = Field(
        DEFAULT, description="Where the steps of the jobs run", examples=["multiprocess"]
    )
    owners: list[str] = Field(
        OWNERS,
        description="Owners of every asset: e-mail addresses or teams",
        examples=[["team:search", "ada@example.org"]],
    )
    group_prefix: str = Field(
        "", description="Prefix of the name of every asset group", examples=["graphrag_"]
    )

    research: bool = Field(
        False,
        description="Whether evaluation, studies and paths are assets and jobs too; each makes many model "
        "calls",
        examples=[True],
    )
    previews: bool = Field(
        False,
        description="Whether five rows of each table are shown in Dagster; they stay in its history until "
        "graphrag-dagster delete --history",
        examples=[True],
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
            research=self.research,
            previews=self.previews,
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
    owners: Sequence[str] = OWNERS,
    group_prefix: str = "",
    research: bool = False,
    previews: bool = False,
) -> Definitions:
    """Return the definitions of the pipeline, for use alone or merged with others.

    Args:
        places: file locations; default: those of the environment at the time of use.
        max_tokens: default token limit of a run, overridable in its run config; default: no limit.
        max_usd: default cost limit of a run in US dollars, likewise.
        executor: executor of the jobs; default: that of the merged definitions.
        owners: owners of every asset, in Dagster's format.
        group_prefix: prefix of every asset group's name.
        research: whether evaluation, studies and paths are assets and jobs, beside the index.
        previews: whether five rows of each table are recorded in Dagster.
    """
    # Imported here because Dagster loads this module to list its components.
    from graphrag_dagster.assets.step_assets import assets, jobs, of_the_index, shown_steps
    from graphrag_dagster.automation.sensors import SCHEDULES, sensors
    from graphrag_dagster.resources.configurable import all_settings, configured_resources

    where = places or HomeFolders()
    shown = shown_steps(all_settings(where), research=research)

    def described(spec: AssetSpec) -> AssetSpec:
        return spec.replace_attributes(owners=list(owners), group_name=f"{group_prefix}{spec.group_name}")

    return Definitions(
        assets=[one.map_asset_specs(described) for one in assets(shown, previews=previews)],
        jobs=jobs(shown, executor),
        schedules=SCHEDULES,
        sensors=sensors(of_the_index(shown)),
        resources=configured_resources(where, max_tokens=max_tokens, max_usd=max_usd),
    )


def _commented(given: dict[str, Any]) -> Iterator[str]:
    """Yield every attribute with its description; those not given are commented out."""
    for name, field in GraphRagComponent.model_fields.items():
        prefix, value = ("", given[name]) if name in given else ("# ", (field.examples or [None])[0])
        yield f"  # {field.description}"
        yield f"  {prefix}{name}: {json.dumps(value)}"
