"""What the tables tell of the text units that are quoted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from graphrag_dagster.core.language.tasks import Quote
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.rows_by_id import RowsById
from graphrag_dagster.core.search.kept import kept, mapped_frame, write_frames
from graphrag_dagster.core.text.marks import code_blocks
from graphrag_dagster.core.text.phrases import Phrase, phrases
from graphrag_dagster.core.text.spans import Span

_MOST_PHRASES = 60
_PHRASE: dict[str, pl.DataType] = {"form": pl.String(), "stems": pl.List(pl.String), "documents": pl.Int64()}


class IndexBackground:
    """Documents of text units, and the entities found in them; looked up when they are first asked for."""

    def __init__(self, index: IndexSnapshot) -> None:
        self._index = index

    def document(self, unit_id: str) -> str:
        """Return the id of a text unit's document, blank for an unknown unit."""
        passage = self._index.passages.get(unit_id)
        return passage.document_id if passage else ""

    def names(self, unit_id: str) -> Sequence[tuple[str, str]]:
        """Return titles and types of the entities that were found in a text unit."""
        return self._index.once(_names).all(unit_id)

    def phrases(self) -> Sequence[Phrase]:
        """Return what tells the documents apart, the weightiest phrase first."""
        return self._index.once(_phrases)

    def told(self) -> bool:
        """Whether the text units are a graph told in words: each of their sentences stands for itself."""
        return self._index.sentences is not None

    def words(self, quote: Quote) -> str:
        """Return the quoted words, exactly as they stand; nothing for an unknown unit."""
        return self._index.words(quote)

    def cut(self, quote: Quote) -> bool:
        """Return whether words stand at an edge of their text unit behind which the document goes on."""
        passage = self._index.passages.get(quote.unit_id)
        if passage is None:
            return False
        first, last = self._index.once(_edges, passage.document_id)
        text, span = passage.text, quote.span
        before = not text[: span.start].strip() and passage.start_char > first
        return before or (not text[span.end :].strip() and passage.end_char < last)

    def code(self, quote: Quote) -> bool:
        """Return whether words stand in a block of code."""
        blocks = self._index.once(_code, quote.unit_id)
        return any(one.start <= quote.span.start and quote.span.end <= one.end for one in blocks)


def prepare_background(index: IndexSnapshot) -> None:
    """Make what is kept of the background of an index."""
    index.once(_names)
    index.once(_phrases)


def _phrases(index: IndexSnapshot) -> list[Phrase]:
    return kept(index.shelf, "phrases", lambda: _Phrases(_told_apart_by(index)), _Phrases.opened).all


def _told_apart_by(index: IndexSnapshot) -> list[Phrase]:
    ordered = index.text_chunks.sort("human_readable_id", "text_unit_id")
    return phrases(ordered["text"].to_list(), ordered["document_id"].to_list(), _MOST_PHRASES)


def _edges(index: IndexSnapshot, document_id: str) -> tuple[int, int]:
    """Where the first text unit of a document begins and the last one ends."""
    own = index.text_chunks.filter(pl.col("document_id") == document_id)
    edges: tuple[int, int] = own.select(pl.col("start_char").min(), pl.col("end_char").max()).row(0)
    return edges


def _code(index: IndexSnapshot, unit_id: str) -> list[Span]:
    passage = index.passages.get(unit_id)
    return code_blocks(passage.text) if passage else []


def _names(index: IndexSnapshot) -> RowsById:
    return kept(index.shelf, "found", lambda: _Found(_found(index)), _Found.opened).by_unit


def _found(index: IndexSnapshot) -> pl.DataFrame:
    rows = index.entities.select("title", "type", text_unit_id="text_unit_ids").explode("text_unit_id")
    return rows.drop_nulls("text_unit_id").sort("text_unit_id", "title", "type")


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Phrases, as they are kept."""

    all: list[Phrase]

    def write(self, folder: Path) -> None:
        rows = [(one.form, list(one.stems), one.documents) for one in self.all]
        write_frames(folder, {"phrases": pl.DataFrame(rows, _PHRASE, orient="row")})

    @classmethod
    def opened(cls, folder: Path) -> "_Phrases":
        rows = mapped_frame(folder, "phrases").iter_rows()
        return cls([Phrase(form, tuple(stems), documents) for form, stems, documents in rows])


@dataclass(frozen=True, slots=True)
class _Found:
    """Titles and types of the entities that were found in text units, as they are kept."""

    rows: pl.DataFrame

    @property
    def by_unit(self) -> RowsById:
        return RowsById(self.rows, "text_unit_id", ("title", "type"))

    def write(self, folder: Path) -> None:
        write_frames(folder, {"found": self.rows})

    @classmethod
    def opened(cls, folder: Path) -> "_Found":
        return cls(mapped_frame(folder, "found"))
