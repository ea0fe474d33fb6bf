"""Documents that only name people and places, as the tables that resolution reads and makes."""

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions
from graphrag_dagster.systems.graphrag.resolution.resolution_tables import resolve_corpus
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES, DECISIONS
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES

#: Names with their types by path; what follows a # tells documents of one file apart.
Texts = dict[str, list[tuple[str, str]]]


def frames_of(texts: Texts) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Instances, units and documents: each document one unit, each of its names a sentence."""
    gleaned, chunks, documents = [], [], []
    for number, (path, names) in enumerate(texts.items()):
        text = " ".join(f"{name} spoke." for name, _ in names)
        identity = f"d-{path}"
        documents.append({"document_id": identity, "human_readable_id": number, "path": path.split("#")[0], "title": path, "text": text})  # fmt: skip
        chunks.append({"text_unit_id": f"u{number}", "human_readable_id": number, "document_id": identity, "start_char": 0, "end_char": len(text), "text": text})  # fmt: skip
        at = 0
        for place, (name, kind) in enumerate(names):
            span = {"start": at, "end": at + len(name)}
            gleaned.append({"instance_id": f"u{number}-{place}", "text_unit_id": f"u{number}", "round": 0, "position": place, "name": normalise(name), "surface": name, "type": kind, "spans": [span]})  # fmt: skip
            at += len(name) + len(" spoke. ")
    return (
        GLEANED_ENTITIES.rows(gleaned),
        tables.TEXT_CHUNKS.rows(chunks),
        tables.DOCUMENTS.rows(documents),
    )


def write_tables(warehouse: Warehouse, corpus: str, texts: Texts, said: Decisions | None = None) -> None:
    """Write the tables of documents, resolution and entities of a corpus."""
    gleaned, chunks, documents = frames_of(texts)
    found = resolve_corpus(gleaned, chunks, documents, said or Decisions())
    named = (
        found.aliases.group_by("entity").agg(pl.col("title", "type").first(), units=pl.len()).sort("entity")
    )
    entities = [
        {"entity_id": stable_id("entity", name), "human_readable_id": number, "name": name, "title": title,
         "names": [title], "type": kind, "description": "", "description_engine": "as_is", "text_unit_ids": [],
         "frequency": units, "instances": units, "degree": 0}
        for number, (name, title, kind, units) in enumerate(named.iter_rows())
    ]  # fmt: skip
    for table, frame in (
        (tables.DOCUMENTS, documents),
        (DECISIONS, found.decisions),
        (ALIASES, found.aliases),
        (tables.ENTITIES, tables.ENTITIES.rows(entities)),
    ):
        warehouse.write(table, corpus, frame.with_columns(_filled(frame, table)))


def _filled(frame: pl.DataFrame, table: Table) -> list[pl.Expr]:
    """What the test leaves open and may not be null is empty."""
    blank = {pl.String: "", pl.Int32: 0}
    open_ = (c.name for c in table.columns if not c.nullable and frame.schema[c.name] in blank)
    return [pl.col(name).fill_null(blank[frame.schema[name]]) for name in open_]
