"""Reports begun when the step of the communities has ended well."""

from dagster import HookContext, success_hook

from graphrag_dagster.assets.indexing.reports import reports
from graphrag_dagster.operations.keeping.begun_reports import begin_reports
from graphrag_dagster.orchestration.declare import key_of
from graphrag_dagster.orchestration.hooks import PARTITION_TAG
from graphrag_dagster.orchestration.resource_keys import resource_key
from graphrag_dagster.tables import WRITTEN_REPORTS

_LANGUAGE, _WAREHOUSE = resource_key("language"), resource_key("warehouse")


@success_hook(name="begin_reports", required_resource_keys={_LANGUAGE, _WAREHOUSE})
def begin_reports_ahead(context: HookContext) -> None:
    """Begin the reports, which the steps up to theirs do not wait for."""
    run = context.instance.get_run_by_id(context.run_id)
    if run is None:
        return
    begin_reports(
        getattr(context.resources, _LANGUAGE),
        getattr(context.resources, _WAREHOUSE),
        run.tags[PARTITION_TAG],
        context.run_id,
        reports.code_versions_by_key[key_of(WRITTEN_REPORTS)] or "",
    )
