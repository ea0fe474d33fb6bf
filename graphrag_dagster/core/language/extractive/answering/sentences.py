"""The sentences that an answer may be chosen from, as they stand in the rows of the context."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_dagster.core.language.extractive.parsing.quotable import readability
from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.text.lines import Line
from graphrag_dagster.core.text.turns import speaker_before


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a row of a chunk; ``place`` counts from 0 inside the row."""

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
        """The sentence without the label of its speaker."""
        return self.text[speaker_before(self.text)[1] :]

    @property
    def document(self) -> str:
        """What stands for its document: its id, or the row where that is not known."""
        known = self.row.background.document(self.quote.unit_id) if self.row.background and self.quote else ""
        return known or f"row {self.row.id}"

    @property
    def quotable(self) -> bool:
        """Whether it is a whole sentence."""
        told = self.quote is not None and self.row.background is not None and self.row.background.told()
        return told or readability(self.text) > 0


def sentences_of(chunks: Sequence[Sequence[ContextUnit]]) -> list[Sentence]:
    """Return all sentences of the rows of chunks, in their order."""
    return [
        Sentence(text, quote, row, place, number)
        for number, chunk in enumerate(chunks)
        for row in chunk
        for place, (text, quote) in enumerate(row.sentences)
    ]
