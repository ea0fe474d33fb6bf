"""What a query of a search method may read, and what it gives."""

import pytest

from graphrag_dagster.errors import QueryError
from graphrag_dagster.kernel.storage.queries import Query
from graphrag_dagster.kernel.storage.sql_sandbox import SnapshotQueries
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.systems.graphrag.search.sql.sql_search import READABLE


@pytest.fixture
def queries(warehouse: Warehouse) -> SnapshotQueries:
    return SnapshotQueries(warehouse, "papers", None)


def run(queries: SnapshotQueries, sql: str, most: int = 5) -> list[dict[str, object]]:
    return [dict(row) for row in queries.run(Query(None, "", sql), most, READABLE).rows]


def test_what_may_be_read_is_declared() -> None:
    assert set(READABLE) <= {table.full_name for table in all_tables()}


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("with people as (select title from graph.entities where type = 'PERSON') select count(*) as n from people", [{"n": 3}]),
        ("select unnest(text_unit_ids) as u from graph.entities where entity_id = 'v' order by 1", [{"u": "u3"}, {"u": "u5"}]),
        ("select text_unit_ids from graph.entities where entity_id = 'v'", [{"text_unit_ids": "u3, u5"}]),
        ("select count(*) as n from GRAPH.Entities", [{"n": 8}]),
        ("select * from range(2)", [{"range": 0}, {"range": 1}]),
        ("select (select max(degree) from graph.entities) as d, null as e, 1.5 as f", [{"d": 3, "e": None, "f": "1.5"}]),
        ("with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select max(n) as n from t", [{"n": 3}]),
    ],
)  # fmt: skip
def test_what_only_reads_the_tables_is_run(
    queries: SnapshotQueries, sql: str, rows: list[dict[str, object]]
) -> None:
    assert run(queries, sql) == rows


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select * from extraction.quarantine", "Only these tables can be read: corpus.documents"),
        ("select * from graph.entities where entity_id in (select path from corpus.files)", "not corpus.files"),
        ("from query_table('corpus.files')", "not query_table"),
        ("from query('select 1')", "not query"),
        ("select * from duckdb_settings()", "not duckdb_settings"),
        ("select * from information_schema.tables", "not information_schema.tables"),
        ("select * from sqlite_master", "not sqlite_master"),
        ("select (select sql from duckdb_tables limit 1) as s from graph.entities", "not duckdb_tables"),
        ("select * from GRAPH.Entities join main.pg_tables on true", "not main.pg_tables"),
        ("show tables", "not the list of tables"),
        ("describe graph.entities", "not the list of tables"),
        ("from read_csv('/etc/passwd')", "not read_csv"),
        ("from '/etc/passwd'", "not /etc/passwd"),
        ("select read_text('/etc/passwd')", "read_text"),
        ("select * from glob('/*')", "not glob"),
        ("drop table graph.entities", "write a single select statement"),
        ("select 1; select 2", "write a single select statement"),
        ("attach '/tmp/x.duckdb'", "write a single select statement"),
        ("explain select 1", "Only SELECT statements"),
        ("pivot graph.entities on type using count(*)", "write a single select statement"),
        ("copy graph.entities to '/tmp/x.csv'", "write a single select statement"),
        ("select nothing from graph.entities", "columns of graph.entities"),
        ("select", "the query failed"),
        ("", "write a single select statement"),
        ("select repeat('x', 2000000000)", "memory"),
    ],
)  # fmt: skip
def test_nothing_else_is_run(queries: SnapshotQueries, sql: str, told: str) -> None:
    with pytest.raises(QueryError, match=r".") as raised:
        run(queries, sql)
    assert told in str(raised.value)
    assert "--" not in str(raised.value)


def test_no_more_rows_than_wanted_come_and_more_is_told(queries: SnapshotQueries) -> None:
    for query in (
        Query(None, "", "select * from range(10)"),
        Query(None, "", "select * from range($n)", {"n": 10}),
    ):
        found = queries.run(query, 3)
        assert [row["range"] for row in found.rows] == [0, 1, 2]
        assert found.more
    assert not queries.run(Query(None, "", "select * from range(3)"), 3).more


def test_long_texts_are_cut(queries: SnapshotQueries) -> None:
    (plain,) = queries.run(Query(None, "", "select repeat('x', 5000) as t"), 1).rows
    (given,) = queries.run(Query(None, "", "select repeat($x, 5000) as t", {"x": "x"}), 1).rows
    assert len(plain["t"]) == len(given["t"]) == 1000
