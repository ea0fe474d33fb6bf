"""What happens by itself; all of it is switched off until someone switches it on."""

from collections.abc import Sequence

from dagster import (
    AssetSelection,
    AutomationConditionSensorDefinition,
    ScheduleDefinition,
    SensorDefinition,
)

from graphrag_dagster.automation.batches import finished_batches
from graphrag_dagster.automation.folders import corpora_sensor
from graphrag_dagster.automation.schedules import nightly, scheduled_corpora
from graphrag_dagster.orchestration.conditions import ON_REQUEST

outdated_assets = AutomationConditionSensorDefinition(
    "outdated_assets",
    target=AssetSelection.all() - AssetSelection.groups(*ON_REQUEST),
    description="Makes index assets again whose code, prompts or inputs changed, and all that reads them",
    # A run of a corpus makes one state of it; a backfill would make the parts of several in turn.
    emit_backfills=False,
)

SENSORS: Sequence[SensorDefinition] = (
    corpora_sensor,
    scheduled_corpora,
    finished_batches,
    outdated_assets,
)
SCHEDULES: Sequence[ScheduleDefinition] = (nightly,)
