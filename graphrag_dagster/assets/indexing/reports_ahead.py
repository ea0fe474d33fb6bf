"""Reports, and the vectors of entities, begun when the step of the communities has ended well."""

from functools import partial
from typing import TYPE_CHECKING

from dagster import HookContext, success_hook

from graphrag_dagster.assets.indexing.reports import reports
from graphrag_dagster.core.waiting import wait_for_a_call
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.operations.keeping.begun_reports import begin_reports
from graphrag_dagster.operations.keeping.embedding_ahead import begin_embedding, embedding_user
from graphrag_dagster.orchestration.declare import key_of
from graphrag_dagster.orchestration.hooks import PARTITION_TAG
from graphrag_dagster.orchestration.resource_keys import resource_key
from graphrag_dagster.tables import ENTITIES, ENTITY_EMBEDDINGS, WRITTEN_REPORTS

if TYPE_CHECKING:
    from graphrag_dagster.resources.language import Language
    from graphrag_dagster.resources.warehouse import Warehouse

#: Seconds for which the first report is waited for at most.
_PATIENCE = 5.0
_LANGUAGE, _WAREHOUSE = resource_key("language"), resource_key("warehouse")


@success_hook(name="begin_reports", required_resource_keys={_LANGUAGE, _WAREHOUSE})
def begin_reports_ahead(context: HookContext) -> None:
    """Begin the reports, which the steps up to theirs do not wait for, and the vectors of entities.

    These could be begun as soon as there are entities, but would take the processor from what the first
    report waits for.
    """
    run = context.instance.get_run_by_id(context.run_id)
    if run is None:
        return
    corpus = run.tags[PARTITION_TAG]
    language: Language = getattr(context.resources, _LANGUAGE)
    warehouse: Warehouse = getattr(context.resources, _WAREHOUSE)
    code = reports.code_versions_by_key[key_of(WRITTEN_REPORTS)] or ""
    written = begin_reports(language, warehouse, corpus, context.run_id, code)
    user = User(corpus, embedding_user(ENTITY_EMBEDDINGS), context.run_id)
    session = language.session_of(language.corpora.settings(corpus), user)
    if session.embeds_ahead:
        rows, patience = warehouse.read(ENTITIES, corpus), _PATIENCE if written else 0.0
        after = partial(wait_for_a_call, patience)
        begin_embedding(session, warehouse, corpus, ENTITY_EMBEDDINGS, rows, after)
