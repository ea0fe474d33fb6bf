from pathlib import Path
from typing import Any

import dagster as dg

from graphrag_dagster.assets.step_assets import shown_steps
from graphrag_dagster.component import OWNERS, compose
from graphrag_dagster.kernel.pipeline.steps import SNAPSHOT, STEPS
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
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


def test_every_asset_has_an_owner_and_the_snapshot_a_freshness_policy() -> None:
    for spec in defs.resolve_all_asset_specs():
        assert spec.owners == OWNERS
        assert (spec.freshness_policy is not None) == (spec.key == asset_key(SNAPSHOT))


def test_imports_are_assets_once_a_corpus_imports() -> None:
    def has_imports(*corpora: CorpusSettings) -> bool:
        return any("imports" in step.parts for step in shown_steps(corpora) if "corpus" not in step.parts)

    assert not has_imports(CorpusSettings())
    assert has_imports(CorpusSettings(), CorpusSettings(kind="graph"))


def recorded(key: dg.AssetKey) -> dict[str, Any]:
    with instance() as records:
        event = records.get_latest_materialization_event(key)
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def test_a_materialisation_says_which_columns_its_columns_come_from(coast: Path) -> None:
    entities, relationships = (asset_key(table) for table in (tables.ENTITIES, tables.RELATIONSHIPS))
    by_reference = recorded(relationships)["dagster/column_lineage"].deps_by_column
    assert by_reference["source"] == [dg.TableColumnDep(entities, "name")]
    by_query = recorded(asset_key(tables.COMMUNITY_LEVELS))["dagster/column_lineage"].deps_by_column
    assert by_query["entity_id"]


def test_the_snapshot_links_to_the_explorer(coast: Path) -> None:
    assert recorded(asset_key(SNAPSHOT))["explorer"] == "http://127.0.0.1:8000/#/coast"


def test_every_materialisation_says_its_file_and_the_rows_of_its_corpus(coast: Path) -> None:
    for table in (tables.ENTITIES, tables.FILES, tables.CORPUS_SUMMARY):
        told = recorded(asset_key(table))
        assert told["dagster/partition_row_count"] == Warehouse().read(table, "coast").height
        assert str(told["dagster/uri"]).startswith("file:///")
        assert str(told["dagster/uri"]).endswith("/warehouse/coast.duckdb")
