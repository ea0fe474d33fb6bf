"""Community reports as units of a search context, and the words of the documents they rest on."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.core.corpus.sentences import sentence_spans
from graphrag_dagster.core.language.tasks import ContextUnit, Quote, Span
from graphrag_dagster.core.reports.references import without_citations
from graphrag_dagster.core.search.index import IndexSnapshot

Sentences = tuple[tuple[str, Quote | None], ...]

_MOST_FOUND = 12


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text unit stands: its document and the unit's first character there."""

    document_id: str
    document_title: str
    path: str
    text: str
    start: int


class ReportUnits:
    """The reports of a level as :class:`ContextUnit`, numbered 1…n by title and id.

    The text of a unit is the report without its own citations, which mean nothing outside of it. Its
    sentences are what the report quotes, or where it quotes nothing, the sentences of the report itself.
    """

    def __init__(self, index: IndexSnapshot, reports: pl.DataFrame) -> None:
        self._index = index
        self._quotes = _quotes(index, reports)
        self._found: dict[str, list[Quote]] = {}
        self._places = _places(index, {quote.unit_id for found in self._quotes.values() for quote in found})
        ordered = reports.sort("title", "report_id").select("report_id", "title", "content")
        self._ids: dict[int, str] = {}
        units = []
        for number, (report_id, title, content) in enumerate(ordered.iter_rows(), start=1):
            self._ids[number] = report_id
            text = without_citations(content).removeprefix(f"# {title}").strip()
            units.append(ContextUnit(number, title, text, self._sentences(report_id, text)))
        self.all = tuple(units)
        self._titles = {unit.id: unit.title for unit in units}

    def report_id(self, number: int) -> str:
        """Return the id of the report with that number."""
        return self._ids[number]

    def title(self, number: int) -> str:
        """Return the title of the report with that number."""
        return self._titles[number]

    def quotes(self, number: int) -> list[Quote]:
        """Return what the report rests on, each once.

        That is what it quotes, in its order; where it quotes nothing, the first sentences of the documents
        that name both ends of the relationships, then the entities, that it cites.
        """
        report_id = self._ids[number]
        if found := self._quotes.get(report_id):
            return found
        if report_id not in self._found:
            self._found[report_id] = list(dict.fromkeys(self._named_in(report_id)))[:_MOST_FOUND]
        return self._found[report_id]

    def place(self, quote: Quote) -> Place | None:
        """Return where the quoted unit stands, None for a unit that is not there."""
        if quote.unit_id not in self._places:
            self._places |= _places(self._index, {quote.unit_id})
        return self._places.get(quote.unit_id)

    def words(self, quote: Quote) -> str:
        """Return the quoted words, exactly as they stand in the document."""
        place = self.place(quote)
        return place.text[quote.span.start : quote.span.end] if place else ""

    def _sentences(self, report_id: str, text: str) -> Sentences:
        quoted = self._quotes.get(report_id)
        if quoted:
            return tuple((" ".join(self.words(quote).split()), quote) for quote in quoted)
        own = (" ".join(text[span.start : span.end].split()) for span in sentence_spans(text))
        return tuple((sentence, None) for sentence in dict.fromkeys(own) if not sentence.startswith("#"))

    def _named_in(self, report_id: str) -> Iterator[Quote]:
        cited = self._index.references.filter((pl.col("report_id") == report_id) & pl.col("valid")).sort(
            "finding", "position"
        )
        titles = dict(self._index.entities.select("entity_id", "title").iter_rows())
        sought: tuple[tuple[str, pl.DataFrame, str, list[str]], ...] = (
            ("relationship", self._index.relationships, "relationship_id", ["source_id", "target_id"]),
            ("entity", self._index.entities, "entity_id", []),
        )
        for kind, frame, key, ends in sought:
            wanted = cited.filter(pl.col("kind") == kind)["record_id"].unique(maintain_order=True).to_list()
            rows = frame.filter(pl.col(key).is_in(wanted)).select(key, *ends, "text_unit_ids").rows()
            stated = {row[0]: ([titles[end] for end in row[1:-1] or row[:1]], row[-1]) for row in rows}
            for record in wanted[:_MOST_FOUND]:
                if record in stated:
                    yield from self._naming(*stated[record])

    def _naming(self, names: list[str], unit_ids: list[str]) -> Iterator[Quote]:
        for unit_id in unit_ids:
            self._places |= {} if unit_id in self._places else _places(self._index, {unit_id})
            text = self._places[unit_id].text if unit_id in self._places else ""
            for span in sentence_spans(text):
                sentence = " ".join(text[span.start : span.end].split()).casefold()
                if all(name.casefold() in sentence for name in names):
                    yield Quote(unit_id, span)
                    return


def _quotes(index: IndexSnapshot, reports: pl.DataFrame) -> dict[str, list[Quote]]:
    found: dict[str, dict[Quote, None]] = defaultdict(dict)
    wanted = (
        index.references.filter((pl.col("kind") == "text_unit") & pl.col("valid"))
        .join(reports.select("report_id"), on="report_id", how="semi")
        .sort("report_id", "finding", "position")
    )
    for report_id, unit, start, end in wanted["report_id", "record_id", "start_char", "end_char"].rows():
        found[report_id][Quote(unit, Span(start, end))] = None
    return {report_id: list(quotes) for report_id, quotes in found.items()}


def _places(index: IndexSnapshot, units: set[str]) -> dict[str, Place]:
    documents = index.documents.select("document_id", "title", "path")
    wanted = index.text_chunks.filter(pl.col("text_unit_id").is_in(sorted(units))).join(
        documents, on="document_id"
    )
    rows = wanted.select("text_unit_id", "document_id", "title", "path", "text", "start_char").rows()
    return {
        unit: Place(document, title, path, text, start) for unit, document, title, path, text, start in rows
    }
