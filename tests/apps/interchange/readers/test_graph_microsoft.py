"""Graphs as Microsoft GraphRAG's Parquet files, of all its versions."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from support.graphs import Read, read_folder
from support.shared import DATA

_DATA = DATA / "msft_graphrag"
_NEEDS_DATA = pytest.mark.skipif(not _DATA.is_dir(), reason="the real data sets are not there")

#: Column of a file → column of the imports, by record.
_SAME = {
    "documents": {"id": "key", "title": "title", "text": "text", "raw_content": "text"},
    "text_units": {"id": "key", "text": "text", "document_ids": "document_keys"},
    "entities": {"id": "key", "title": "title", "name": "title", "type": "type", "description": "description",
                 "text_unit_ids": "text_unit_keys"},
    "relations": {"id": "key", "weight": "weight", "description": "description", "text_unit_ids": "text_unit_keys"},
    "claims": {"id": "key", "subject_id": "subject", "object_id": "object", "type": "type", "status": "status",
               "description": "description", "start_date": "start_date", "end_date": "end_date",
               "source_text": "quote", "text_unit_id": "text_unit_key"},
    "communities": {"level": "level", "title": "title", "entity_ids": "entity_keys"},
    "reports": {"id": "key", "level": "level", "title": "title", "summary": "summary", "full_content": "content",
                "rank": "rating", "rating_explanation": "rating_explanation",
                "rank_explanation": "rating_explanation"},
}  # fmt: skip


def _written_again(
    record: str, row: Mapping[str, Any], names: list[str], titles: Mapping[str, str]
) -> dict[str, Any]:
    """A row of a file from the row of the imports."""
    told = json.loads(row["attributes"])
    found = {name: row[kept] for name, kept in _SAME[record].items()}
    if record == "text_units":
        found["document_id"] = row["document_keys"][0] if row["document_keys"] else None
    if record == "relations":
        found["source"], found["target"] = (
            titles.get(row[end], row[end]) for end in ("head_key", "tail_key")
        )
    if record == "communities":
        found["community"] = found["id"] = row["key"]
        found["parent"] = row["parent_key"] or "-1"
    if record == "reports":
        found["community"], found["findings"] = row["community_key"], json.loads(row["findings"])
    found |= told
    return {name: None if name in told.get("nulls", ()) else found.get(name) for name in names}


def _plain(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _check_written_again(read: Read, folder: Path) -> None:
    titles = dict(zip(read.column("entities", "key"), read.column("entities", "title"), strict=True))
    (graph,) = read.graphs
    for file in graph.files:
        if file.record not in _SAME:
            continue
        rows = {row["row"]: row for row in read.rows(file.record) if row["path"] == file.path}
        frame = pl.read_parquet(folder / file.path)
        names = [
            name for name in frame.columns if not name.startswith("__") and not name.endswith("_embedding")
        ]
        left_out = {row["row"] for row in read.rows("quarantine") if row["path"] == file.path}
        assert rows.keys() | left_out == set(range(1, frame.height + 1))
        for number, wanted in enumerate(frame.select(names).iter_rows(named=True), start=1):
            if number in rows:
                found = _written_again(file.record, rows[number], names, titles)
                assert {k: _plain(v) for k, v in found.items()} == {k: _plain(v) for k, v in wanted.items()}


@_NEEDS_DATA
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("operation_dulce", (1, 5, 39, 107, 41, 10, 10)),
        ("verbs_data", (1, 42, 529, 978, 406, 122, 122)),
    ],
)
def test_real_indexes_could_be_written_again(name: str, counts: tuple[int, ...]) -> None:
    read = read_folder(_DATA / name)
    assert not read.failed
    records = ("documents", "text_units", "entities", "relations", "claims", "communities", "reports")
    assert tuple(len(read.rows(record)) for record in records) == counts
    assert "quarantine" not in read.batches
    assert [graph.name for graph in read.graphs] == ["."]
    _check_written_again(read, _DATA / name)
    keys = set(read.column("entities", "key"))
    ends = {*read.column("relations", "head_key"), *read.column("relations", "tail_key")}
    # Both indexes have relations whose ends are no entities.
    assert 0 < len(ends - keys) < len(ends & keys)


@_NEEDS_DATA
def test_a_real_index_of_the_old_layout_could_be_written_again(tmp_path: Path) -> None:
    with zipfile.ZipFile(_DATA / "operation_dulce" / "dataset.zip") as archive:
        archive.extractall(tmp_path)
    read = read_folder(tmp_path)
    assert not read.failed
    assert len(read.left_out) == 8
    assert read.account() == {
        ("claims", "malformed"): 7,
        ("claims", "read"): 149,
        ("communities", "read"): 20,
        ("documents", "read"): 1,
        ("entities", "read"): 89,
        ("relations", "read"): 373,
        ("reports", "read"): 20,
        ("rows", "read"): 178,
        ("text_units", "read"): 50,
    }
    assert set(read.column("quarantine", "reason")) == {"its subject is blank"}
    _check_written_again(read, tmp_path)
    communities = {row["key"]: row for row in read.rows("communities")}
    for row in communities.values():
        assert set(row["entity_keys"]) <= set(read.column("entities", "key"))
        assert (row["parent_key"] is None) == (row["level"] == 0)
        if row["parent_key"]:
            assert set(row["entity_keys"]) <= set(communities[row["parent_key"]]["entity_keys"])
    placed = pl.read_parquet(tmp_path / "create_final_nodes.parquet")["community"].drop_nulls()
    assert sum(len(row["entity_keys"]) for row in communities.values()) == len(placed) > 100
    assert "vectors were left out: description_embedding" in read.column("notes", "note")


def _write(folder: Path, **tables: Mapping[str, list[Any]]) -> Read:
    for name, columns in tables.items():
        pl.DataFrame(columns, strict=False).write_parquet(folder / f"{name}.parquet")
    return read_folder(folder)


_ENTITIES = {
    "id": ["1", "2", "3"],
    "human_readable_id": [0, 1, 2],
    "title": ["A", "B", "A"],
    "type": ["x", None, "y"],
}


def test_titles_of_ends_become_ids(tmp_path: Path) -> None:
    read = _write(
        tmp_path,
        entities=_ENTITIES,
        relationships={
            "id": ["r", "s", "t"],
            "source": ["A", "B", None],
            "target": ["B", "C", "A"],
            "weight": [2, None, 1],
        },
    )
    told = [(row["head_key"], row["tail_key"], row["weight"]) for row in read.rows("relations")]
    assert told == [("1", "2", 2), ("2", "C", 1)]
    assert read.column("entities", "title") == ["A", "B", "A"]
    assert read.column("quarantine", "reason") == ["its head is blank"]


def test_parents_that_lead_nowhere_are_put_at_the_top(tmp_path: Path) -> None:
    read = _write(
        tmp_path,
        entities=_ENTITIES,
        communities={
            "community": [0, 1, 2, 3, 4, 5, 5],
            "parent": [-1, 0, 3, 2, 9, 5, -1],
            "level": [0, 1, 1, 1, 1, 0, 0],
            "children": [[1], None, [], [], [], [], []],
            "title": ["T"] * 7,
            "entity_ids": [["1"], None, [], [], [], [], []],
        },
    )
    rows = read.rows("communities")
    assert [(row["key"], row["parent_key"]) for row in rows] == [
        ("0", None), ("1", "0"), ("2", None), ("3", None), ("4", None), ("5", None),
    ]  # fmt: skip
    assert rows[1]["entity_keys"] == []
    assert json.loads(rows[2]["attributes"])["parent"] == 3
    assert [(row["row"], row["reason"]) for row in read.rows("repaired")] == [
        (3, "its parents lead back to it; it was put at the top"),
        (4, "its parents lead back to it; it was put at the top"),
        (5, "its parent '9' is no community; it was put at the top"),
        (6, "its parents lead back to it; it was put at the top"),
    ]
    assert read.column("quarantine", "reason") == ["its id '5' is that of a row before it"]


def test_lists_and_texts_may_stand_for_each_other(tmp_path: Path) -> None:
    read = _write(
        tmp_path,
        entities={**_ENTITIES, "description": [["a", "b"], ["c"], []], "text_unit_ids": ["u1,u2", '["u3"]', None]},
        community_reports={
            "id": ["r1", "r2"], "community": ["0", None], "level": [0, 0], "full_content": ["#", "#"],
            "findings": ['[{"summary": "S", "explanation": "E"}]', "S"], "rank": ["high", "2"],
        },
    )  # fmt: skip
    assert read.column("entities", "description") == ["a\nb", "c", ""]
    assert read.column("entities", "text_unit_keys") == [["u1", "u2"], ["u3"], []]
    (report,) = read.rows("reports")
    assert (json.loads(report["findings"]), report["rating"]) == ([{"summary": "S", "explanation": "E"}], 0)
    assert read.column("quarantine", "reason") == ["its community is blank"]


def test_a_file_of_another_table_fails_alone(tmp_path: Path) -> None:
    read = _write(
        tmp_path, entities=_ENTITIES, relationships={"id": ["1"], "name": ["x"]}, text_units={"id": ["u"]}
    )
    assert read.failed["relationships.parquet"].startswith(
        "no column source, which relations of Microsoft GraphRAG have; "
    )
    assert read.failed["text_units.parquet"].startswith(
        "no column text, which text_units of Microsoft GraphRAG have; "
    )
    assert len(read.rows("entities")) == 3


def test_relations_are_read_where_entities_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "create_final_entities.parquet").write_bytes(b"PAR1")
    relations = {"human_readable_id": [1], "source": ["A"], "target": ["B"], "weight": [1.0]}
    read = _write(tmp_path, create_final_relationships=relations)
    assert list(read.failed) == ["create_final_entities.parquet"]
    assert read.column("relations", "head_key") == ["A"]


def test_dates_that_are_none_are_kept_as_written(tmp_path: Path) -> None:
    claims = {
        "id": ["1", "2"], "human_readable_id": [1, 2], "subject_id": ["A", "B"], "object_id": ["NONE", None],
        "type": ["T", None], "status": ["true", "maybe"], "description": ["D", None],
        "start_date": ["1843-12", "last year"], "end_date": ["NONE", None], "text_unit_id": ["u", None],
    }  # fmt: skip
    first, second = _write(tmp_path, covariates=claims).rows("claims")
    assert (first["object"], first["status"], first["start_date"], first["end_date"]) == (
        None,
        "TRUE",
        "1843-12",
        None,
    )
    assert (second["status"], second["start_date"], second["description"]) == ("SUSPECTED", None, "")
    assert json.loads(second["attributes"]) == {
        "human_readable_id": 2, "status": "maybe", "start_date": "last year", "nulls": ["type", "description"],
    }  # fmt: skip
