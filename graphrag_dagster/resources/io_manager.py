"""Frames between assets: written to and read from the corpus's DuckDB file."""

import polars as pl
from dagster import ConfigurableIOManager, InputContext, OutputContext, ResourceDependency

from graphrag_dagster import tables
from graphrag_dagster.resources.warehouse import Warehouse


class WarehouseIOManager(ConfigurableIOManager):
    """Asset key ``[schema, table]`` and partition key = corpus decide where a frame goes."""

    warehouse: ResourceDependency[Warehouse]

    def handle_output(self, context: OutputContext, obj: pl.DataFrame) -> None:
        """Validate and write the frame."""
        table = tables.table(".".join(context.asset_key.path))
        self.warehouse.write(table, context.partition_key, obj)
        context.add_output_metadata({"file": str(self.warehouse.file(context.partition_key))})

    def load_input(self, context: InputContext) -> pl.DataFrame:
        """Read the frame of the upstream asset for the run's corpus."""
        table = tables.table(".".join(context.asset_key.path))
        return self.warehouse.read(table, context.partition_key)
