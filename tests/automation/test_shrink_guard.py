from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import tables
from graphrag_dagster.cli.output.running import run_job
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.operations.keeping.shrinkage import shrinkage
from graphrag_dagster.resources.published import publish, published
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import Table
from support.corpora import write_corpus
from support.endpoint import Scripted, ScriptedEndpoint, name_pattern_script

DOCUMENTS = 4


def filled(table: Table, rows: list[dict[str, object]]) -> pl.DataFrame:
    """Rows of which only some columns matter."""
    blanks: dict[str, object] = {}
    for column in table.columns:
        text = column.values[0] if column.values else "x"
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
        return shrinkage(warehouse, reader, most)


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


def test_nothing_is_compared_before_something_is_published_or_where_it_is_little(home: Path) -> None:
    made = Warehouse()
    write(made, entities=10, documents=1)
    assert published(made, "coast") is None
    assert lost(made) == []
    publish(made, "coast")
    write(made, entities=1, documents=1)
    assert lost(made) == []


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
