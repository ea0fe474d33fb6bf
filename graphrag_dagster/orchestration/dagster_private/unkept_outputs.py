"""A job run in this process as ``JobDefinition.execute_in_process`` runs it, without keeping what steps give.

Dagster's own keeps every output for whoever asks the result for it. Ours are tables, each written before the
next step begins, so that all tables of a corpus would be in memory at the end of a run.
"""

from collections.abc import Mapping
from typing import Any

from dagster import DagsterInstance, ExecuteInProcessResult, JobDefinition
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.execute_in_process import core_execute_in_process, merge_run_tags


def execute_unkept(
    job: JobDefinition,
    *,
    instance: DagsterInstance,
    partition_key: str,
    run_id: str,
    tags: Mapping[str, str],
    run_config: Mapping[str, Any],
) -> ExecuteInProcessResult:
    """Run a job for a partition, recorded in the instance; the result has the events and no outputs.

    Raises:
        DagsterError: a step failed; or what the step raised.
    """
    alone = job.as_ephemeral_job(resource_defs={}, input_values={})
    return core_execute_in_process(
        job=InMemoryJob(job_def=alone),
        run_config=run_config,
        instance=instance,
        output_capturing_enabled=False,
        raise_on_error=True,
        run_tags=merge_run_tags(
            job_def=job,
            partition_key=partition_key,
            tags=tags,
            asset_selection=(),
            instance=instance,
            run_config=run_config,
        ),
        run_id=run_id,
        asset_selection=frozenset(),
    )
