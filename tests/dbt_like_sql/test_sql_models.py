from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.dbt_like_sql.loader import (
    ModelError,
    SqlModel,
    empty_database,
    load_models,
)
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import model_folders
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table

OURS = model_folders()[0]
CASES = [
    pytest.param(case, id=f"{file.stem}: {case['case']}")
    for file in sorted((OURS.parent / "tests").glob("*.yaml"))
    for case in yaml.safe_load(file.read_text(encoding="utf-8"))
]
BY_NAME = {model.table.full_name: model for model in load_models()}


def complete(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    filler = {"VARCHAR": "", "INTEGER": 0, "BIGINT": 0, "DOUBLE": 0.0, "BOOLEAN": False}
    defaults = {c.name: None if c.nullable else filler.get(c.type, []) for c in table.columns}
    return {k: v for k, v in defaults.items() if table.column(k).type != VECTOR} | row


def run(model: SqlModel, given_rows: dict[str, list[dict[str, Any]]], warehouse: Warehouse) -> pl.DataFrame:
    for ref in model.refs:
        rows = [complete(ref, row) for row in given_rows.get(ref.full_name, [])]
        with warehouse.connect("a") as connection:
            names = ", ".join(f'"{c.name}" {c.type}' for c in ref.columns)
            connection.execute(f'create schema if not exists "{ref.schema}"')
            connection.execute(f"create or replace table {ref.full_name} (corpus varchar, {names})")
            if rows:
                connection.register("incoming", ref.frame(rows).to_arrow())
                connection.execute(
                    f"insert into {ref.full_name} by name select 'a' as corpus, * from incoming"
                )
    warehouse.write_all("a", {}, {model.table: model.query})
    return warehouse.read(model.table, "a")


@pytest.mark.parametrize("case", CASES)
def test_model_gives_the_expected_rows(case: dict[str, Any], tmp_path: Path) -> None:
    model, warehouse = BY_NAME[case["model"]], Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    result = run(model, case["given"], warehouse)
    if model.in_buckets:
        with warehouse.reading("a") as reader:
            assert reader.answer(model.table, model.query, buckets=3).equals(result)
    wanted = case["expect"]
    columns = list(wanted[0]) if wanted else result.columns
    found = result.select(columns).to_dicts()
    if case.get("contains"):
        assert all(row in found for row in wanted), found
    else:
        assert found == wanted


def test_every_model_has_a_case() -> None:
    assert {case.values[0]["model"] for case in CASES} == set(BY_NAME)


def test_columns_are_traced_to_their_sources() -> None:
    lineage = BY_NAME["graph.community_levels"].lineage
    assert ("graph.community_members", "community_id") in lineage["community_id"]
    assert lineage["entity_id"] == [("graph.community_members", "entity_id")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for model in load_models():
        copy = tmp_path / model.file.relative_to(OURS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(model.file.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("graph.community_members", "graph.members", ["community_levels.sql:19", "graph.members"]),
        ("m.entity_id as entity_id", "m.entity as entity_id", ["community_levels.sql:15", "entity"]),
        ("as projected", "as thrown", ["the query has the columns", "projected"]),
        (
            "{{ ref('graph.communities') }}",
            "{{ reff('graph.communities') }}",
            ["community_levels.sql:5", "syntax error"],
        ),
        ("max(m.level) < k.level", "max(m.level)", ["projected is INTEGER", "BOOLEAN"]),
        ("{{ ref('graph.communities') }}", "{{ ref('graph.community_levels') }}", ["circle"]),
    ],
)
def test_a_wrong_model_is_refused_before_it_runs(folder: Path, old: str, new: str, words: list[str]) -> None:
    file = folder / "graph" / "community_levels.sql"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load_models([folder])
    for word in words:
        assert word in str(caught.value)


def test_a_declared_table_without_model_and_a_model_without_table_are_refused(folder: Path) -> None:
    (folder / "graph" / "entities.sql").write_text("select 1")
    with pytest.raises(ModelError, match="not declared with `sql=True`"):
        load_models([folder])
    (folder / "graph" / "entities.sql").rename(folder / "graph" / "nonsense.sql")
    with pytest.raises(ModelError, match="no table 'graph.nonsense'"):
        load_models([folder])
    (folder / "graph" / "nonsense.sql").unlink()
    (folder / "graph" / "community_levels.sql").unlink()
    with pytest.raises(ModelError, match=r"no model makes graph\.community_levels"):
        load_models([folder])


NAMES = st.sampled_from(["A", "B", "C", "D"])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.integers(1, 9)), max_size=25), st.randoms(use_true_random=False))
def test_edge_weight_counts_both_directions_whatever_the_order(
    records: list[tuple[str, str, int]], random: Any
) -> None:
    model = BY_NAME["staging.relationship_groups"]
    rows = [
        ("a", str(i), f"u{i % 3}", 0, i, s, t, "related_to", f"d{n}", float(n), "model", [], "llm")
        for i, (s, t, n) in enumerate(records)
    ]
    results = []
    with empty_database(model.refs) as database:
        database.executemany(
            "insert into corpus.text_chunks (text_unit_id, human_readable_id) values (?, ?)",
            [("u0", 0), ("u1", 1), ("u2", 2)],
        )
        for _ in range(2):
            database.execute("delete from extraction.gleaned_relationships")
            if rows:
                database.executemany(
                    f"insert into extraction.gleaned_relationships values ({','.join('?' * 13)})", rows
                )
            results.append(database.execute(f"select * from ({model.query}) order by all").fetchall())
            random.shuffle(rows)
    assert results[0] == results[1]
    expected: dict[tuple[str, str], int] = {}
    for source, target, _ in records:
        if source != target:
            pair = (min(source, target), max(source, target))
            expected[pair] = expected.get(pair, 0) + 1
    assert {(row[0], row[1]): row[4] for row in results[0]} == expected


