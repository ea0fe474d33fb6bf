"""Dagster's corpus partitions, asset keys, resource keys and tags of runs.

Our keys have a prefix, because a project that includes these definitions may have its own ``io_manager`` or
``warehouse``.
"""

from functools import cache

from dagster import AssetKey, DynamicPartitionsDefinition

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table

CORPUS = DynamicPartitionsDefinition(name="corpus")
#: Tag of a run of one partition.
PARTITION_TAG = "dagster/partition"

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
