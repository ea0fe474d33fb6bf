"""The examples of the page on existing projects, as they are printed there."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import polars as pl
import pytest

from graphrag_dagster.component import compose
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.home import HomeFolders
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.published.snapshot_manifest import folder_of
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.configurable import SnapshotsResource, WarehouseResource
from graphrag_dagster.resources.dagster_keys import CORPUS
from support.homes import copy_home

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "downstream-assets.md"


def printed() -> Mapping[str, Any]:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(re.sub(r"\bharbour\b", "coast", block), names)  # noqa: S102 - it is our page.
    return names


def run(indexed: Path, asset: dg.AssetsDefinition, **options: Any) -> dg.ExecuteInProcessResult:
    defs = dg.Definitions.merge(compose(HomeFolders.below(indexed)), dg.Definitions(assets=[asset]))
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={asset.key})
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(str(CORPUS.name), ["coast"])
        return job.execute_in_process(instance=instance, **options)


def test_an_asset_without_partitions_reads_all_corpora(indexed_home: Path, home: Path) -> None:
    made = run(indexed_home, printed()["people"]).output_for_node("people")
    assert {"Hanna Quill", "Orrin Vask"} <= set(made)


def test_an_asset_with_other_partitions_reads_one_corpus(indexed_home: Path, home: Path) -> None:
    made = run(indexed_home, printed()["most_mentioned"], partition_key="2026-02-01")
    assert made.output_for_node("most_mentioned") == "Skerry Point"


def test_an_asset_asks_what_is_published(indexed_home: Path, home: Path) -> None:
    made = run(indexed_home, printed()["briefing"])
    assert len(made.output_for_node("briefing")) > 20


def test_an_asset_queries_what_is_published(indexed_home: Path, home: Path) -> None:
    made = run(indexed_home, printed()["highest_rated"]).output_for_node("highest_rated")
    assert len(made) == len(set(made)) == 3


def test_a_connection_reads_all_corpora_and_writes_none(indexed_home: Path, tmp_path: Path) -> None:
    home = copy_home(indexed_home, tmp_path)
    resource = SnapshotsResource(warehouse=WarehouseResource(path=HomeFolders.below(home).warehouse))
    with resource.get_connection() as connection:
        rows = connection.execute("select distinct corpus from coast.graph.entities").fetchall()
        assert rows == [("coast",)]
        connection.execute("create table found as select title from coast.graph.entities")
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("delete from coast.graph.entities")
    with pytest.raises(duckdb.Error, match="closed"):
        connection.execute("select 1")
    with pytest.raises(ZeroDivisionError), resource.get_connection() as connection:
        raise ZeroDivisionError
    with pytest.raises(duckdb.Error, match="closed"):
        connection.execute("select 1")


def test_a_corpus_that_is_not_published_is_not_attached(tmp_path: Path) -> None:
    (tmp_path / "new.duckdb").touch()
    with SnapshotsResource(
        warehouse=WarehouseResource(path=str(tmp_path / "{corpus}.duckdb"))
    ).get_connection() as connection:
        names = connection.execute(
            "select database_name from duckdb_databases() where not internal"
        ).fetchall()
    assert names == [("memory",)]


def test_corpora_whose_names_differ_in_case_are_refused(indexed_home: Path, tmp_path: Path) -> None:
    home = copy_home(indexed_home, tmp_path)
    warehouse = WarehouseResource(path=HomeFolders.below(home).warehouse)
    shutil.copy(warehouse.file("coast"), warehouse.file("Coast"))
    shutil.copytree(folder_of(warehouse, "coast"), folder_of(warehouse, "Coast"))
    with (
        pytest.raises(WarehouseError, match="'Coast' and 'coast' .* differ in case alone"),
        SnapshotsResource(warehouse=warehouse).get_connection(),
    ):
        pass


def test_an_asset_with_our_partitions_reads_its_own_corpus(indexed_home: Path, home: Path) -> None:
    @dg.asset(partitions_def=CORPUS, ins={"entities": dg.AssetIn(["graph", "entities"])})
    def counted(entities: pl.DataFrame) -> int:
        return entities.height

    assert run(indexed_home, counted, partition_key="coast").output_for_node("counted") > 5


def test_several_corpora_are_not_read_as_one_frame(indexed_home: Path, home: Path) -> None:
    @dg.asset(ins={"entities": dg.AssetIn(["graph", "entities"])})
    def counted(entities: pl.DataFrame) -> int:
        return entities.height

    defs = dg.Definitions.merge(compose(HomeFolders.below(indexed_home)), dg.Definitions(assets=[counted]))
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection={counted.key})
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(str(CORPUS.name), ["coast", "shore"])
        with pytest.raises(WarehouseError, match=r"2 corpora .* dict\[str, polars.DataFrame\]"):
            job.execute_in_process(instance=instance)


def test_a_connection_fetches_only_what_is_named(
    indexed_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    (tmp_path / "shared").mkdir()
    url, home = (tmp_path / "shared").as_uri(), copy_home(indexed_home, tmp_path)
    indexing = Warehouse(path=HomeFolders.below(home).warehouse, published=url)
    shutil.copy(indexing.file("coast"), indexing.file("moor"))
    with duckdb.connect(str(indexing.file("moor"))) as connection:
        for schema, name in connection.execute(
            "select schema_name, table_name from duckdb_tables()"
        ).fetchall():
            if (schema, name) != ("meta", "format"):
                connection.execute(f'update "{schema}"."{name}" set corpus = \'moor\'')
    for name in ("coast", "moor"):
        publish(indexing, name)
    reader = WarehouseResource(path=str(tmp_path / "reader" / "{corpus}.duckdb"), published=url)
    resource = SnapshotsResource(warehouse=reader)
    for named, fetched in ((("coast",), ["coast"]), ((), ["coast", "moor"])):
        with resource.get_connection(*named) as connection:
            names = connection.execute(
                "select database_name from duckdb_databases() where not internal"
            ).fetchall()
        assert {name for (name,) in names} == {*fetched, "memory"}
        assert sorted(one.parent.name for one in tmp_path.glob("reader/published/*/current.json")) == fetched
