"""Background of quoted text units from the tables, and the judge of support."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot, RowsById
from graphrag_dagster.kernel.questions.statement_reading import stands_in
from graphrag_dagster.kernel.questions.support_by_words import JudgeByWords
from graphrag_dagster.kernel.retrieval.index_cache import kept
from graphrag_dagster.kernel.tasks.answering_ports import Cited, Judged, SupportJudge, SupportOf
from graphrag_dagster.kernel.tasks.task_ports import Quote, Usage
from graphrag_dagster.kernel.text.distinctive_phrases import Phrase, phrases
from graphrag_dagster.kernel.text.markup_spans import Span, code_blocks
from graphrag_dagster.kernel.text.text_similarity import stems

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
    rows = kept(index.shelf, "phrases", lambda: _Rows(_told_apart_by(index)), _Rows).rows.iter_rows()
    return [Phrase(form, tuple(stems), documents) for form, stems, documents in rows]


def _told_apart_by(index: IndexSnapshot) -> pl.DataFrame:
    ordered = index.text_chunks.sort("human_readable_id", "text_unit_id")
    found = phrases(ordered["text"].to_list(), ordered["document_id"].to_list(), _MOST_PHRASES)
    rows = [(one.form, list(one.stems), one.documents) for one in found]
    return pl.DataFrame(rows, _PHRASE, orient="row")


def _edges(index: IndexSnapshot, document_id: str) -> tuple[int, int]:
    """Where the first text unit of a document begins and the last one ends."""
    own = index.text_chunks.filter(pl.col("document_id") == document_id)
    edges: tuple[int, int] = own.select(pl.col("start_char").min(), pl.col("end_char").max()).row(0)
    return edges


def _code(index: IndexSnapshot, unit_id: str) -> list[Span]:
    passage = index.passages.get(unit_id)
    return code_blocks(passage.text) if passage else []


def _names(index: IndexSnapshot) -> RowsById:
    found = kept(index.shelf, "found", lambda: _Rows(_found(index)), _Rows).rows
    return RowsById(found, "text_unit_id", ("title", "type"))


def _found(index: IndexSnapshot) -> pl.DataFrame:
    rows = index.entities.select("title", "type", text_unit_id="text_unit_ids").explode("text_unit_id")
    return rows.drop_nulls("text_unit_id").sort("text_unit_id", "title", "type")


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows, as they are kept."""

    rows: pl.DataFrame


_SUPPORTED = SupportOf("supported", 1.0)
_WORDLESS = SupportOf("not", 0.0, "no words of the documents were found for what it cites")


class Support:
    """Compares statements with quotations, and has it judged whether these support them.

    Args:
        embedder: makes the vectors; None compares words alone.
        judge: says what supports what; default: by words.
    """

    def __init__(self, embedder: Embedder | None = None, judge: SupportJudge | None = None) -> None:
        self._embedder = embedder
        self._judge = judge or JudgeByWords(embedder)

    def by(self, judge: SupportJudge) -> "Support":
        """Return the same with another judge."""
        return Support(self._embedder, judge)

    def similarities(self, statement: str, quotations: Sequence[str]) -> list[float]:
        """Return the similarity, 0–1, of a statement to each quotation.

        It is the mean of cosine and of shared words, the share of the statement's meaningful word stems that
        the quotation has. The same words give 1, whatever the blanks and marks between them.
        """
        if not quotations:
            return []
        wanted = set(stems(statement))
        shared = [len(wanted & set(stems(one))) / len(wanted) if wanted else 0.0 for one in quotations]
        near = self._cosines(statement, quotations)
        return [
            1.0 if stands_in(statement, one) else round(min((share + cosine) / 2, 0.999), 3)
            for one, share, cosine in zip(quotations, shared, near or shared, strict=True)
        ]

    def judged(self, statements: Sequence[Cited]) -> Judged:
        """Return whether the words support each statement.

        What stands in the words, word after word, is supported, and what cites none is not; nobody is asked
        about these.
        """
        found = [_without_judge(one) for one in statements]
        open_ = [one for one, known in zip(statements, found, strict=True) if known is None]
        made = self._judge.judge(open_) if open_ else Judged((), Usage())
        rest = iter(made.items)
        return Judged(tuple(known or next(rest) for known in found), made.usage)

    def _cosines(self, statement: str, quotations: Sequence[str]) -> list[float]:
        if self._embedder is None:
            return []
        vectors = self._embedder.embed([statement, *quotations])
        return [max(float(cosine), 0.0) for cosine in cosines(vectors[1:], vectors[0])]


def _without_judge(cited: Cited) -> SupportOf | None:
    if not cited.words:
        return _WORDLESS
    return _SUPPORTED if any(stands_in(cited.statement, one) for one in cited.words) else None
