"""Text units with their documents, and words as characters of these."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from graphrag_dagster.core.lineage.rows import Rows
from graphrag_dagster.core.lineage.steps import Words
from graphrag_dagster.core.text.sentences import sentence_spans
from graphrag_dagster.core.text.spans import Span

_UNITS = "corpus.text_chunks"
_ORDER = ("text_unit_id", "human_readable_id", "document_id", "start_char", "end_char", "text")


@dataclass(frozen=True)
class Unit:
    """A text unit: characters ``start`` to ``start + len(text)`` of its document."""

    id: str
    number: int
    document_id: str
    document_title: str
    path: str
    start: int
    text: str

    @cached_property
    def sentences(self) -> Sequence[Span]:
        """The sentences of the text, by rule."""
        return sentence_spans(self.text)

    def words(self, start: int, end: int, *, exact: bool = True) -> Words:
        """Return characters of the unit's text, with the sentences that they touch."""
        touched = [span for span in self.sentences if span.start < end and start < span.end]
        first = min([start, *(span.start for span in touched)])
        last = max([end, *(span.end for span in touched)])
        return Words(
            *(self.document_id, self.document_title, self.path, self.id),
            *(self.start + start, self.start + end, self.text[start:end]),
            *(self.start + first, self.start + last, self.text[first:last]),
            exact=exact,
        )

    def whole(self) -> Words:
        """Return the whole unit, for a row whose words are not known."""
        return self.words(0, len(self.text), exact=False)


def units_of(rows: Rows, ids: Iterable[str]) -> Mapping[str, Unit]:
    """Return text units by id."""
    chunks = rows.of(_UNITS, "text_unit_id", ids, _ORDER)
    documents = rows.of(
        "corpus.documents",
        "document_id",
        chunks["document_id"].unique(),
        ("document_id", "title", "path"),
    )
    placed = chunks.join(documents, on="document_id")
    return {
        one: Unit(one, number, document, title, path, start, text)
        for one, number, document, title, path, start, text in placed.select(
            "text_unit_id", "human_readable_id", "document_id", "title", "path", "start_char", "text"
        ).iter_rows()
    }


def in_corpus_order(rows: Rows, records: pl.DataFrame) -> pl.DataFrame:
    """Return records with ``text_unit_id``, ``round`` and ``position`` in the order of the corpus."""
    order = rows.of(
        _UNITS, "text_unit_id", records["text_unit_id"].unique(), ("text_unit_id", "human_readable_id")
    ).rename({"human_readable_id": "_unit"})
    return records.join(order, on="text_unit_id").sort("_unit", "round", "position").drop("_unit")
