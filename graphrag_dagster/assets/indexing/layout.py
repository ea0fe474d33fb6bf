"""Where each entity of the merged graph is drawn."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.orchestration.declare import ins_of, output, table_assets
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.clustering import ClusteringStart
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import COMMUNITY_MEMBERS, ENTITIES, LAYOUT, LAYOUT_STATE, RELATIONSHIPS


@table_assets(
    (LAYOUT, LAYOUT_STATE),
    ins=ins_of(ENTITIES, RELATIONSHIPS, COMMUNITY_MEMBERS),
)
def layout(
    context: AssetExecutionContext,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    community_members: pl.DataFrame,
    corpora: CorpusStore,
    warehouse: Warehouse,
    clustering: ClusteringStart,
) -> Iterator[Output[pl.DataFrame]]:
    """Positions by forces, begun from those before, so that entities stay where they can."""
    from graphrag_dagster.core.graph.layout.arranging import arrange, previous_layout

    with warehouse.reading(context.partition_key) as reader:
        before = [reader.read_if_present(table) for table in (LAYOUT, LAYOUT_STATE)]
    made, begun = arrange(
        entities,
        relationships,
        community_members,
        previous_layout(*before),
        start=clustering.of(corpora.settings(context.partition_key).communities),
        code=code_version("layout"),
    )
    yield output(LAYOUT, made.places, begun=begun.how, why=begun.why)
    yield output(LAYOUT_STATE, made.state)
