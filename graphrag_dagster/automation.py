"""What happens by itself."""

from collections.abc import Sequence

from dagster import (
    DefaultSensorStatus,
    RunRequest,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.jobs import INDEX
from graphrag_dagster.partitions import CORPUS
from graphrag_dagster.resources.batch_refresh import finished
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.home import memory_file
from graphrag_dagster.resources.memory.database import database_at


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


@sensor(
    job=INDEX,
    minimum_interval_seconds=60,
    default_status=DefaultSensorStatus.STOPPED,
    description="Collects finished batches of the model provider and lets the index of their corpora go on",
)
def finished_batches(context: SensorEvaluationContext) -> SensorResult:
    """Request a run for every corpus that waits for no batch any more."""
    corpora, problems = finished(database_at(memory_file()))
    for problem in problems:
        context.log.warning(problem)
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    requests = [
        RunRequest(run_key=f"batch-{stable_id(*ids)}", partition_key=name)
        for name, ids in corpora.items()
        if name in known
    ]
    return SensorResult(
        run_requests=requests, skip_reason=None if requests else "no corpus can go on after a batch"
    )


SENSORS = [new_corpora, finished_batches]
