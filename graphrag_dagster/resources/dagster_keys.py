"""Dagster's corpus partitions, asset keys, resource keys and automation conditions.

Our keys have a prefix, because a project that includes these definitions may have its own ``io_manager`` or
``warehouse``.
"""

from datetime import timedelta
from functools import cache

from dagster import AssetKey, AutomationCondition, DynamicPartitionsDefinition, FreshnessPolicy

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table

CORPUS = DynamicPartitionsDefinition(name="corpus")


_OURS = "graphrag_"


def resource_key(name: str) -> str:
    """Return the prefixed key of a resource."""
    return _OURS + name


IO_MANAGER = resource_key("io_manager")


#: Tags of a run that was requested with all downstream index assets, whether or not it made them. Dagster
#: cannot tell this for whole jobs.
WITH_ALL_BELOW = {"graphrag/asked_for": "all below"}


#: Group of each stage that is no group of its own.
_GROUPS = {
    "resolution": "graph",
    "layout": "communities",
    "context": "communities",
    "entity_embeddings": "embeddings",
    "marts": "serving",
    "questions": "evaluation",
    "answers": "evaluation",
    "paths": "studies",
}
#: Last names of the assets of tables that share theirs with another, or say too little alone.
_NAMES = {
    "imports.files": "imported_files",
    "imports.entities": "imported_entities",
    "imports.relations": "imported_relations",
    "extraction.claims": "gleaned_claims",
    "embeddings.text_units": "text_unit_embeddings",
    "embeddings.entities": "entity_embeddings",
    "embeddings.community_reports": "report_embeddings",
    "coterag.communities": "coterag_communities",
    "paths.questions": "path_questions",
    "paths.answers": "path_answers",
    "paths.summary": "path_summary",
    "paths.study": "path_study",
}


def asset_key(made: Table | str) -> AssetKey:
    """Return the key of an asset: its group, and a name that no other asset has.

    Args:
        made: the table, or the artifact of a step, ``stage/name``.
    """
    if isinstance(made, Table):
        return AssetKey([_GROUPS.get(made.group, made.group), _NAMES.get(made.full_name, made.name)])
    stage, name = made.split("/")
    return AssetKey([_GROUPS.get(stage, stage), name])


@cache
def table_of(key: AssetKey) -> Table:
    """Return the table of an asset.

    Raises:
        WarehouseError: none of ours has that key.
    """
    table = next((table for table in all_tables() if asset_key(table) == key), None)
    if table is None:
        raise WarehouseError(f"no table is the asset {key.to_user_string()!r}; see the catalogue of assets")
    return table


#: Some corpus should be published every other day. Dagster considers the latest materialisation of an asset,
#: of any corpus.
FRESH = FreshnessPolicy.time_window(fail_window=timedelta(days=7), warn_window=timedelta(days=2))


def _outdated() -> AutomationCondition[AssetKey]:
    """Return the condition under which an index asset is made again, per corpus.

    It is missing, its code or prompts have changed, or the content of one of its inputs has. Everything
    downstream in the index is requested in the same run, so that the snapshot is published once, from one
    state. ``AutomationCondition.eager`` would react to every new materialisation, changed or not, and never
    to code.
    """
    condition = AutomationCondition
    # A run that made both has already handled the change.
    together = condition.executed_with_root_target() | condition.executed_with_tags(tag_values=WITH_ALL_BELOW)
    elsewhere = condition.data_version_changed() & ~together
    reads_news = condition.any_deps_match(
        elsewhere.with_label("changed_in_another_run") | condition.will_be_requested()
    )
    unready = condition.any_deps_match(condition.missing() & ~condition.will_be_requested())
    handled = condition.newly_requested() | condition.initial_evaluation()
    missing = condition.newly_missing().since(handled | condition.newly_updated())
    # A materialisation does not reset this: an input may have changed after it and before this tick.
    changed = (condition.code_version_changed() | reads_news).since(handled)
    return (
        (missing | changed)
        & ~unready.with_label("reads_what_is_missing")
        & ~condition.any_deps_match(condition.in_progress())
        & ~condition.in_progress()
    ).with_label("outdated")


OUTDATED = _outdated()
