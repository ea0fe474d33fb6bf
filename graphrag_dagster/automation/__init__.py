"""What happens by itself; all of it is switched off until someone switches it on."""

from collections.abc import Sequence

from dagster import (
    AutomationConditionSensorDefinition,
    ScheduleDefinition,
    SensorDefinition,
)

from graphrag_dagster.assets.jobs import of_the_index
from graphrag_dagster.automation.batches import finished_batches
from graphrag_dagster.automation.folders import corpora_sensor
from graphrag_dagster.automation.schedules import nightly, scheduled_corpora

outdated_assets = AutomationConditionSensorDefinition(
    "outdated_assets",
    target=of_the_index(),
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
