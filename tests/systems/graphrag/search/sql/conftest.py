"""A corpus in a real file, small enough that every figure can be counted by hand."""

import json
from typing import Any

import pytest

from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.documents.document_metadata import metadata_of, periods_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.snapshot_opening import open_snapshot
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from support.index_frames import filled

#: Path, row, date, metadata, text, entities.
PAPERS: list[tuple[str, int | None, str | None, dict[str, Any], str, str]] = [
    ("news/strike.md", None, "2020-02-11", {}, "Anna Bell led the Dock Union. Tallow Marine refused.", "abt"),
    (
        "news/merger.txt",
        None,
        "May 2021",
        {},
        "Tallow Marine bought Brine Ltd. Carl Dunn opposed it.",
        "trc",
    ),
    (
        "council/minutes.md",
        None,
        None,
        {"author": ["clerk", "reeve"]},
        "Anna Bell spoke of Tallow Marine.",
        "at",
    ),
    ("data/incidents.csv", 0, "2021-06-01", {"cost": 10, "ship": "Vega"}, "Vega struck the quay.", "v"),
    (
        "data/incidents.csv",
        1,
        "2021-07-01",
        {"cost": "2.5", "ship": "Lyra"},
        "Carl Dunn saw Lyra drift.",
        "cl",
    ),
    ("data/incidents.csv", 2, "2022-01-01", {"cost": "unknown", "ship": "vega"}, "Vega lost an anchor.", "v"),
]
#: Letter: title, type.
NAMES = {
    "a": ("Anna Bell", "PERSON"),
    "b": ("Dock Union", "ORGANIZATION"),
    "c": ("Carl Dunn", "PERSON"),
    "l": ("Lyra", "VESSEL"),
    "r": ("Brine Ltd", "ORGANIZATION"),
    "t": ("Tallow Marine", "ORGANIZATION"),
    "v": ("Vega", "VESSEL"),
    "x": ("O'Hara \"'; drop table graph.entities; --", "PERSON"),
}
TIES = {"ab": 3.0, "at": 1.0, "ct": 2.0, "cr": 1.0, "rt": 5.0, "ax": 1.0}
#: Relations of a graph that was imported, strongest first.
RELATIONS = ["c opposes t", "r bought_by t", "t pays_for r"]
CLAIMS = [("t", "TRUE"), ("t", "SUSPECTED"), ("c", "TRUE")]


def filled_tables() -> dict[tables.Table, list[dict[str, Any]]]:
    rows: dict[tables.Table, list[dict[str, Any]]] = {table: [] for table in all_tables()}
    units: dict[str, list[str]] = {letter: [] for letter in NAMES}
    for number, (path, row, day, metadata, text, letters) in enumerate(PAPERS):
        own = {"human_readable_id": number, "document_id": f"d{number}", "text": text}
        rows[tables.DOCUMENTS].append(
            own
            | {
                "path": path,
                "row": row,
                "date": day,
                "title": f"Paper {number}",
                "metadata": json.dumps(metadata),
            }
        )
        rows[tables.TEXT_CHUNKS].append(
            own | {"text_unit_id": f"u{number}", "end_char": len(text), "strategy": "none"}
        )
        for letter in letters:
            units[letter].append(f"u{number}")
    units["x"].append("u0")
    for number, (letter, (title, kind)) in enumerate(NAMES.items()):
        rows[tables.ENTITIES].append(
            {
                "human_readable_id": number, "entity_id": letter, "name": title.upper(), "title": title, "type": kind,
                "names": [title],
                "text_unit_ids": units[letter], "frequency": len(units[letter]), "description_engine": "as_is",
                "degree": sum(letter in tie for tie in TIES),
            }
        )  # fmt: skip
    for number, ((one, other), weight) in enumerate(TIES.items()):
        rows[tables.RELATIONSHIPS].append(
            {
                "human_readable_id": number, "relationship_id": one + other, "source_id": one, "target_id": other,
                "source": NAMES[one][0].upper(), "target": NAMES[other][0].upper(), "weight": weight,
                "description": f"{NAMES[one][0]} and {NAMES[other][0]}", "description_engine": "as_is",
            }
        )  # fmt: skip
    for number, (head, relation, tail) in enumerate(map(str.split, RELATIONS)):
        ends = {"head": NAMES[head][0].upper(), "tail": NAMES[tail][0].upper()}
        stated = {**ends, "relation": relation, "human_readable_id": number}
        rows[tables.TRIPLES].append(
            {"triple_id": f"r{number}", "head_id": head, "tail_id": tail, "strength": 3.0 - number, **stated}
        )
        rows[tables.IMPORTED_RELATIONS].append(
            {"path": "ties.csv", "row": number, "outcome": "read", **stated}
        )
    documents = filled(tables.DOCUMENTS, rows[tables.DOCUMENTS])
    rows[tables.DOCUMENT_METADATA] = metadata_of(documents).to_dicts()
    rows[tables.DOCUMENT_PERIODS] = periods_of(documents).to_dicts()
    rows[tables.MERGED_CLAIMS] = [
        {
            "human_readable_id": number, "claim_id": f"k{number}", "subject": NAMES[letter][0].upper(), "status": status,
            "type": "FACT", "description": f"claim {number}", "description_engine": "as_is",
        }
        for number, (letter, status) in enumerate(CLAIMS)
    ]  # fmt: skip
    rows[tables.COMMUNITIES] = [
        {"human_readable_id": 0, "community_id": "m0", "level": 0, "size": 5, "is_leaf": True},
        {
            "human_readable_id": 1,
            "community_id": "m1",
            "level": 1,
            "size": 3,
            "is_leaf": True,
            "parent_id": "m0",
        },
    ]
    rows[tables.COMMUNITY_MEMBERS] = [
        *({"community_id": "m0", "entity_id": one, "level": 0} for one in "abctr"),
        *({"community_id": "m1", "entity_id": one, "level": 1} for one in "ctr"),
    ]
    return rows


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with the corpus ``papers``; not to be changed."""
    made = Warehouse(path=str(tmp_path_factory.mktemp("queries") / "{corpus}.duckdb"))
    for table, rows in filled_tables().items():
        if rows:
            made.write(table, "papers", filled(table, rows))
    return made


@pytest.fixture(scope="session")
def papers(warehouse: Warehouse) -> IndexSnapshot:
    """The corpus ``papers``, opened."""
    return open_snapshot(warehouse, "papers")
