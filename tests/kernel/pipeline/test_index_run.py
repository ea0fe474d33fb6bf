import os
import random
import subprocess
import sys
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.definitions import defs
from graphrag_dagster.errors import GraphragError, SettingsError
from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.pipeline.steps import SNAPSHOT, STEPS
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.resources.dagster_keys import asset_key
from support.corpora import DOCUMENTS, write_corpus
from support.disks import files_of_at_most
from support.tables_of import contents


@pytest.fixture
def indexed(coast: Path, home: Path) -> Path:
    return home


def test_a_run_holds_no_table_when_it_has_ended(indexed: Path) -> None:
    result = run_job("coast")
    assert result.success
    for table in (tables.TEXT_CHUNKS, tables.TEXT_UNIT_EMBEDDINGS):
        assert not isinstance(result.asset_value(asset_key(table)), pl.DataFrame)


#: The assets of documents without options: what no corpus makes has none.
SHOWN = [
    table
    for step in STEPS
    if not step.requested and step.name not in {"imports", "context_nodes", "coterag"}
    for table in step.assets
]


def test_definitions_hold_every_asset_with_its_check() -> None:
    graph = defs.resolve_asset_graph()
    shown = {asset_key(table) for table in SHOWN}
    assert graph.get_all_asset_keys() == shown | {asset_key(SNAPSHOT)}
    for key in graph.get_all_asset_keys():
        assert graph.get(key).partitions_def is not None
        assert graph.get(key).code_version
    assert {(key.name, key.asset_key) for key in graph.asset_check_keys} == {("valid", key) for key in shown}
    dg.Definitions.validate_loadable(defs)


def test_a_run_makes_every_table_and_every_check_passes(indexed: Path) -> None:
    warehouse = Warehouse()
    rows = {name: len(found) for name, found in contents(warehouse, "coast").items()}
    optional = {
        "corpus.document_metadata",
        "extraction.claims",
        "staging.claim_groups",
        "graph.claims",
        "extraction.quarantine",
        "extraction.typings",
        "resolution.decisions",
    }
    for table in all_tables():
        stage = stages()[table.group]
        if stage.switch or "documents" not in stage.kinds:
            optional.add(table.full_name)
    assert not [name for name, count in rows.items() if not count and name not in optional]
    names = set(warehouse.read(tables.ENTITIES, "coast")["name"])
    assert {"ORRIN VASK", "TALLOW MARINE", "BRINEFIELD SHIPPING", "ILSE MARO", "WAVECREST ENERGY"} <= names
    with dg.DagsterInstance.from_config(str(indexed / ".dagster_home")) as instance:
        (run,) = instance.get_runs()
        evaluations = [
            record.event_log_entry.dagster_event.asset_check_evaluation_data
            for record in instance.get_records_for_run(
                run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION
            ).records
        ]
        made = [
            record.event_log_entry.asset_materialization.metadata
            for record in instance.get_records_for_run(
                run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION
            ).records
        ]
    assert len(made) == len(SHOWN) + 1
    shown = [metadata for metadata in made if "version" not in metadata]
    assert all({"dagster/partition_row_count", "dagster/uri", "seconds"} <= one.keys() for one in shown)
    assert not any(isinstance(value, dg.TableMetadataValue) for one in shown for value in one.values())
    (snapshot,) = (metadata for metadata in made if "version" in metadata)
    assert snapshot["explorer"].url == "http://127.0.0.1:8000/#/coast"
    assert [one.check_name for one in evaluations] == ["valid"] * len(SHOWN)
    assert all(evaluation.passed for evaluation in evaluations)
    assert {one.metadata["problems"].value for one in evaluations} == {0}


def test_a_shuffled_folder_gives_the_same_bytes(indexed: Path, tmp_path: Path) -> None:
    first = contents(Warehouse(), "coast")
    paths = list(DOCUMENTS)
    random.Random(3).shuffle(paths)
    other = tmp_path / "other" / "coast"
    for path in paths:
        (other / path).parent.mkdir(parents=True, exist_ok=True)
        (other / path).write_text(DOCUMENTS[path], encoding="utf-8")
    os.environ["GRAPHRAG_DAGSTER_CORPORA"] = str(other.parent)
    try:
        Warehouse().file("coast").unlink()
        run_job("coast")
    finally:
        del os.environ["GRAPHRAG_DAGSTER_CORPORA"]
    assert contents(Warehouse(), "coast") == first


@pytest.mark.long
def test_the_dagster_command_gives_the_tables_of_the_command_line(indexed: Path) -> None:
    first = contents(Warehouse(), "coast")
    Warehouse().file("coast").unlink()
    subprocess.run(
        [
            Path(sys.executable).with_name("dagster"), "asset", "materialize", "-m", "graphrag_dagster.definitions",
            "--select", '+key:"serving/published_snapshot"', "--partition", "coast",
        ],
        check=True,
        capture_output=True,
        env=os.environ | {"DAGSTER_HOME": str(indexed / ".dagster_home")},
    )  # fmt: skip
    assert contents(Warehouse(), "coast") == first


def test_a_failed_asset_leaves_the_previous_rows_in_place(indexed: Path) -> None:
    first = contents(Warehouse(), "coast")
    (indexed / "corpora" / "coast" / "corpus.yaml").write_text("text_units: {encoding: morse}")
    with pytest.raises(SettingsError, match="morse"):
        run_job("coast")
    assert contents(Warehouse(), "coast") == first


@pytest.mark.usefixtures("indexed")
def test_records_of_dagster_that_cannot_be_written_are_named() -> None:
    before = contents(Warehouse(), "coast")
    with (
        files_of_at_most(60_000),
        pytest.raises(GraphragError, match=r"Dagster's records in .*free disk space"),
    ):
        run_job("coast")
    assert contents(Warehouse(), "coast") == before


def test_a_new_embedder_re_embeds_and_changes_nothing_else(indexed: Path) -> None:
    first = contents(Warehouse(), "coast")
    job = defs.resolve_job_def("embed")
    with dg.DagsterInstance.from_config(str(indexed / ".dagster_home")) as instance:
        assert job.execute_in_process(partition_key="coast", instance=instance).success
    assert contents(Warehouse(), "coast") == first


def test_a_pattern_of_tables_that_no_file_matches_is_told(indexed: Path) -> None:
    (indexed / "corpora" / "coast" / "corpus.yaml").write_text('tables: {"*.tsv": {text: story}}')
    keys = [dg.AssetKey(["corpus", name]) for name in ("files", "documents", "text_chunks")]
    with dg.DagsterInstance.from_config(str(indexed / ".dagster_home")) as instance:
        made = defs.resolve_job_def("index").execute_in_process(
            partition_key="coast", instance=instance, asset_selection=keys
        )
        (files,) = (
            one.materialization
            for event in made.get_asset_materialization_events()
            if (one := event.step_materialization_data).materialization.asset_key == keys[0]
        )
    assert files.metadata["columns_without_file"].value == ["*.tsv"]


def test_corpora_do_not_touch_each_other(indexed: Path) -> None:
    first = contents(Warehouse(), "coast")
    write_corpus(
        indexed / "corpora", "second shore", "text_units: {strategy: sentences, size: 40, overlap: 0}"
    )
    run_job("second shore")
    assert contents(Warehouse(), "coast") == first
    assert {row[0] for rows in contents(Warehouse(), "second shore").values() for row in rows} == {
        "second shore"
    }