LABELS = st.sampled_from(["lead", "found_by", "हिन्दी", "e\u0301", "👩‍👧"])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(NAMES, LABELS, NAMES), max_size=25), st.randoms(use_true_random=False))
def test_triples_are_the_distinct_directed_ones_under_stable_ids(
    records: list[tuple[str, str, str]], random: Any
) -> None:
    model = BY_NAME["graph.triples"]
    rows = [(str(i), f"u{i % 3}", i, head, label, tail) for i, (head, label, tail) in enumerate(records)]
    results = []
    with empty_database(model.refs) as database:
        database.executemany(
            "insert into corpus.text_chunks (text_unit_id, human_readable_id) values (?, ?)",
            [("u0", 0), ("u1", 1), ("u2", 2)],
        )
        for _ in range(2):
            database.execute("delete from extraction.gleaned_relationships")
            if rows:
                database.executemany(
                    "insert into extraction.gleaned_relationships (instance_id, text_unit_id, position, source, "
                    "relation, target, round, basis, strength) values (?, ?, ?, ?, ?, ?, 0, 'model', 1)",
                    rows,
                )
            results.append(database.sql(f"select * from ({model.query}) order by all").pl())
            random.shuffle(rows)
    assert results[0].equals(results[1])
    wanted = {record for record in records if record[0] != record[2]}
    assert set(results[0].select("head", "relation", "tail").rows()) == wanted
    assert results[0]["triple_id"].to_list() == sorted(stable_id("triple", *one) for one in wanted)
    assert sorted(results[0]["human_readable_id"]) == list(range(len(wanted)))
    assert results[0]["instances"].sum() == sum(head != tail for head, _, tail in records)


def test_what_an_older_version_made_without_a_column_is_told_with_the_mend(tmp_path: Path) -> None:
    warehouse, model = Warehouse(path=str(tmp_path / "{corpus}.duckdb")), BY_NAME["graph.triples"]
    run(model, {}, warehouse)
    with warehouse.connect("a") as connection:
        connection.execute("alter table extraction.gleaned_relationships drop column relation")
    with pytest.raises(WarehouseError, match=r"graph\.triples cannot be made.*\"relation\".*index a'"):
        warehouse.write_all("a", {}, {model.table: model.query})
