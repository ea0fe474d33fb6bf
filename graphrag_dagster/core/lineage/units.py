"""Text units by id, and records in the order of theirs."""

from collections.abc import Iterable, Mapping

import polars as pl

from graphrag_dagster.core.lineage.rows import Rows
from graphrag_dagster.core.lineage.steps import Step
from graphrag_dagster.core.text.evidence import Words
from graphrag_dagster.core.text.passages import Passage, passages_of

_UNITS = "corpus.text_chunks"
_COLUMNS = ("text_unit_id", "human_readable_id", "document_id", "start_char", "text")


def units_of(rows: Rows, ids: Iterable[str]) -> Mapping[str, Passage]:
    """Return text units by id."""
    chunks = rows.of(_UNITS, "text_unit_id", ids, _COLUMNS)
    documents = rows.of(
        "corpus.documents",
        "document_id",
        chunks["document_id"].unique(),
        ("document_id", "title", "path", "row"),
    )
    return passages_of(chunks, documents)


def unit_step(unit: Passage, words: tuple[Words, ...]) -> Step:
    """Return a text unit with words of it."""
    facts = {
        "human_readable_id": unit.human_readable_id,
        "document_id": unit.document_id,
        "document_title": unit.document_title,
        "start_char": unit.start_char,
        "end_char": unit.end_char,
    }
    return Step("text_unit", unit.text_unit_id, unit.path, facts=facts, evidence=words)


def in_corpus_order(rows: Rows, records: pl.DataFrame) -> pl.DataFrame:
    """Return records with ``text_unit_id``, ``round`` and ``position`` in the order of the corpus."""
    order = rows.of(
        _UNITS, "text_unit_id", records["text_unit_id"].unique(), ("text_unit_id", "human_readable_id")
    ).rename({"human_readable_id": "_unit"})
    return records.join(order, on="text_unit_id").sort("_unit", "round", "position").drop("_unit")
