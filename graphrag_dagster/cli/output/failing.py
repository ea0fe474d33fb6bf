"""Why a run was stopped by its checks."""

from dagster import AssetCheckSeverity, DagsterEventType, DagsterInstance


def failed_checks(instance: DagsterInstance, run_id: str) -> str:
    """What the checks that stopped a run have found, empty where none did."""
    told = []
    found = instance.get_records_for_run(run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION)
    for record in found.records:
        event = record.event_log_entry.dagster_event
        evaluation = event.asset_check_evaluation_data if event else None
        if evaluation is None or evaluation.passed:
            continue
        if evaluation.blocking and evaluation.severity == AssetCheckSeverity.ERROR:
            where = "/".join(evaluation.asset_key.path)
            problems = evaluation.metadata.get("problems")
            told.append(f"{where}, {evaluation.check_name}:\n{problems.value if problems else 'failed'}")
    return "\n".join(told)
