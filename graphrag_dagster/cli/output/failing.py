"""Why a run was stopped by its checks."""

from dagster import DagsterEventType, DagsterInstance, RunsFilter

from graphrag_dagster.orchestration.hooks import PARTITION_TAG


def failed_checks(instance: DagsterInstance, corpus: str) -> str:
    """What the blocking checks that failed in the corpus's last run have found, empty where none did."""
    told = []
    for run in instance.get_runs(RunsFilter(tags={PARTITION_TAG: corpus}), limit=1):
        found = instance.get_records_for_run(run.run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION)
        for record in found.records:
            event = record.event_log_entry.dagster_event
            evaluation = event.asset_check_evaluation_data if event else None
            if evaluation and evaluation.blocking and not evaluation.passed:
                where = "/".join(evaluation.asset_key.path)
                problems = evaluation.metadata.get("problems")
                told.append(f"{where}, {evaluation.check_name}:\n{problems.value if problems else 'failed'}")
    return "\n".join(told)
