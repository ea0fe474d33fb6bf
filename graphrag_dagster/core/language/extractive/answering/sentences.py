"""The sentences that an answer may be chosen from, as they stand in the rows of the context."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_dagster.core.language.extractive.parsing.quotable import is_whole, readability
from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.text.lines import Line
from graphrag_dagster.core.text.marks import mark_before, mark_behind
from graphrag_dagster.core.text.spans import Span
from graphrag_dagster.core.text.turns import speaker_before


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a row of a chunk, with the marks of its list; ``place`` counts from 0 inside the row."""

    text: str
    quote: Quote | None
    row: ContextUnit
    place: int
    chunk: int

    @property
    def line(self) -> Line:
        """The sentence as it is compared with a question."""
        return Line(self.text, self.place, len(self.row.sentences), self.row.id, self.row.title)

    @property
    def said(self) -> str:
        """The sentence without the mark of its list and the label of its speaker."""
        words = self.words
        return words[speaker_before(words)[1] :]

    @property
    def words(self) -> str:
        """The sentence without marks before and behind it."""
        text = self.text[mark_before(self.text) :]
        return text[: len(text) - mark_behind(text)]

    @property
    def quotation(self) -> tuple[str, int, Quote | None]:
        """The words to be shown, the id of the row, and where exactly these words stand."""
        return self.words, self.row.id, self._of_words()

    def _of_words(self) -> Quote | None:
        if self.quote is None or self.row.background is None or self.words == self.text:
            return self.quote
        exact = self.row.background.words(self.quote)
        start = mark_before(exact)
        span = self.quote.span
        return Quote(self.quote.unit_id, Span(span.start + start, span.end - mark_behind(exact[start:])))

    @property
    def document(self) -> str:
        """What stands for its document: its id, or the row where that is not known."""
        known = self.row.background.document(self.quote.unit_id) if self.row.background and self.quote else ""
        return known or f"row {self.row.id}"

    @property
    def quotable(self) -> bool:
        """Whether it can be read, is no code, and its text unit does not cut it off."""
        background, quote = self.row.background, self.quote
        if quote and background and background.told():
            return True
        if not readability(self.text):
            return False
        if quote is None or background is None:
            return True
        return not background.code(quote) and (is_whole(self.text) or not background.cut(quote))


def sentences_of(chunks: Sequence[Sequence[ContextUnit]]) -> list[Sentence]:
    """Return all sentences of the rows of chunks, in their order."""
    return [
        Sentence(text, quote, row, place, number)
        for number, chunk in enumerate(chunks)
        for row in chunk
        for place, (text, quote) in enumerate(row.sentences)
    ]
