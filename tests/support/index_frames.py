"""A small index, made by hand, for tests of searches."""

from dataclasses import replace

import polars as pl

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table

DOCUMENT = "The quay was built by Orrin Vask in 1998. Selma Dray opposed the merger of the shipping lines. "


def filled(table: Table, rows: list[dict[str, object]]) -> pl.DataFrame:
    filler: dict[str, object] = {"VARCHAR": "", "INTEGER": 0, "BIGINT": 0, "DOUBLE": 0.0, "BOOLEAN": False}
    blank = {c.name: None if c.nullable else filler.get(c.type, []) for c in table.columns}
    return table.frame([blank | row for row in rows])


def index_of_texts(texts: dict[str, str]) -> IndexSnapshot:
    """One document and one text unit per path, with that text and nothing else."""
    documents = [{"document_id": f"d-{path}", "title": path, "path": path, "text": text} for path, text in texts.items()]  # fmt: skip
    units = [
        {"text_unit_id": f"u-{path}", "human_readable_id": number, "document_id": f"d-{path}", "text": text}
        for number, (path, text) in enumerate(texts.items())
    ]
    return replace(
        index_of({}),
        documents=filled(tables.DOCUMENTS, documents),
        text_chunks=filled(tables.TEXT_CHUNKS, units),
    )


def index_of(reports: dict[str, str], level: int = 0) -> IndexSnapshot:
    """One report per title with that content, all in C0 … C3; the first quotes the first sentence."""
    ids = [f"r{n}" for n, _ in enumerate(reports)]
    content = [
        {"report_id": i, "title": title, "content": text, "level": level, "engine": "extractive"}
        for i, (title, text) in zip(ids, reports.items(), strict=True)
    ]
    levels = [{"level": k, "entity_id": f"e{i}", "community_id": i} for k in range(4) for i in ids]
    first, second = DOCUMENT.index("Selma"), len(DOCUMENT.rstrip())
    quoted = [(0, first - 1), (first, second)]
    references = [
        {"report_id": i, "finding": 0, "kind": "text_unit", "record_id": "u", "cited_as": "u", "valid": True,
         "start_char": quoted[n % 2][0], "end_char": quoted[n % 2][1]}
        for n, i in enumerate(ids)
    ]  # fmt: skip
    return IndexSnapshot(
        documents=filled(
            tables.DOCUMENTS,
            [{"document_id": "d", "title": "Doc", "path": "a/doc.txt", "text": "12345" + DOCUMENT}],
        ),
        text_chunks=filled(
            tables.TEXT_CHUNKS, [{"text_unit_id": "u", "document_id": "d", "start_char": 5, "text": DOCUMENT}]
        ),
        entities=tables.ENTITIES.empty(),
        relationships=tables.RELATIONSHIPS.empty(),
        communities=tables.COMMUNITIES.empty(),
        community_levels=filled(tables.COMMUNITY_LEVELS, levels),
        reports=filled(tables.COMMUNITY_REPORTS, content),
        findings=tables.REPORT_FINDINGS.empty(),
        references=filled(tables.REPORT_REFERENCES, references),
        metadata=tables.DOCUMENT_METADATA.empty(),
        periods=tables.DOCUMENT_PERIODS.empty(),
    )
