from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.published import publish, published
from graphrag_dagster.kernel.storage.published.shrink_guard import shrink_problems
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT, IMPORTED_FILES
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.corpora import write_corpus
from support.endpoint import Scripted, ScriptedEndpoint, name_pattern_script

DOCUMENTS = 4


def filled(table: Table, rows: list[dict[str, object]]) -> pl.DataFrame:
    """Rows of which only some columns matter."""
    blanks: dict[str, object] = {}
    for column in table.columns:
        text = next(iter(column.values)) if column.values else "x"
        blanks[column.name] = None if column.nullable else text if column.type == "VARCHAR" else 1
    lists = {column.name: ["x"] for column in table.columns if column.type.endswith("[]")}
    return table.frame([{**blanks, **lists, **row} for row in rows])


def write(warehouse: Warehouse, *, entities: int, documents: int, units: int = 5) -> None:
    names = [f"d{number}" for number in range(documents)]
    warehouse.write(tables.DOCUMENTS, "coast", filled(tables.DOCUMENTS, [{"document_id": d} for d in names]))
    warehouse.write(
        tables.TEXT_CHUNKS,
        "coast",
        filled(
            tables.TEXT_CHUNKS,
            [
                {"text_unit_id": f"{d} {units} {n}", "document_id": d, "position": n}
                for d in names
                for n in range(units)
            ],
        ),
    )
    made = [{"entity_id": f"e{n}", "name": f"E{n}"} for n in range(entities)]
    warehouse.write(tables.ENTITIES, "coast", filled(tables.ENTITIES, made))


@pytest.fixture
def warehouse(home: Path) -> Warehouse:
    made = Warehouse()
    write(made, entities=100, documents=DOCUMENTS)
    publish(made, "coast")
    return made


def lost(warehouse: Warehouse, most: float = 0.3) -> list[str]:
    with warehouse.reading("coast") as reader:
        return shrink_problems(warehouse, reader, most)


@pytest.mark.parametrize(
    ("entities", "documents", "units", "most", "stops"),
    [
        (100, 4, 5, 0.3, False),
        (70, 4, 5, 0.3, False),
        (69, 4, 5, 0.3, True),
        (69, 4, 5, 0.4, False),
        (50, 3, 5, 0.3, False),
        (40, 3, 5, 0.3, True),
        (0, 0, 5, 0.3, False),
        (60, 4, 9, 0.3, True),
        (200, 4, 5, 0.0, False),
    ],
)
def test_entities_may_go_with_their_documents_and_a_few_more(
    warehouse: Warehouse, entities: int, documents: int, units: int, most: float, stops: bool
) -> None:
    write(warehouse, entities=entities, documents=documents, units=units)
    told = lost(warehouse, most)
    assert bool(told) == stops
    assert all("graph.shrink_guard" in line and "100 entities" in line for line in told)


def write_graph(warehouse: Warehouse, files: dict[str, tuple[str, str | None, int]], entities: int) -> None:
    """A graph without texts, of files with their status, hash and rows."""
    rows = [{"path": p, "status": s, "sha256": h, "reason": None} for p, (s, h, _) in files.items()]
    warehouse.write(IMPORTED_FILES, "coast", filled(IMPORTED_FILES, rows))
    account = [
        {"path": p, "record": record, "outcome": outcome, "rows": n}
        for p, (status, _, n) in files.items()
        if status == "read"
        for record, outcome in (("relations", "read"), ("relations", "malformed"), ("text_units", "read"))
    ]
    warehouse.write(IMPORT_ACCOUNT, "coast", filled(IMPORT_ACCOUNT, account))
    made = [{"entity_id": f"e{n}", "name": f"E{n}"} for n in range(entities)]
    warehouse.write(tables.ENTITIES, "coast", filled(tables.ENTITIES, made))


