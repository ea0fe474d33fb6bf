"""Community reports as units of a search context, with what their sentences quote."""

from collections import defaultdict
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.core.language.tasks import ContextUnit, Quote, Span
from graphrag_dagster.core.reports.references import without_citations
from graphrag_dagster.core.search.index import IndexSnapshot

Sentences = tuple[tuple[str, Quote | None], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text unit stands: its document and the unit's first character there."""

    document_id: str
    document_title: str
    path: str
    text: str
    start: int


class ReportUnits:
    """The reports of a level as :class:`ContextUnit`, numbered 1…n by title and id."""

    def __init__(self, index: IndexSnapshot, reports: pl.DataFrame) -> None:
        self._quotes = _quotes(index, set(reports["report_id"]))
        self._places = _places(index, {quote.unit_id for found in self._quotes.values() for quote in found})
        ordered = reports.sort("title", "report_id").select("report_id", "title", "content")
        self._ids: dict[int, str] = {}
        units = []
        for number, (report_id, title, content) in enumerate(ordered.iter_rows(), start=1):
            self._ids[number] = report_id
            units.append(ContextUnit(number, title, without_citations(content), self._sentences(report_id)))
        self.all = tuple(units)
        self._titles = {unit.id: unit.title for unit in units}

    def report_id(self, number: int) -> str:
        """The id of the report with that number."""
        return self._ids[number]

    def title(self, number: int) -> str:
        """The title of the report with that number."""
        return self._titles[number]

    def __contains__(self, number: int) -> bool:
        return number in self._ids

    def quotes(self, number: int) -> list[Quote]:
        """What the report quotes, in its order, each once."""
        return self._quotes.get(self._ids[number], [])

    def place(self, quote: Quote) -> Place | None:
        """Where the quoted unit stands, None for a unit that is not there."""
        return self._places.get(quote.unit_id)

    def words(self, quote: Quote) -> str:
        """The quoted words, exactly as they stand in the document."""
        place = self._places.get(quote.unit_id)
        return place.text[quote.span.start : quote.span.end] if place else ""

    def _sentences(self, report_id: str) -> Sentences:
        return tuple(
            (" ".join(self.words(quote).split()), quote) for quote in self._quotes.get(report_id, [])
        )


def _quotes(index: IndexSnapshot, reports: set[str]) -> dict[str, list[Quote]]:
    found: dict[str, list[Quote]] = defaultdict(list)
    wanted = index.references.filter(
        pl.col("report_id").is_in(list(reports)) & (pl.col("kind") == "text_unit") & pl.col("valid")
    ).sort("report_id", "finding", "position")
    for report_id, unit, start, end in wanted["report_id", "record_id", "start_char", "end_char"].rows():
        quote = Quote(unit, Span(start, end))
        if quote not in found[report_id]:
            found[report_id].append(quote)
    return found


def _places(index: IndexSnapshot, units: set[str]) -> dict[str, Place]:
    documents = index.documents.select("document_id", "title", "path")
    wanted = index.text_chunks.filter(pl.col("text_unit_id").is_in(list(units))).join(
        documents, on="document_id"
    )
    rows = wanted.select("text_unit_id", "document_id", "title", "path", "text", "start_char").rows()
    return {
        unit: Place(document, title, path, text, start) for unit, document, title, path, text, start in rows
    }
