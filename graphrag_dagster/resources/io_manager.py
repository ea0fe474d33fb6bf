"""Stores frames of assets in the corpus's DuckDB file."""

from collections.abc import Mapping
from typing import get_origin

import polars as pl
from dagster import ConfigurableIOManager, DataVersion, InputContext, OutputContext, ResourceDependency

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.pipeline.result_display import stored_at
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.resources.dagster_keys import table_of


class WarehouseIOManager(ConfigurableIOManager):
    """Maps the key of an asset and the partition key (the corpus) to a table."""

    warehouse: ResourceDependency[Warehouse]

    def handle_output(self, context: OutputContext, obj: pl.DataFrame) -> None:
        """Validate and write the frame."""
        corpus = context.partition_key
        self.warehouse.write(table_of(context.asset_key), corpus, obj)
        context.add_output_metadata(stored_at(self.warehouse.file(corpus)))

    def load_input(self, context: InputContext) -> pl.DataFrame | dict[str, pl.DataFrame]:
        """Read the frame of the upstream asset for one corpus, or the frames of several by corpus name.

        The annotation of the input decides which.

        Raises:
            WarehouseError: the table was not made for a corpus, or a single frame is requested for several
                corpora.
        """
        table, corpora = table_of(context.asset_key), context.asset_partition_keys
        annotation = context.dagster_type.typing_type
        kind = get_origin(annotation) or annotation
        if isinstance(kind, type) and issubclass(kind, Mapping):
            return {corpus: self.warehouse.read(table, corpus) for corpus in corpora}
        if len(corpora) != 1:
            raise WarehouseError(
                f"{table.full_name} is read for {len(corpora)} corpora as one frame; annotate the input with "
                "dict[str, polars.DataFrame] to get one frame per corpus, or map its partitions to one "
                "corpus"
            )
        return self.warehouse.read(table, corpora[0])


def data_version(table: Table, frame: pl.DataFrame) -> DataVersion:
    """Return a hash of a frame's content that is independent of the order of rows and columns."""
    # Imported here because it loads PyArrow.
    from graphrag_dagster.kernel.storage.content_hash import frame_hash

    return DataVersion(frame_hash(table, frame)[:32])
