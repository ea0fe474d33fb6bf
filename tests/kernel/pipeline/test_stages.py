"""The stages: in order, each table made by one of them, and what a step does with what its stage gives."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from graphrag_dagster.assets.step_assets import assets, assets_of, jobs
from graphrag_dagster.component import compose
from graphrag_dagster.dbt_like_sql.loader import our_models
from graphrag_dagster.errors import CatalogueError
from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.pipeline import code_versions
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.step_declaration import Made, Step, StepRun
from graphrag_dagster.kernel.pipeline.steps import STEPS, _in_order
from graphrag_dagster.kernel.pipeline.table_checks import rules
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.core_tables import DOCUMENT_METADATA, DOCUMENT_PERIODS, FORMS
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_FILES
from graphrag_dagster.kernel.tables.table_declaration import Table, Tables
from graphrag_dagster.kernel.tables.usage_tables import ACCOUNTS
from graphrag_dagster.resources.dagster_keys import CORPUS, asset_key
from support.corpora import write_corpus

#: With every step, as if some corpus made each of its stages.
defs = dg.Definitions(assets=assets(STEPS), jobs=jobs(STEPS), resources=compose().resources)
QUERIES = {model.table: set(model.refs) for model in our_models()}


def read_by(stage: Step) -> set[Table]:
    queried = set().union(*(QUERIES[table] for table in stage.makes if table in QUERIES))
    return (queried | set(stage.reads)) - set(stage.makes)


def test_every_table_is_made_by_one_stage_and_accounts_whenever_something_is_published() -> None:
    made = [table for stage in STEPS for table in stage.makes]
    assert set(made) == set(all_tables())
    assert [table for table in all_tables() if made.count(table) != 1] == list(ACCOUNTS)
    for rule in rules():
        assert rule.table in made


def test_stages_read_what_those_before_them_make_and_their_assets_hang_on_it() -> None:
    graph = defs.resolve_asset_graph()
    made_by: dict[Table, Step] = {}
    for stage in STEPS:
        keys = {asset_key(table) for table in stage.assets}
        keys |= {asset_key(stage.artifact)} if stage.artifact else set()
        pending, above = list(keys), set(keys)
        while pending:
            for parent in graph.get(pending.pop()).parent_keys - above:
                above.add(parent)
                pending.append(parent)
        for table in read_by(stage):
            before = made_by[table]
            assert {asset_key(one) for one in before.assets} & above, (stage.name, before.name)
        made_by |= dict.fromkeys(stage.makes, stage)


def test_the_columns_that_a_step_reads_are_declared() -> None:
    for step in STEPS:
        assert step.columns.keys() <= {*step.reads}
        assert all({*names} <= {*table.column_names} for table, names in step.columns.items()), step.name


def test_an_asset_of_its_stage_has_the_code_version_of_every_table() -> None:
    for stage in STEPS:
        groups_shown = {table.group for table in stage.assets}
        assert {table.group for table in stage.makes} - {one.group for one in ACCOUNTS} <= groups_shown


def test_the_catalogue_says_what_stages_read() -> None:
    """It may say more: what a stage asks the warehouse for by itself."""
    for stage in STEPS:
        known = {one for part in stage.parts for one in (part, *stages()[part].reads)}
        assert {table.group for table in read_by(stage)} <= known, stage.name


def test_a_run_shows_few_assets_each_with_few_neighbours_in_the_order_of_the_work() -> None:
    graph = defs.resolve_asset_graph()
    index = defs.resolve_job_def("index")
    assert len(index.asset_layer.executable_asset_keys) <= 35
    assert {node.name for node in index.nodes} == {step.name for step in STEPS if not step.requested}
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert len(node.parent_keys | node.child_keys) <= 10, key
    for spec in defs.resolve_all_asset_specs():
        assert spec.key.path[0] == spec.group_name
        assert str(spec.group_name).isalpha()
    last_names = [spec.key.path[-1] for spec in defs.resolve_all_asset_specs()]
    assert len(set(last_names)) == len(last_names)


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    write_corpus(home / "corpora", "coast")
    Warehouse().write(tables.DOCUMENTS, "coast", tables.DOCUMENTS.empty())
    with dg.DagsterInstance.ephemeral() as made:
        made.add_dynamic_partitions(CORPUS.name or "", ["coast"])
        yield made


def run(
    instance: dg.DagsterInstance,
    function: Callable[[Tables, StepRun], Iterator[Made]],
    *assets: Table,
    selection: dg.AssetSelection | None = None,
) -> dg.ExecuteInProcessResult:
    stage = Step("said", function, reads=(tables.DOCUMENTS,), assets=dict.fromkeys(assets, ()))
    return dg.materialize(
        [assets_of(stage, frozenset())],
        selection=selection,
        # A job of checks alone has no partitions for Dagster, whatever those of its checks (1.13.27).
        tags={"dagster/partition": "coast"},
        resources=compose().resources or {},
        instance=instance,
        raise_on_error=False,
    )


def said(second: pl.DataFrame | Exception) -> Callable[[Tables, StepRun], Iterator[Made]]:
    def function(given: Tables, run: StepRun) -> Iterator[Made]:
        assert given[tables.DOCUMENTS].is_empty()
        yield Made(DOCUMENT_METADATA, DOCUMENT_METADATA.empty(), {"dated": 3})
        assert not run.warehouse.exists(DOCUMENT_METADATA, "coast")
        if isinstance(second, Exception):
            raise second
        yield Made(DOCUMENT_PERIODS, second)

    return function


def made(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    events = result.get_asset_materialization_events()
    return {one.asset_key.path[-1]: one.materialization for one in events if one.asset_key}


def test_both_tables_are_there_with_what_is_told_of_them(instance: dg.DagsterInstance) -> None:
    result = run(instance, said(DOCUMENT_PERIODS.empty()), DOCUMENT_METADATA, DOCUMENT_PERIODS)
    assert result.success
    told = made(result)
    assert list(told) == ["document_metadata", "document_periods"]
    metadata = told["document_metadata"].metadata
    assert {"dagster/partition_row_count", "dagster/uri", "dated", "seconds"} <= set(metadata)
    assert (told["document_metadata"].tags or {})["dagster/data_version"]
    for table in (DOCUMENT_METADATA, DOCUMENT_PERIODS):
        assert Warehouse().read(table, "coast").is_empty()


def test_a_check_runs_alone_and_what_a_step_makes_is_told_whatever_is_selected(
    instance: dg.DagsterInstance,
) -> None:
    assets = (DOCUMENT_METADATA, DOCUMENT_PERIODS)
    one = dg.AssetSelection.assets(asset_key(DOCUMENT_PERIODS))
    result = run(instance, said(DOCUMENT_PERIODS.empty()), *assets, selection=one)
    assert result.success
    assert set(made(result)) == {"document_metadata", "document_periods"}
    assert not any(event.is_hook_event for event in result.all_events)

    checks = dg.AssetSelection.checks_for_assets(asset_key(DOCUMENT_METADATA))
    alone = run(instance, said(ValueError("nothing is made")), *assets, selection=checks)
    assert alone.success
    assert not made(alone)
    (found,) = alone.get_asset_check_evaluations()
    assert found.passed
    assert {name: value.value for name, value in found.metadata.items()} == {"problems": 0}


def test_what_came_before_a_failure_is_written_and_told(instance: dg.DagsterInstance) -> None:
    result = run(instance, said(ValueError("no periods")), DOCUMENT_METADATA, DOCUMENT_PERIODS)
    assert not result.success
    assert list(made(result)) == ["document_metadata"]
    assert Warehouse().exists(DOCUMENT_METADATA, "coast")
    assert not Warehouse().exists(DOCUMENT_PERIODS, "coast")


def test_of_frames_that_do_not_fit_none_is_written(instance: dg.DagsterInstance) -> None:
    result = run(instance, said(tables.DOCUMENTS.empty()), DOCUMENT_METADATA, DOCUMENT_PERIODS)
    assert not result.success
    assert not made(result)
    assert not Warehouse().exists(DOCUMENT_METADATA, "coast")


def test_a_stage_does_without_tables_that_are_not_made_of_such_a_corpus(
    instance: dg.DagsterInstance,
) -> None:
    assert not Warehouse().exists(IMPORTED_FILES, "coast")
    (stage,) = (stage for stage in STEPS if stage.name == "corpus")
    result = dg.materialize(
        [assets_of(stage, frozenset())],
        partition_key="coast",
        resources=compose().resources or {},
        instance=instance,
    )
    assert list(made(result)) == ["files", "documents", "text_chunks"]
    assert Warehouse().read(tables.TEXT_CHUNKS, "coast").height == 4


def test_a_check_says_all_that_is_wrong_and_only_what_blocks_stops_the_run(
    instance: dg.DagsterInstance,
) -> None:
    def function(_given: Tables, _run: StepRun) -> Iterator[Made]:
        row = {
            "document_id": "nowhere",
            "position": 0,
            "form": FORMS[0],
            "found_in": "date",
            "ambiguous": False,
        }
        days = dict.fromkeys(("period_start", "period_end"), date(2020, 1, 2))
        blank = {column.name: None if column.nullable else "x" for column in DOCUMENT_PERIODS.columns}
        rows = DOCUMENT_PERIODS.frame([{**blank, **row, **days}])
        yield Made(DOCUMENT_PERIODS, rows)

    result = run(instance, function, DOCUMENT_PERIODS)
    (found,) = result.get_asset_check_evaluations()
    assert (found.check_name, found.passed, found.severity) == ("valid", False, dg.AssetCheckSeverity.ERROR)
    assert found.metadata["problems"].value == 1
    assert found.description == "document_id is missing from corpus.documents.document_id in 1 rows"
    assert not result.success


def test_steps_that_wait_for_each_other_are_named() -> None:
    one, other = (replace(step, name=name) for step, name in zip(STEPS, ("one", "other"), strict=False))
    waiting = [replace(one, made_of=other.keys), replace(other, made_of=one.keys)]
    with pytest.raises(CatalogueError, match="steps wait for each other: .*one → other.*;"):
        _in_order(waiting)


def test_a_table_without_its_sql_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = replace(tables.ENTITIES, schema="theirs", name="found", sql=True)
    monkeypatch.setattr(code_versions, "all_tables", lambda: (theirs,))
    code_version.cache_clear()
    with pytest.raises(
        CatalogueError, match=r"theirs.found is declared with sql=True, but no model .*theirs/found.sql"
    ):
        code_version(theirs.group)
    code_version.cache_clear()
