import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWERS
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables, declared_table
from graphrag_dagster.systems.graphrag.tables import EXTRACTION_STATE
from support.plugins import plugged_in

REPOSITORY = Path(__file__).parents[3]

MEMBERS = tables.COMMUNITY_MEMBERS


def members(**changes: object) -> pl.DataFrame:
    rows = {"community_id": ["b", "a"], "entity_id": ["x", "y"], "level": [0, 0]}
    return pl.DataFrame(rows | changes)


def test_names_and_keys_are_unique_and_references_resolve() -> None:
    names = [table.full_name for table in all_tables()]
    assert len(set(names)) == len(names)
    for table in all_tables():
        assert len(set(table.column_names)) == len(table.column_names)
        assert set(table.key) <= set(table.column_names)
        assert "corpus" not in table.column_names
        for column in table.columns:
            if column.references:
                target, _, name = column.references.rpartition(".")
                assert declared_table(target).column(name).type == column.type


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
        declared_table("graph.entity")


PLUGIN = """
from graphrag_dagster.kernel.catalogue.engines import Engine
from graphrag_dagster.kernel.catalogue.system import System
from graphrag_dagster.kernel.tables.core_tables import CLAIMS

SYSTEM = System("oracle", "oracle", adds=(Engine("oracle", CLAIMS.meaning, {"answerer": "nowhere:nothing"}),))
"""
NAMES = """
from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWERS
from graphrag_dagster.kernel.tables.core_tables import ENTITIES

print(*ANSWERS.column("engine").values)
print(*ENTITIES.column("description_engine").values)
print(repr(ANSWERS.columns + ENTITIES.columns))
"""


def test_the_engines_of_other_packages_may_have_made_a_row(tmp_path: Path) -> None:
    declared = repr(ANSWERS.columns + tables.ENTITIES.columns)
    with plugged_in(tmp_path, {"oracle.py": PLUGIN}, {"oracle": "oracle:SYSTEM"}):
        # In a process of its own the package is loaded while the tables, which it imports, are being asked.
        shown = subprocess.run(
            [sys.executable, "-c", NAMES],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(REPOSITORY)))},
            capture_output=True,
            text=True,
            check=True,
        )
    engines, merged, again = shown.stdout.splitlines()
    assert (engines, merged) == (
        "extractive llm gliner-rebel oracle",
        "as_is extractive llm gliner-rebel oracle",
    )
    # Rows are taken over from an earlier run only where the declaration is the same.
    assert again == declared
    assert shown.stderr == ""


def test_many_rows_keep_their_order() -> None:
    rows = [{"part": f"{number:06}", "value": None} for number in range(120_000, 0, -1)]
    frame = EXTRACTION_STATE.rows(iter(rows))
    assert frame["part"].to_list() == [row["part"] for row in rows]
    assert frame.schema == EXTRACTION_STATE.empty().schema


def test_rows_in_the_order_of_the_columns_are_those_by_name() -> None:
    rows = [("b", "x", 0), ("a", "y", 1)]
    by_name = [dict(zip(MEMBERS.column_names, row, strict=True)) for row in rows]
    assert MEMBERS.frame_of(rows).equals(MEMBERS.frame(by_name))
    assert MEMBERS.frame_of([]).equals(MEMBERS.empty())
