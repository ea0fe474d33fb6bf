"""The pipeline as definitions: assets, checks, jobs, automation and the resources that they use."""

from collections.abc import Sequence

from dagster import AssetsDefinition, AssetSpec, Definitions, ExecutorDefinition

from graphrag_dagster.assets import ASSETS
from graphrag_dagster.assets.jobs import jobs
from graphrag_dagster.assets.resources import (
    ClusteringStartResource,
    CorpusStoreResource,
    EvaluationScopeResource,
    LanguageResource,
    ListFiltersResource,
    ReplyMemoryResource,
    WarehouseResource,
)
from graphrag_dagster.automation import SCHEDULES, SENSORS
from graphrag_dagster.orchestration.io_manager import WarehouseIOManager
from graphrag_dagster.orchestration.resource_keys import IO_MANAGER, resource_key
from graphrag_dagster.resources.home import Places


def compose(
    places: Places | None = None,
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
    where = places or Places()
    corpora, warehouse = CorpusStoreResource(root=where.corpora), WarehouseResource(path=where.warehouse)
    memory = ReplyMemoryResource(file=where.memory)
    resources = {
        resource_key("corpora"): corpora,
        resource_key("warehouse"): warehouse,
        resource_key("memory"): memory,
        resource_key("clustering"): ClusteringStartResource.configure_at_launch(),
        resource_key("scope"): EvaluationScopeResource.configure_at_launch(),
        resource_key("filters"): ListFiltersResource.configure_at_launch(),
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
