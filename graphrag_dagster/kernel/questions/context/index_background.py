"""Background of quoted text units from the index, and the judging of support."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot, RowsById
from graphrag_dagster.kernel.questions.scope.course_of_time import own_days
from graphrag_dagster.kernel.storage.index_cache import load_or_build
from graphrag_dagster.kernel.tasks.answering_ports import Cited, Judged, SupportJudge, SupportOf
from graphrag_dagster.kernel.tasks.support_by_words import JudgeByWords
from graphrag_dagster.kernel.tasks.task_ports import Quote
from graphrag_dagster.kernel.text.distinctive_phrases import Phrase, phrases
from graphrag_dagster.kernel.text.markup_spans import Span, code_blocks
from graphrag_dagster.kernel.text.statement_reading import is_stated_in
from graphrag_dagster.kernel.text.text_similarity import stems

_MOST_PHRASES = 60
_PHRASE: dict[str, pl.DataType] = {"form": pl.String(), "stems": pl.List(pl.String), "documents": pl.Int64()}


class IndexBackground:
    """Documents of text units and the entities extracted from them, looked up lazily."""

    def __init__(self, index: IndexSnapshot) -> None:
        self._index = index

    def document(self, unit_id: str) -> str:
        """Return the id of a text unit's document; blank for an unknown unit."""
        passage = self._index.passages.get(unit_id)
        return passage.document_id if passage else ""

    def before(self, unit_id: str) -> str | None:
        """Return the id of the text unit before one in its document, None for the first."""
        return self._index.once(_before).get(unit_id)

    def day(self, unit_id: str) -> datetime.date | None:
        """Return the first day of the own period of a text unit's document, None without one."""
        return self._index.once(own_days).get(self.document(unit_id))

    def names(self, unit_id: str) -> Sequence[tuple[str, str]]:
        """Return titles and types of the entities extracted from a text unit."""
        return self._index.once(_names).all(unit_id)

    def phrases(self) -> Sequence[Phrase]:
        """Return the phrases that distinguish the documents, highest weight first."""
        return self._index.once(_phrases)

    def told(self) -> bool:
        """Return whether the text units were generated from a graph, so each sentence stands alone."""
        return self._index.sentences is not None

    def words(self, quote: Quote) -> str:
        """Return the quoted words verbatim; blank for an unknown unit."""
        return self._index.words(quote)

    def cut(self, quote: Quote) -> bool:
        """Return whether a quotation touches an edge of its text unit beyond which the document continues."""
        passage = self._index.passages.get(quote.unit_id)
        if passage is None:
            return False
        first, last = self._index.once(_edges, passage.document_id)
        text, span = passage.text, quote.span
        before = not text[: span.start].strip() and passage.start_char > first
        return before or (not text[span.end :].strip() and passage.end_char < last)

    def code(self, quote: Quote) -> bool:
        """Return whether a quotation is in a code block."""
        blocks = self._index.once(_code, quote.unit_id)
        return any(block.start <= quote.span.start and quote.span.end <= block.end for block in blocks)


def prepare_background(index: IndexSnapshot) -> None:
    """Compute the background of an index and store it on its shelf."""
    index.once(_names)
    index.once(_phrases)


def _phrases(index: IndexSnapshot) -> list[Phrase]:
    rows = load_or_build(
        index.shelf, "phrases", lambda: _Rows(_distinguishing_words(index)), _Rows
    ).rows.iter_rows()
    return [Phrase(form, tuple(stems), documents) for form, stems, documents in rows]


def _distinguishing_words(index: IndexSnapshot) -> pl.DataFrame:
    ordered = index.text_chunks.sort("human_readable_id", "text_unit_id")
    top_phrases = phrases(ordered["text"].to_list(), ordered["document_id"].to_list(), _MOST_PHRASES)
    rows = [(phrase.form, list(phrase.stems), phrase.documents) for phrase in top_phrases]
    return pl.DataFrame(rows, _PHRASE, orient="row")


