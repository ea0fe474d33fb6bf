"""The JSON stores of LightRAG and nano-graphrag: documents, text units, and community reports."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import items, one_line, to_json
from graphrag_dagster.apps.interchange.graph_rows.import_batches import (
    ImportBatch,
    ReadAccount,
    cap_texts,
    types_of,
)
from graphrag_dagster.apps.interchange.graph_rows.table_rows import UNKNOWN_TYPE
from graphrag_dagster.apps.interchange.readers.text_lines import parse_json, whole_text
from graphrag_dagster.apps.interchange.readers.xml_graphs import graphml_batches
from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.documents.file_records import UnreadableError, clean

#: The file that holds the graph, and what the others hold.
GRAPH_FILE = "graph_chunk_entity_relation.graphml"
STORES = {
    "kv_store_full_docs.json": "documents",
    "kv_store_text_chunks.json": "text_units",
    "kv_store_community_reports.json": "reports",
}
#: Where LightRAG does not know a document's file.
_UNKNOWN_FILE = "unknown_source"


def store_graph_batches(stream: BinaryIO, graph: str, account: ReadAccount) -> Iterator[ImportBatch]:
    """Yield the entities and relations; titles and types without the quotes of nano-graphrag.

    Raises:
        RefusedError: it declares entities of XML.
        UnreadableError: no GraphML.
    """
    for batch in graphml_batches(stream, graph, account):
        if batch.table == "entities":
            bare = pl.col("title", "type").str.strip_chars('"').str.strip_chars()
            frame = batch.frame.with_columns(bare)
            title = pl.when(pl.col("title") == "").then("key").otherwise("title")
            # Of an entity that relations name and no text describes.
            described = (
                pl.when(pl.col("description") == UNKNOWN_TYPE).then(pl.lit("")).otherwise("description")
            )
            yield ImportBatch(
                "entities", frame.with_columns(title.alias("title"), described.alias("description"))
            )
        else:
            yield batch


def store_batches(
    stream: BinaryIO, record: str, graph: str, account: ReadAccount, limits: FileLimits
) -> Iterator[ImportBatch]:
    """Yield what a store holds; rows are its entries, counted from 1. It is read whole.

    Raises:
        RefusedError: not text.
        UnreadableError: no JSON object, or too large.
    """
    entries = _entries(stream, limits)
    if record == "reports":
        yield from _reports(entries, graph, account)
        return
    rows = []
    for row, (key, entry) in enumerate(entries.items(), start=1):
        text = entry.get("content") if isinstance(entry, Mapping) else None
        cleaned = one_line(key)
        if not isinstance(text, str) or not isinstance(entry, Mapping) or cleaned is None:
            account.malformed(record, row, "no object with a content, or no id", to_json({key: entry}))
            continue
        file = one_line(entry.get("file_path"))
        told = {
            "key": cleaned,
            "text": clean(text),
            "title": file if file and file != _UNKNOWN_FILE else cleaned,
            "document_keys": items(entry.get("full_doc_id")),
        }
        taken = ("content", "full_doc_id")
        rows.append(_row(row, graph, account, told, {n: v for n, v in entry.items() if n not in taken}))
    yield from account.records(record, _frame(record, rows), {})


def _entries(stream: BinaryIO, limits: FileLimits) -> Mapping[str, object]:
    found = parse_json(whole_text(stream, limits))
    if not isinstance(found, dict):
        raise UnreadableError("no JSON object of entries by their id, which a store is")
    return found


def _reports(entries: Mapping[str, object], graph: str, account: ReadAccount) -> Iterator[ImportBatch]:
    """A report holds its community too."""
    parents = {
        child: key
        for key, entry in entries.items()
        if isinstance(entry, Mapping)
        for child in items(entry.get("sub_communities"))
    }
    reports, communities = [], []
    for row, (key, entry) in enumerate(entries.items(), start=1):
        cleaned = one_line(key)
        level = entry.get("level") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or cleaned is None or type(level) is not int or level < 0:
            account.malformed("reports", row, "no object with a level, or no id", to_json({key: entry}))
            continue
        told = entry.get("report_json")
        report = told if isinstance(told, Mapping) else {}
        rating = report.get("rating")
        title = one_line(entry.get("title")) or cleaned
        texts = {name: clean(str(report.get(name) or "")) for name in ("summary", "rating_explanation")}
        values = {
            "key": cleaned,
            "community_key": cleaned,
            "level": level,
            "title": one_line(report.get("title")) or title,
            "content": clean(str(entry.get("report_string") or "")),
            "rating": rating_of(rating),
            "findings": findings_json(report.get("findings"))[0],
        }
        reports.append(_row(row, graph, account, {**texts, **values}, {}))
        parent = parents.get(cleaned)
        community = {
            "key": cleaned,
            "parent_key": parent if parent != cleaned else None,
            "level": level,
            "title": title,
            "entity_keys": items(entry.get("nodes")),
        }
        taken = ("report_json", "report_string", "level", "nodes", "title")
        others = {name: value for name, value in entry.items() if name not in taken}
        communities.append(_row(row, graph, account, community, others))
    yield from account.records("reports", _frame("reports", reports), {})
    if communities:
        yield ImportBatch("communities", cap_texts(_frame("communities", communities))[0])


def _row(
    row: int, graph: str, account: ReadAccount, told: Mapping[str, object], others: Mapping[str, object]
) -> dict[str, object]:
    kept = {name: value for name, value in others.items() if value is not None}
    return {"path": account.path, "row": row, "graph": graph, **told, "attributes": to_json(kept)}


def _frame(record: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    types = types_of(record)
    return pl.DataFrame([{name: row[name] for name in types} for row in rows], schema=types)


_HIGHEST = 10.0


def findings_json(told: object) -> tuple[str, bool]:
    """Return findings as a JSON list of objects with ``summary`` and ``explanation``, and whether all fit.

    They may be a list of objects or of texts, or JSON of either; nothing is no finding.
    """
    if isinstance(told, str):
        try:
            told = json.loads(told) if told.strip() else []
        except (ValueError, RecursionError):
            told = [told]
    found, fits = [], told is None or isinstance(told, list)
    for one in told if isinstance(told, list) else []:
        if isinstance(one, str):
            found.append({"summary": clean(one), "explanation": ""})
        elif isinstance(one, Mapping):
            found.append({name: clean(str(one.get(name) or "")) for name in ("summary", "explanation")})
        else:
            fits = False
    return to_json(found), fits


def rating_of(told: object) -> float:
    """Return a rating from 0 to 10, 0 where there is none.

    >>> [rating_of(told) for told in (7, "8.5", float("inf"), None, 1e308, -3)]
    [7.0, 8.5, 0.0, 0.0, 10.0, 0.0]
    """
    try:
        rating = float(told) if isinstance(told, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return min(max(rating, 0.0), _HIGHEST) if math.isfinite(rating) else 0.0
