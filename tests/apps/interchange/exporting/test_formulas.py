"""Cells that a spreadsheet would run: told in every CSV, changed only where that is asked for."""

import csv
from pathlib import Path

import pytest

from graphrag_dagster import export
from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.triple_graphs import publish_triples

TRIPLES = [
    ("=cmd|'/c calc'!A1", "+of", "-5"),
    ("@SUM(A1)", "is", "＝1+1"),
    ("'=quoted", "is", "a=b"),
    ("plain", "is", " =not first"),
]
TITLES = {title for head, _, tail in TRIPLES for title in (head, tail)}
FORMULAS = {"=cmd|'/c calc'!A1", "+of", "-5", "@SUM(A1)", "＝1+1"}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    made = Warehouse(path=str(tmp_path_factory.mktemp("films") / "{corpus}.duckdb"))
    publish_triples(made, "films", TRIPLES)
    return made


def _cells(file: Path) -> set[str]:
    with file.open(encoding="utf-8", newline="") as text:
        return {cell for row in csv.reader(text) for cell in row}


def test_lists_of_triples_are_as_they_were_unless_they_are_for_a_spreadsheet(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    plain = export("films", "triples", tmp_path / "plain", warehouse=warehouse)
    assert FORMULAS | {"'=quoted", "a=b"} <= _cells(tmp_path / "plain" / "triples.csv")
    safe = export("films", "triples", tmp_path / "safe", formula_safe=True, warehouse=warehouse)
    cells = _cells(tmp_path / "safe" / "triples.csv")
    assert {f"'{cell}" for cell in FORMULAS} | {"'=quoted", "a=b", "plain"} <= cells
    assert not {cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝"))}
    assert plain.formulas == safe.formulas >= len(FORMULAS)


def test_what_a_program_reads_is_told_of_and_never_changed(warehouse: Warehouse, tmp_path: Path) -> None:
    made = export("films", "neo4j", tmp_path / "out", warehouse=warehouse)
    assert made.formulas
    written = set().union(*(_cells(file) for file in (tmp_path / "out").glob("*.csv")))
    assert FORMULAS - {"+of"} <= written
    for form in ("neo4j", "graphml", "parquet", "microsoft", "rdf"):
        with pytest.raises(ExportError, match="leave --formula-safe out"):
            export("films", form, tmp_path / form, formula_safe=True, warehouse=warehouse)
    assert export("films", "graphml", tmp_path / "g", warehouse=warehouse).formulas == 0


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_every_sign_is_told_by_sql(sign: str, coast: Path, run: Run) -> None:
    query = f"select chr({ord(sign)}) || 'x' as text, 'x' || chr({ord(sign)}) as other, -1 as number"
    code, told, _ = run("sql", "coast", query, "--csv", "plain.csv")
    assert (code, "1 cells begin as formulas do" in told) == (0, True)
    assert f"{sign}x" in _cells(Path("plain.csv"))
    run("sql", "coast", query, "--csv", "safe.csv", "--formula-safe")
    assert {f"'{sign}x", f"x{sign}", "-1"} <= _cells(Path("safe.csv"))


def test_names_of_columns_are_told_and_guarded_too(coast: Path, run: Run) -> None:
    _, told, _ = run("sql", "coast", 'select 1 as "=x"', "--csv", "safe.csv", "--formula-safe")
    assert "1 cells begin as formulas do" in told
    assert "'=x" in _cells(Path("safe.csv"))


def test_the_command_tells_and_mends(coast: Path, run: Run) -> None:
    assert "begin as formulas do" not in run("export", "coast", "--to", "graphml")[1]
    code, told, err = run("export", "coast", "--to", "neo4j", "--formula-safe")
    assert (code, "leave --formula-safe out" in err) == (1, True), told
