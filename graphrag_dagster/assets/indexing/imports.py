"""Graphs that come from elsewhere, row by row."""

from collections.abc import Iterator

from dagster import AssetExecutionContext, DataVersion, MaterializeResult

from graphrag_dagster.operations.importing.resolved import QUERIES
from graphrag_dagster.operations.keeping.removals import check_removals
from graphrag_dagster.orchestration.declare import describe, key_of, table_assets
from graphrag_dagster.orchestration.io_manager import stored_at
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse


@table_assets(tuple(QUERIES))
def imports(
    context: AssetExecutionContext, corpora: CorpusStore, warehouse: Warehouse
) -> Iterator[MaterializeResult[None]]:
    """What the files of graphs hold, and what became of each row."""
    # Readers of graphs are many, and corpora of documents need none.
    from graphrag_dagster.operations.importing.taking_in import take_in

    corpus = context.partition_key
    check_removals(corpora, warehouse, corpus)
    for table, written in take_in(corpora, warehouse, corpus).items():
        yield MaterializeResult(
            asset_key=key_of(table),
            metadata={
                **describe(written.sample, written.rows),
                **stored_at(warehouse.file(corpus)),
            },
            data_version=DataVersion(written.version),
        )