@pytest.mark.parametrize(
    ("a", "b", "entities", "told"),
    [
        (("read", "1", 90), ("read", "2", 10), 100, None),
        (("read", "1", 90), ("read", "2", 10), 69, "0% of the rows"),
        (("read", "another", 20), ("read", "2", 10), 1, None),
        (("read", "1", 90), ("read", "another", 1), 65, None),
        (("read", "1", 90), ("read", "another", 1), 55, "10% of the rows"),
        (None, ("read", "2", 10), 1, None),
        (("failed", "1", 0), ("read", "2", 10), 10, "0% of the rows"),
        (("failed", "another", 0), ("read", "2", 10), 10, "0% of the rows"),
        (("refused", None, 0), ("read", "another", 10), 10, "10% of the rows"),
        (("ignored", None, 0), ("read", "2", 10), 10, None),
        (("unsupported", "1", 0), ("read", "2", 10), 10, "0% of the rows"),
    ],
)
def test_entities_of_a_graph_may_go_with_files_that_are_gone_or_edited(
    home: Path,
    a: tuple[str, str | None, int] | None,
    b: tuple[str, str | None, int],
    entities: int,
    told: str | None,
) -> None:
    made = Warehouse()
    write_graph(made, {"a.csv": ("read", "1", 90), "b.csv": ("read", "2", 10)}, 100)
    publish(made, "coast")
    write_graph(made, {path: file for path, file in {"a.csv": a, "b.csv": b}.items() if file}, entities)
    assert [told in line and "prompts" not in line for line in lost(made)] == ([True] if told else [])


@pytest.mark.long
def test_rows_deleted_from_a_graph_are_published_and_a_file_cut_off_is_not(home: Path) -> None:
    folder = home / "corpora" / "coast"
    folder.mkdir(parents=True)
    (folder / "corpus.yaml").write_text("kind: graph\ncommunities: {drift: 0}\n", "utf-8")
    (folder / "own.csv").write_text("from,rel,to\nAda,knows,Bo\n", "utf-8")
    ships = pl.DataFrame([(f"Ship {n}", "passed", f"Ship {n + 1}") for n in range(30)], orient="row")
    ships.columns = ["from", "rel", "to"]
    ships.write_parquet(folder / "ships.parquet")
    run_job("coast")
    ships.head(3).write_parquet(folder / "ships.parquet")
    run_job("coast")
    left = published(Warehouse(), "coast")
    assert left is not None
    assert left.rows("graph.entities") == 6
    ships.write_parquet(folder / "ships.parquet")
    run_job("coast")
    whole = (folder / "ships.parquet").read_bytes()
    (folder / "ships.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(WarehouseError, match="could no longer be read"):
        run_job("coast")
    kept = published(Warehouse(), "coast")
    assert kept is not None
    assert kept.rows("graph.entities") == 33


def test_nothing_is_compared_before_something_is_published_or_where_it_is_little(home: Path) -> None:
    made = Warehouse()
    write(made, entities=10, documents=1)
    assert published(made, "coast") is None
    assert lost(made) == []
    publish(made, "coast")
    write(made, entities=1, documents=1)
    assert lost(made) == []


@pytest.mark.long
def test_a_run_that_loses_its_entities_publishes_nothing_until_it_is_meant(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    people = [f"{first} {last}" for first in ("Mara", "Tobin", "Elsa", "Ruben", "Ines") for last in
              ("Harlow", "Quist", "Dunmore", "Seland", "Varga", "Brandt")]  # fmt: skip
    text = " ".join(f"{one} met {other} in Oslo." for one, other in pairwise(people))
    (folder / "people.txt").write_text(text, encoding="utf-8")
    run_job("coast")
    before = published(Warehouse(), "coast")
    assert before is not None
    assert before.rows("graph.entities") > 20

    def poet(body: dict[str, Any]) -> Scripted | str:
        return "I would rather write a poem." if "Harlow" in str(body) else name_pattern_script(body)

    with ScriptedEndpoint(poet) as server:
        settings = f"extraction: {{engine: llm}}\nmodel: {{base_url: '{server.url}', name: scripted}}\n"
        (folder / "corpus.yaml").write_text(settings, encoding="utf-8")
        with pytest.raises(WarehouseError, match="graph.shrink_guard"):
            run_job("coast")
        assert published(Warehouse(), "coast") == before
        (folder / "corpus.yaml").write_text(f"{settings}graph: {{shrink_guard: 1}}", encoding="utf-8")
        run_job("coast")
    after = published(Warehouse(), "coast")
    assert after is not None
    assert 0 < after.rows("graph.entities") < 0.7 * before.rows("graph.entities")
