"""Hashes of tables, which name snapshots for years."""

import duckdb
import pytest

from graphrag_dagster.kernel.storage import content_hash as module
from graphrag_dagster.kernel.storage.content_hash import content_hash, frame_hash
from graphrag_dagster.kernel.tables.table_declaration import SPANS, VECTOR, Column, Table

TABLE = Table(
    "one",
    "rows",
    "one",
    "Rows of every type",
    ("id",),
    (
        Column("id", "VARCHAR", "Its name"),
        Column("number", "INTEGER", "A number"),
        Column("large", "BIGINT", "A large one"),
        Column("share", "DOUBLE", "A fraction"),
        Column("yes", "BOOLEAN", "Whether"),
        Column("day", "DATE", "When"),
        Column("names", "VARCHAR[]", "Names"),
        Column("counts", "INTEGER[]", "Counts"),
        Column("spans", SPANS, "Places"),
        Column("vector", VECTOR, "Numbers"),
    ),
)
ROWS = """
    ('a', 1, 2::bigint, 0.1::double, true, date '1911-02-03', ['x', 'yz'], [1, null, 3],
     [{'start': 1, 'end': 2}], [0.5, 1.5]::float[2]),
    ('b', null, null, null, null, null, null, null, null, null),
    ('ç', -1, 9007199254740993, '-inf'::double, false, date '0044-03-15', [null, ''], [], [], [0, -0.0]::float[2])
"""
#: If this changes, every snapshot that was ever published gets another name.
KNOWN = "307c654f481114cc551e2e45de22a3e648cecbc704c34d4f0c62d9da8a32f927"


def hashed(rows: str, order: str = "") -> tuple[int, str]:
    names = ", ".join(f'"{name}"' for name in TABLE.column_names)
    with duckdb.connect() as connection:
        query = f"select {names} from (values {rows}) as t({names}) {order}"
        return content_hash(connection, TABLE, TABLE.column_names, query)


def test_it_is_what_it_has_been_ever_since() -> None:
    assert hashed(ROWS) == (3, KNOWN)


def test_a_frame_has_the_hash_of_its_rows_once_they_are_stored() -> None:
    names = ", ".join(f'"{name}"' for name in TABLE.column_names)
    with duckdb.connect() as connection:
        frame = connection.sql(f"select {names} from (values {ROWS}) as t({names}) order by id desc").pl()
    assert frame_hash(TABLE, frame) == KNOWN
    assert frame_hash(TABLE, frame.head(2)) != KNOWN


@pytest.mark.parametrize("at_once", [1, 2, 16_384])
@pytest.mark.parametrize("order", ["", "order by id desc", "order by number nulls last"])
def test_neither_the_order_nor_the_batches_count(
    at_once: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", at_once)
    assert hashed(ROWS, order) == (3, KNOWN)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'a', 1", "'a', 2"),
        ("0.1::double", "0.10000000000000002::double"),
        ("true", "false"),
        ("'1911-02-03'", "'1911-02-04'"),
        ("['x', 'yz']", "['xy', 'z']"),
        ("['x', 'yz']", "['x', 'yz', null]"),
        ("[null, '']", "['', null]"),
        ("[1, null, 3]", "[1, 0, 3]"),
        ("[], [],", "[0], [],"),
        ("[], [],", "null, [],"),
        ("'end': 2", "'end': 3"),
        ("[0.5, 1.5]", "[1.5, 0.5]"),
        ("('b', null, null", "('b', 0, null"),
        ("9007199254740993", "9007199254740992"),
        ("'ç'", "'c'"),
    ],
)
def test_every_change_counts(before: str, after: str) -> None:
    assert ROWS.count(before) == 1
    assert hashed(ROWS.replace(before, after)) != hashed(ROWS)


def test_a_table_without_rows_has_a_hash() -> None:
    assert hashed(ROWS, "where false") == hashed(ROWS, "where id = 'none' order by id")
    assert hashed(ROWS, "where false")[1] != KNOWN
