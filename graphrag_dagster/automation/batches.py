"""Batches of a model provider: their corpora go on when they are done."""

from dagster import (
    DefaultSensorStatus,
    ResourceParam,
    RunRequest,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from graphrag_dagster.assets.jobs import INDEX
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.pipeline.orchestration.partitions import CORPUS
from graphrag_dagster.kernel.storage.llm_cache import ReplyMemory


@sensor(
    job_name=INDEX,
    minimum_interval_seconds=60,
    default_status=DefaultSensorStatus.STOPPED,
    description="Collects finished batches of the model provider and lets the index of their corpora go on",
)
def finished_batches(
    context: SensorEvaluationContext, graphrag_memory: ResourceParam[ReplyMemory]
) -> SensorResult:
    """Request a run for every corpus that waits for no batch any more."""
    # Needed each time that this looks for batches, and not by a run.
    from graphrag_dagster.kernel.models.batches.batch_refresh import finished
    from graphrag_dagster.kernel.storage.corpora import models_of

    corpora, problems = finished(graphrag_memory.database(), models_of)
    for problem in problems:
        context.log.warning(problem)
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    requests = [
        RunRequest(run_key=f"batch-{stable_id(*ids)}", partition_key=name)
        for name, ids in corpora.items()
        if name in known
    ]
    return SensorResult(
        run_requests=requests, skip_reason=None if requests else "no corpus is waiting for a finished batch"
    )
