"""Community reports as rows of a search context, and the words of the documents they rest on."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

import polars as pl

from graphrag_dagster.kernel.questions.citations import ContextKind
from graphrag_dagster.kernel.questions.context.background import IndexBackground
from graphrag_dagster.kernel.questions.context.context_units import Provenance, sentences_naming
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot, MadeWhenRead
from graphrag_dagster.kernel.questions.report_citations import without_citations
from graphrag_dagster.kernel.tasks.ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.sentences import sentence_spans
from graphrag_dagster.kernel.text.spans import Span

Sentences = tuple[tuple[str, Quote | None], ...]

_MOST_FOUND, _PER_RECORD = 24, 3


class ReportUnits:
    """Reports as :class:`ContextUnit`, numbered 1…n by title and id.

    The text of a unit is the report without its own citations, which mean nothing outside of it. Its
    sentences are what the report quotes, or where it quotes nothing, the sentences of the report itself.
    """

    def __init__(self, index: IndexSnapshot, reports: pl.DataFrame) -> None:
        self.index = index
        self._quoted = index.once(_quoted)
        self._background = IndexBackground(index)
        self._rows = reports.sort("title", "report_id").select("report_id", "title", "content").rows()
        self._ids: dict[int, str] = {number: row[0] for number, row in enumerate(self._rows, start=1)}
        self.number_of = {report_id: number for number, report_id in self._ids.items()}
        self.all: Sequence[ContextUnit] = MadeWhenRead(len(self._rows), self._unit)

    def kind(self, _: int) -> ContextKind:
        """Return as what the row is cited."""
        return "report"

    def record_kind(self, _: int) -> ContextKind:
        """Return what the row's record is."""
        return "report"

    def record_id(self, number: int) -> str:
        """Return the id of the report with that number."""
        return self._ids[number]

    def title(self, number: int) -> str:
        """Return the title of the report with that number."""
        title: str = self._rows[number - 1][1]
        return title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the report rests on, each words once.

        That is what it quotes, in its order; where it quotes nothing, sentences of the documents that name
        both ends of the relationships, then the entities, that its findings cite.
        """
        return report_provenance(self.index, self._ids[number])

    def _unit(self, place: int) -> ContextUnit:
        report_id, title, content = self._rows[place]
        text = without_citations(content).removeprefix(f"# {title}").strip()
        sentences = self._sentences(report_id, text)
        return ContextUnit(place + 1, title, text, sentences, background=self._background)

    def _sentences(self, report_id: str, text: str) -> Sentences:
        if quoted := self._quoted.get(report_id):
            quotes = [found.quote for found in quoted]
            return tuple((" ".join(self.index.words(quote).split()), quote) for quote in quotes)
        own = (" ".join(text[span.start : span.end].split()) for span in sentence_spans(text))
        return tuple((sentence, None) for sentence in dict.fromkeys(own) if not sentence.startswith("#"))


def report_provenance(index: IndexSnapshot, report_id: str) -> Sequence[Provenance]:
    """Return the words that a report rests on; see :meth:`ReportUnits.provenance`."""
    if quoted := index.once(_quoted).get(report_id):
        return quoted
    return index.once(_naming, report_id)


def _quoted(index: IndexSnapshot) -> dict[str, list[Provenance]]:
    """Quotations of all reports, each with the relationship or entity of its finding that its unit states."""
    valid = index.references.filter("valid").sort("report_id", "finding", "position")
    records: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    for report_id, finding, kind, record in valid.select(
        "report_id", "finding", "kind", "record_id"
    ).iter_rows():
        if kind in {"relationship", "entity"}:
            records[report_id, finding].append((kind, record))
    units = _units_of_records(index, {record for cited in records.values() for _, record in cited})
    found: dict[str, dict[Quote, Provenance]] = defaultdict(dict)
    quotes = valid.filter(pl.col("kind") == "text_unit")
    for report_id, finding, unit, start, end in quotes.select(
        "report_id", "finding", "record_id", "start_char", "end_char"
    ).iter_rows():
        cited = sorted(records[report_id, finding], key=lambda one: one[0] != "relationship")
        way = next(((kind, record) for kind, record in cited if unit in units.get(record, ())), (None, None))
        quote = Quote(unit, Span(start, end))
        found[report_id].setdefault(quote, Provenance(quote, finding, *way))
    return {report_id: list(quotes.values()) for report_id, quotes in found.items()}


def _units_of_records(index: IndexSnapshot, wanted: set[str]) -> dict[str, frozenset[str]]:
    ids = pl.Series(sorted(wanted), dtype=pl.String).implode()
    return {
        record: frozenset(units)
        for frame, key in ((index.relationships, "relationship_id"), (index.entities, "entity_id"))
        for record, units in frame.filter(pl.col(key).is_in(ids)).select(key, "text_unit_ids").iter_rows()
    }


def _naming(index: IndexSnapshot, report_id: str) -> list[Provenance]:
    return list(islice(_named_in(index, report_id), _MOST_FOUND))


def _named_in(index: IndexSnapshot, report_id: str) -> Iterator[Provenance]:
    cited = index.references.filter((pl.col("report_id") == report_id) & pl.col("valid")).sort(
        "finding", "position"
    )
    titles, stated = index.once(_stated)
    seen: set[Quote] = set()
    for wanted in ("relationship", "entity"):
        of_kind = cited.filter(pl.col("kind") == wanted).unique(
            "record_id", keep="first", maintain_order=True
        )
        for finding, record in of_kind.select("finding", "record_id").iter_rows():
            ends, units = stated.get(record, ((), ()))
            names = [titles[end] for end in ends if end in titles]
            if not names:
                continue
            for quote in sentences_naming(index, names, units, _PER_RECORD):
                if quote not in seen:
                    seen.add(quote)
                    yield Provenance(quote, finding, wanted, record)


def _stated(
    index: IndexSnapshot,
) -> tuple[dict[str, str], dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]:
    """Titles of entities; and per relationship and entity the entities it names and the units stating it."""
    titles = dict(index.entities.select("entity_id", "title").iter_rows())
    stated: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        record: ((source, target), tuple(units))
        for record, source, target, units in index.relationships.select(
            "relationship_id", "source_id", "target_id", "text_unit_ids"
        ).iter_rows()
    }
    for record, units in index.entities.select("entity_id", "text_unit_ids").iter_rows():
        stated[record] = ((record,), tuple(units))
    return titles, stated
