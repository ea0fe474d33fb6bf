"""The page on instances and tables of paths says what there is."""

from pathlib import Path

from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.systems.lego.search.instance_definitions import INSTANCES
from graphrag_dagster.systems.lego.tables import PATH_QUESTIONS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "path-instances.md").read_text(encoding="utf-8")


def test_it_lists_the_instances() -> None:
    rows = [
        line
        for line in PAGE.splitlines()
        if (line.startswith("| ") and "SBE-PPR" in line) or "| SAE-" in line
    ]
    told = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows]
    assert told == [(one.name, one.group, one.title, "yes" if one.asks_model else "") for one in INSTANCES]


def test_it_lists_the_tables_and_problems() -> None:
    for table in all_tables():
        if table.group == "paths":
            assert f"`{table.full_name}`" in PAGE
    assert all(f"`{problem}`" in PAGE for problem in PATH_QUESTIONS.column("problem").values)
    assert all(f"`{way}`" in PAGE for way in PATH_QUESTIONS.column("linked_by").values)
