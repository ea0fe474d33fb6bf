"""The assets: each stage of the pipeline as Dagster has it."""

from collections.abc import Sequence

from dagster import AssetsDefinition

from graphrag_dagster.assets.building import assets_of
from graphrag_dagster.pipeline.stages import INDEX_STAGES, STAGES, groups

_GROUPS = groups()

ASSETS: Sequence[AssetsDefinition] = tuple(
    assets_of(stage, _GROUPS[stage.name], automatic=stage in INDEX_STAGES) for stage in STAGES
)
