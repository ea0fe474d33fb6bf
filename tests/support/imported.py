"""Graphs that came from elsewhere, put into a warehouse as reading them would."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from graphrag_dagster import tables
from graphrag_dagster.resources.published import Origin, publish
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import parse_settings
from graphrag_dagster.tables import Table

Row = Mapping[str, Any]
_GRAPH = "graph"
STATUSES = ("TRUE", "FALSE", "SUSPECTED")


def write_imported(corpus: str, graph: Mapping[Table, list[Row]], **imports: str) -> Warehouse:
    """Fill the tables of a corpus with rows, and publish them as a corpus of the kind graph."""
    warehouse = Warehouse()
    for table, rows in graph.items():
        warehouse.write(table, corpus, table.frame(rows))
    settings = parse_settings({"kind": "graph", "imports": imports}, "test")
    publish(warehouse, corpus, Origin(settings=settings))
    return warehouse


def microsoft_project(folder: Path) -> dict[Table, list[Row]]:
    """Return the rows that the files of a project of Microsoft GraphRAG are read as."""

    def read(name: str, mapped: Callable[[Row], Row], taken: set[str]) -> list[Row]:
        frame = pl.read_parquet(folder / f"{name}.parquet")
        return [
            {
                "path": f"{name}.parquet",
                "row": place,
                "graph": _GRAPH,
                **mapped(row),
                # What reading changes stays beside it, under its own name.
                "attributes": json.dumps(
                    {k: v for k, v in row.items() if k not in taken or v is None or _foreign(k, v)}
                ),
            }
            for place, row in enumerate(frame.iter_rows(named=True), 1)
        ]

    return {
        tables.IMPORTED_DOCUMENTS: read(
            "documents",
            lambda r: {"key": r["id"], "title": r["title"], "text": r["text"]},
            {"id", "title", "text"},
        ),
        tables.IMPORTED_TEXT_UNITS: read(
            "text_units",
            lambda r: {"key": r["id"], "document_keys": [r["document_id"]], "text": r["text"]},
            {"id", "document_id", "text"},
        ),
        tables.IMPORTED_ENTITIES: read(
            "entities", _entity, {"title", "type", "description", "text_unit_ids"}
        ),
        tables.IMPORTED_RELATIONS: read(
            "relationships",
            _relation,
            {"id", "source", "target", "description", "weight", "text_unit_ids"},
        ),
        tables.IMPORTED_CLAIMS: read(
            "covariates",
            _claim,
            {"id", "subject_id", "type", "status", "description", "start_date", "end_date", "source_text"}
            | {"text_unit_id"},
        ),
        tables.IMPORTED_COMMUNITIES: read(
            "communities",
            lambda r: {
                "key": str(r["community"]),
                "parent_key": None if r["parent"] == -1 else str(r["parent"]),
                "level": r["level"],
                "title": r["title"],
                "entity_keys": [_titles(folder)[one] for one in r["entity_ids"]],
            },
            {"community", "parent", "level", "title", "entity_ids"},
        ),
        tables.IMPORTED_REPORTS: read(
            "community_reports",
            lambda r: {
                "key": r["id"],
                "community_key": str(r["community"]),
                "level": r["level"],
                "title": r["title"],
                "summary": r["summary"],
                "content": r["full_content"],
                "rating": r["rank"],
                "rating_explanation": r["rating_explanation"],
                "findings": json.dumps(r["findings"]),
            },
            {"id", "community", "level", "title", "summary", "full_content", "rank", "rating_explanation"}
            | {"findings"},
        ),
    }


def _foreign(column: str, value: Any) -> bool:
    if column == "subject_id":
        return bool(value != value.upper())
    return column == "status" and value not in STATUSES


def _titles(folder: Path) -> dict[str, str]:
    frame = pl.read_parquet(folder / "entities.parquet", columns=["id", "title"])
    return dict(frame.iter_rows())


def _entity(row: Row) -> Row:
    return {
        "key": row["title"],
        "name": row["title"].upper(),
        "title": row["title"],
        "type": row["type"] or "UNKNOWN",
        "description": row["description"] or "",
        "text_unit_keys": row["text_unit_ids"],
    }


def _relation(row: Row) -> Row:
    return {
        "key": row["id"],
        "head_key": row["source"],
        "tail_key": row["target"],
        "head": row["source"].upper(),
        "tail": row["target"].upper(),
        "label": "",
        "relation": "related_to",
        "weight": row["weight"],
        "description": row["description"],
        "text_unit_keys": row["text_unit_ids"],
        "outcome": "read",
    }


def _claim(row: Row) -> Row:
    return {
        "key": row["id"],
        "subject": row["subject_id"].upper(),
        "object": row["object_id"],
        "type": row["type"] or "UNKNOWN",
        "status": row["status"] if row["status"] in STATUSES else "SUSPECTED",
        "description": row["description"] or "",
        "start_date": row["start_date"],
        "end_date": row["end_date"],
        "quote": row["source_text"] or "",
        "text_unit_key": row["text_unit_id"],
    }
