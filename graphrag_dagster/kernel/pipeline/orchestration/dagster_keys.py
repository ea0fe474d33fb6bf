"""Dagster's partition by corpus, resource keys, and automation conditions.

A project that includes these definitions may have its own ``io_manager`` or ``warehouse``, so our keys have a
prefix.
"""

from datetime import timedelta

from dagster import AssetKey, AutomationCondition, DynamicPartitionsDefinition, FreshnessPolicy

CORPUS = DynamicPartitionsDefinition(name="corpus")


_OURS = "graphrag_"


def resource_key(name: str) -> str:
    """The key of the resource that functions here call by a name."""
    return _OURS + name


IO_MANAGER = resource_key("io_manager")


#: Tags of a run that was asked for all index assets that read what it makes, whether or not it made them;
#: of a whole job Dagster cannot tell.
WITH_ALL_BELOW = {"graphrag/asked_for": "all below"}


#: Some corpus should be published every other day. Dagster judges an asset by its youngest materialisation,
#: whichever corpus that was of.
FRESH = FreshnessPolicy.time_window(fail_window=timedelta(days=7), warn_window=timedelta(days=2))


def _outdated() -> AutomationCondition[AssetKey]:
    """Conditions that an index asset waits for, per corpus.

    It is missing, its code (or a prompt of it) has changed, or the content of something it reads has. All
    that lies below in the index is requested with it, in one run: the published snapshot is then made once,
    from one state. ``AutomationCondition.eager`` would act on every new materialisation, changed or not, and
    never on code.
    """
    condition = AutomationCondition
    # A run that made both has already taken the change into account.
    together = condition.executed_with_root_target() | condition.executed_with_tags(tag_values=WITH_ALL_BELOW)
    elsewhere = condition.data_version_changed() & ~together
    reads_news = condition.any_deps_match(
        elsewhere.with_label("changed_in_another_run") | condition.will_be_requested()
    )
    unready = condition.any_deps_match(condition.missing() & ~condition.will_be_requested())
    handled = condition.newly_requested() | condition.initial_evaluation()
    missing = condition.newly_missing().since(handled | condition.newly_updated())
    # Being made does not settle this: what is read may have changed after that and before this look.
    changed = (condition.code_version_changed() | reads_news).since(handled)
    return (
        (missing | changed)
        & ~unready.with_label("reads_what_is_missing")
        & ~condition.any_deps_match(condition.in_progress())
        & ~condition.in_progress()
    ).with_label("outdated")


OUTDATED = _outdated()
