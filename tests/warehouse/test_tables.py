import polars as pl
import pytest

from graphrag_dagster import tables
from graphrag_dagster.errors import WarehouseError

MEMBERS = tables.COMMUNITY_MEMBERS


def members(**changes: object) -> pl.DataFrame:
    rows = {"community_id": ["b", "a"], "entity_id": ["x", "y"], "level": [0, 0]}
    return pl.DataFrame(rows | changes)


def test_names_and_keys_are_unique_and_references_resolve() -> None:
    names = [table.full_name for table in tables.ALL_TABLES]
    assert len(set(names)) == len(names)
    for table in tables.ALL_TABLES:
        assert len(set(table.column_names)) == len(table.column_names)
        assert set(table.key) <= set(table.column_names)
        assert "corpus" not in table.column_names
        for column in table.columns:
            if column.references:
                target, _, name = column.references.rpartition(".")
                assert tables.table(target).column(name).type == column.type


def test_a_frame_is_ordered_cast_and_sorted() -> None:
    frame = MEMBERS.validated(members().select("level", "entity_id", "community_id"))
    assert frame.columns == MEMBERS.column_names
    assert frame["community_id"].to_list() == ["a", "b"]
    assert frame.schema["level"] == pl.Int32


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (members().drop("level"), ["missing", "level"]),
        (members(more=[1, 2]), ["unknown", "more"]),
        (members(level=["zero", "one"]), ["graph.community_members.level", "INTEGER"]),
        (members(level=[0, None]), ["level is null"]),
        (members(community_id=["a", "a"], entity_id=["x", "x"]), ["not unique", "'a'"]),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_by_name(frame: pl.DataFrame, words: list[str]) -> None:
    with pytest.raises(WarehouseError) as caught:
        MEMBERS.validated(frame)
    for word in words:
        assert word in str(caught.value)


def test_a_value_outside_the_allowed_set_is_refused() -> None:
    row = {c.name: None for c in tables.FILES.columns} | {
        "path": "a",
        "status": "lost",
        "bytes": 1,
        "documents": 0,
    }
    with pytest.raises(WarehouseError, match="'lost' is not one of read"):
        tables.FILES.validated(tables.FILES.frame([row]))


def test_an_unknown_table_names_those_there_are() -> None:
    with pytest.raises(WarehouseError, match="graph.entities"):
        tables.table("graph.entity")
