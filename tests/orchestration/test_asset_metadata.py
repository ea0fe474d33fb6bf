from pathlib import Path
from typing import Any

import dagster as dg

from graphrag_dagster.component import compose
from graphrag_dagster.kernel.pipeline.steps import STEPS
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.resources.dagster_instance import instance
from graphrag_dagster.resources.dagster_keys import asset_key

defs = compose(research=True)
SHOWN = {spec.key for spec in defs.resolve_all_asset_specs()}


def definition_of(key: dg.AssetKey) -> dict[str, Any]:
    return dict(defs.resolve_asset_graph().get(key).metadata)


def sources_of(key: dg.AssetKey) -> list[dg.LocalFileCodeReference]:
    found = definition_of(key)["dagster/code_references"].code_references
    return [one for one in found if isinstance(one, dg.LocalFileCodeReference)]


def test_every_table_says_where_it_is_kept() -> None:
    for table in (table for stage in STEPS for table in stage.assets):
        if asset_key(table) not in SHOWN:
            continue
        told = definition_of(asset_key(table))
        assert (told["dagster/storage_kind"], told["dagster/table_name"]) == ("duckdb", table.full_name)


def test_every_asset_leads_to_the_code_that_makes_it() -> None:
    for spec in defs.resolve_all_asset_specs():
        *_, code = sources_of(spec.key)
        lines = Path(code.file_path).read_text(encoding="utf-8").splitlines()
        assert code.line_number is not None
        assert lines[code.line_number - 1].startswith("def "), spec.key
    model = sources_of(dg.AssetKey(["serving", "corpus_summary"]))[0]
    assert Path(model.file_path).name == "corpus_summary.sql"
    assert "ref(" in Path(model.file_path).read_text(encoding="utf-8")


def test_every_materialisation_says_its_file_and_the_rows_of_its_corpus(coast: Path) -> None:
    for table in (tables.ENTITIES, tables.FILES, tables.CORPUS_SUMMARY):
        with instance() as records:
            made = records.get_latest_materialization_event(asset_key(table))
        assert made is not None
        assert made.asset_materialization is not None
        told = made.asset_materialization.metadata
        assert told["dagster/partition_row_count"].value == Warehouse().read(table, "coast").height
        assert str(told["dagster/uri"].value).startswith("file:///")
        assert str(told["dagster/uri"].value).endswith("/warehouse/coast.duckdb")
