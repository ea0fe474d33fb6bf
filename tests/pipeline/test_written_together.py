"""Tables of one step are written at once, and told as each of its own would be."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster import tables
from graphrag_dagster.composition import compose
from graphrag_dagster.orchestration.declare import output, timed
from graphrag_dagster.orchestration.partitions import CORPUS
from graphrag_dagster.orchestration.resource_keys import resource_key, takes_resources
from graphrag_dagster.orchestration.written_together import written_together
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import DOCUMENT_METADATA, DOCUMENT_PERIODS
from support.corpora import write_corpus

_TABLES = (DOCUMENT_METADATA, DOCUMENT_PERIODS)


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    write_corpus(home / "corpora", "coast")
    Warehouse().write(tables.DOCUMENTS, "coast", tables.DOCUMENTS.empty())
    with dg.DagsterInstance.ephemeral() as made:
        made.add_dynamic_partitions(CORPUS.name or "", ["coast"])
        yield made


def run(instance: dg.DagsterInstance, second: pl.DataFrame | Exception) -> dg.ExecuteInProcessResult:
    def said() -> Iterator[dg.Output[pl.DataFrame]]:
        yield output(DOCUMENT_METADATA, DOCUMENT_METADATA.empty(), dated=3)
        assert not Warehouse().exists(DOCUMENT_METADATA, "coast")
        if isinstance(second, Exception):
            raise second
        yield output(DOCUMENT_PERIODS, second)

    outs = {
        table.name: dg.AssetOut(key=table.asset_key, io_manager_key=resource_key("io_manager"))
        for table in _TABLES
    }
    several = dg.multi_asset(outs=outs, partitions_def=CORPUS)(
        takes_resources(timed(written_together(said, *_TABLES), *_TABLES))
    )
    return dg.materialize(
        [several],
        partition_key="coast",
        resources=compose().resources or {},
        instance=instance,
        raise_on_error=False,
    )


def made(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    events = result.get_asset_materialization_events()
    return {one.asset_key.path[-1]: one.materialization for one in events if one.asset_key}


def test_both_tables_are_there_with_what_is_told_of_them(instance: dg.DagsterInstance) -> None:
    result = run(instance, DOCUMENT_PERIODS.empty())
    assert result.success
    told = made(result)
    assert list(told) == ["document_metadata", "document_periods"]
    metadata = told["document_metadata"].metadata
    assert {"dagster/partition_row_count", "dagster/uri", "sample", "dated", "seconds"} <= set(metadata)
    assert (told["document_metadata"].tags or {})["dagster/data_version"]
    for table in _TABLES:
        assert Warehouse().read(table, "coast").is_empty()


def test_what_came_before_a_failure_is_written_and_told(instance: dg.DagsterInstance) -> None:
    result = run(instance, ValueError("no periods"))
    assert not result.success
    assert list(made(result)) == ["document_metadata"]
    assert Warehouse().exists(DOCUMENT_METADATA, "coast")
    assert not Warehouse().exists(DOCUMENT_PERIODS, "coast")


def test_of_frames_that_do_not_fit_none_is_written(instance: dg.DagsterInstance) -> None:
    result = run(instance, tables.DOCUMENTS.empty())
    assert not result.success
    assert not made(result)
    assert not Warehouse().exists(DOCUMENT_METADATA, "coast")
