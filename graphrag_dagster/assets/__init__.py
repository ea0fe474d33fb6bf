"""The assets: each step of the pipeline as Dagster has it."""

from collections.abc import Sequence

from dagster import AssetsDefinition

from graphrag_dagster.assets.building import assets_of
from graphrag_dagster.kernel.pipeline.steps import INDEX_STEPS, STEPS, groups

_GROUPS = groups()

ASSETS: Sequence[AssetsDefinition] = tuple(
    assets_of(step, _GROUPS[step.name], automatic=step in INDEX_STEPS) for step in STEPS
)
