"""A Dagster job run for a corpus in this process."""

import time
import uuid
from collections.abc import Mapping

from dagster import (
    AssetCheckSeverity,
    DagsterError,
    DagsterEventType,
    DagsterInstance,
    ExecuteInProcessResult,
)

from graphrag_dagster.assets.step_execution import problems_of
from graphrag_dagster.assets.step_hooks import RETRIES_TAG
from graphrag_dagster.cli.progress_bars import watching
from graphrag_dagster.cli.result import say
from graphrag_dagster.cli.run_budget import RunBudget, RunOutcome
from graphrag_dagster.cli.run_summary import usage_rows, usage_table
from graphrag_dagster.component import compose
from graphrag_dagster.errors import GraphragError, WarehouseError
from graphrag_dagster.kernel.common.printable import printable
from graphrag_dagster.kernel.pipeline.garbage_collection import collect_only_new_objects
from graphrag_dagster.kernel.storage.duckdb_access import keep_open
from graphrag_dagster.kernel.storage.home import PREVIEWS, is_on
from graphrag_dagster.resources.dagster_instance import instance, marked_as_running
from graphrag_dagster.resources.dagster_keys import CORPUS, resource_key

_INDEXING, _MOST_PROBLEMS = ("index", "embed"), 20
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

ResourceConfig = Mapping[str, Mapping[str, object]]


def run_watched(
    name: str,
    job: str,
    budget: RunBudget | None = None,
    *,
    resources: ResourceConfig | None = None,
) -> RunOutcome:
    """Run a job for a corpus and show its progress; where it fails, say what it has used by then.

    Raises:
        GraphragError: a step failed for a reason the user can fix.
    """
    run_id, begin = str(uuid.uuid4()), time.monotonic()
    try:
        with watching():
            run_job(name, job, run_id=run_id, budget=budget, resources=resources)
    except GraphragError:
        for part in usage_table(usage_rows(name, run_id)):
            say(part)
        raise
    return RunOutcome(run_id, time.monotonic() - begin)


def run_job(
    name: str,
    job: str = "index",
    *,
    run_id: str | None = None,
    budget: RunBudget | None = None,
    resources: ResourceConfig | None = None,
) -> ExecuteInProcessResult:
    """Run a job for a corpus in this process, recorded in the instance.

    Raises:
        GraphragError: a step failed for a reason the user can fix.
        OSError: the system refused a step something.
    """
    run_id = run_id or str(uuid.uuid4())
    config = {"language": (budget or RunBudget()).config(), **(resources or {})}
    definitions = compose(research=job not in _INDEXING, previews=is_on(PREVIEWS))
    resolved = definitions.resolve_job_def(job)
    with (
        instance(running=True) as dagster_instance,
        marked_as_running(name),
        keep_open(),
        collect_only_new_objects(),
    ):
        dagster_instance.add_dynamic_partitions(str(CORPUS.name), [name])
        try:
            return resolved.execute_in_process(
                partition_key=name,
                instance=dagster_instance,
                run_id=run_id,
                tags={RETRIES_TAG: "0"},
                run_config={
                    **_QUIET,
                    "resources": {
                        resource_key(name): {"config": dict(given)} for name, given in config.items()
                    },
                },
            )
        except DagsterError as error:
            if mendable := _user_error(error):
                raise mendable from error
            if failed := failed_checks(dagster_instance, run_id, name):
                raise WarehouseError(failed) from error
            raise


def _user_error(error: BaseException) -> GraphragError | OSError | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GraphragError | OSError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def failed_checks(instance: DagsterInstance, run_id: str, name: str) -> str:
    """What the checks that stopped a run have found, empty where none did.

    Dagster is not told what may quote the corpus, so it is read again.
    """
    text = []
    found = instance.get_records_for_run(run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION)
    for record in found.records:
        event = record.event_log_entry.dagster_event
        evaluation = event.asset_check_evaluation_data if event else None
        if evaluation is None or evaluation.passed:
            continue
        if evaluation.blocking and evaluation.severity == AssetCheckSeverity.ERROR:
            problems = problems_of(evaluation.asset_key, name)
            shown = "\n".join(f"- {printable(problem)}" for problem in problems[:_MOST_PROBLEMS])
            text.append(
                f"{evaluation.asset_key.to_user_string()}, {evaluation.check_name}:\n{shown or 'failed'}"
            )
    return "\n".join(text)
