"""From what an answer cites to the words it rests on."""

import re
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from graphrag_dagster.core.language.tasks import FinalAnswer, Quote
from graphrag_dagster.core.reports.citations import Cited, parse_citations, rewrite_citations
from graphrag_dagster.core.search.answer import Answer, Source
from graphrag_dagster.core.search.report_units import ReportUnits

_MARK = re.compile(r"\[Data: Reports \(([\d, +more]*)\)\]")
_MOST_QUOTES = 3


class _Numbering:
    """Sources in the order in which they are first cited."""

    def __init__(self, units: ReportUnits) -> None:
        self._units = units
        self._numbers: dict[tuple[int, Quote | None], int] = {}

    def number(self, unit: int, quote: Quote | None) -> int:
        return self._numbers.setdefault((unit, quote), len(self._numbers) + 1)

    def of_report(self, unit: int) -> list[int]:
        quotes = self._units.quotes(unit)[:_MOST_QUOTES]
        return [self.number(unit, quote) for quote in quotes] or [self.number(unit, None)]

    def sources(self) -> tuple[Source, ...]:
        return tuple(self._source(number, *cited) for cited, number in self._numbers.items())

    def _source(self, number: int, unit: int, quote: Quote | None) -> Source:
        base = Source(number, self._units.report_id(unit), self._units.title(unit))
        place = self._units.place(quote) if quote else None
        if quote is None or place is None:
            return base
        return replace(
            base,
            document_id=place.document_id,
            document_title=place.document_title,
            path=place.path,
            text_unit_id=quote.unit_id,
            start_char=place.start + quote.span.start,
            end_char=place.start + quote.span.end,
            quotation=self._units.words(quote),
        )


def cite(base: Answer, final: FinalAnswer, units: ReportUnits) -> Answer:
    """Return the answer with numbered sources in place of cited ids.

    Ids that were not in the context are taken out and counted. An extractive answer cites each sentence's own
    quotation; a model's answer cites reports, which stand for the first quotations each of them rests on.
    """
    numbering = _Numbering(units)
    text = _laid_out(final, units, numbering) if final.quotes else final.text
    cited = parse_citations(text)
    removed = sum(not _known(one, units) for one in cited)
    text = rewrite_citations(text, lambda one: one.number if _known(one, units) else None)
    text = _MARK.sub(lambda mark: _numbered(mark[1], numbering), text)
    return replace(
        base,
        text=text.strip(),
        refused=False,
        sources=numbering.sources(),
        removed_citations=removed,
        usage=base.usage + final.usage,
        engine=final.engine,
    )


def _laid_out(final: FinalAnswer, units: ReportUnits, numbering: _Numbering) -> str:
    """Quotations as paragraphs below the title of the report they come from, each with its source."""
    sections = []
    for unit, quotes in groupby(final.quotes, key=itemgetter(1)):
        marked = [f"{sentence} [{numbering.number(unit, quote)}]" for sentence, _, quote in quotes]
        sections.append(f"**{units.title(unit)}**\n\n{' '.join(marked)}")
    return "\n\n".join(sections)


def _known(cited: Cited, units: ReportUnits) -> bool:
    return cited.kind == "report" and cited.number is not None and cited.number in units


def _numbered(inside: str, numbering: _Numbering) -> str:
    numbers = [int(part) for part in re.findall(r"\d+", inside)]
    return "".join(f"[{n}]" for unit in numbers for n in numbering.of_report(unit))
