"""What happens by itself."""

from collections.abc import Sequence

from dagster import (
    DefaultSensorStatus,
    RunRequest,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from graphrag_dagster.jobs import INDEX
from graphrag_dagster.partitions import CORPUS
from graphrag_dagster.resources.corpora import CorpusStore


def _index_requests(names: Sequence[str]) -> list[RunRequest]:
    return [RunRequest(run_key=f"new-corpus-{name}", partition_key=name) for name in names]


@sensor(
    job=INDEX,
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.STOPPED,
    description="Adds a partition for every new corpus folder and requests its index",
)
def new_corpora(context: SensorEvaluationContext, corpora: CorpusStore) -> SensorResult:
    """Compare the folders below the corpora root with the partitions there are."""
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    new = [name for name in corpora.names() if name not in known]
    return SensorResult(
        run_requests=_index_requests(new),
        dynamic_partitions_requests=[CORPUS.build_add_request(new)] if new else [],
        skip_reason=None if new else "no new corpus folder",
    )


SENSORS = [new_corpora]