def _before(index: IndexSnapshot) -> dict[str, str | None]:
    ordered = index.text_chunks.sort("document_id", "start_char", "end_char")
    return dict(
        ordered.select(
            "text_unit_id", pl.col("text_unit_id").shift(1).over("document_id").alias("before")
        ).iter_rows()
    )


def _edges(index: IndexSnapshot, document_id: str) -> tuple[int, int]:
    """Return where the first text unit of a document begins and the last one ends."""
    chunks = index.text_chunks.filter(pl.col("document_id") == document_id)
    edges: tuple[int, int] = chunks.select(pl.col("start_char").min(), pl.col("end_char").max()).row(0)
    return edges


def _code(index: IndexSnapshot, unit_id: str) -> list[Span]:
    passage = index.passages.get(unit_id)
    return code_blocks(passage.text) if passage else []


def _names(index: IndexSnapshot) -> RowsById:
    rows = load_or_build(index.shelf, "found", lambda: _Rows(_find_names(index)), _Rows).rows
    return RowsById(rows, "text_unit_id", ("title", "type"))


def _find_names(index: IndexSnapshot) -> pl.DataFrame:
    rows = index.entities.select("title", "type", text_unit_id="text_unit_ids").explode("text_unit_id")
    return rows.drop_nulls("text_unit_id").sort("text_unit_id", "title", "type")


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows in the form that is stored on a shelf."""

    rows: pl.DataFrame


_SUPPORTED = SupportOf("supported", 1.0)
_WORDLESS = SupportOf("not", 0.0, "no words of the documents were found for what it cites")


class Support:
    """Compares statements with quotations and judges whether these support them.

    Args:
        embedder: makes the vectors; None compares words alone.
        judge: of support; default: by words.
    """

    def __init__(self, embedder: Embedder | None = None, judge: SupportJudge | None = None) -> None:
        self._embedder = embedder
        self._judge = judge or JudgeByWords(embedder)

    def with_judge(self, judge: SupportJudge) -> "Support":
        """Return a copy with another judge."""
        return Support(self._embedder, judge)

    def similarities(self, statement: str, quotations: Sequence[str]) -> list[float]:
        """Return the similarity, 0–1, of a statement to each quotation.

        It is the mean of the cosine and the share of the statement's meaningful stems that the quotation has.
        The same words give 1, whatever the whitespace and punctuation between them.
        """
        if not quotations:
            return []
        wanted = set(stems(statement))
        shared = [
            len(wanted & set(stems(quotation))) / len(wanted) if wanted else 0.0 for quotation in quotations
        ]
        cosines_to_each = self._cosines(statement, quotations)
        return [
            1.0 if is_stated_in(statement, quotation) else round(min((share + cosine) / 2, 0.999), 3)
            for quotation, share, cosine in zip(quotations, shared, cosines_to_each or shared, strict=True)
        ]

    def judged(self, statements: Sequence[Cited]) -> Judged:
        """Judge whether the cited words support each statement.

        Statements that occur in their cited words verbatim are supported, and those without cited words are
        not; only the others go to the judge.
        """
        decided = [_without_judge(statement) for statement in statements]
        undecided = [statement for statement, known in zip(statements, decided, strict=True) if known is None]
        judged = self._judge.judge(undecided) if undecided else Judged((), Usage())
        rest = iter(judged.items)
        return Judged(tuple(known or next(rest) for known in decided), judged.usage)

    def _cosines(self, statement: str, quotations: Sequence[str]) -> list[float]:
        if self._embedder is None:
            return []
        vectors = self._embedder.embed([statement, *quotations])
        return [max(float(cosine), 0.0) for cosine in cosines(vectors[1:], vectors[0])]


def _without_judge(cited: Cited) -> SupportOf | None:
    if not cited.words:
        return _WORDLESS
    return _SUPPORTED if any(is_stated_in(cited.statement, words) for words in cited.words) else None
