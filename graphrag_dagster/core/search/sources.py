"""From what an answer cites to the words it rests on."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from graphrag_dagster.core.language.citations import canonical_citations, parse_citations
from graphrag_dagster.core.language.extractive.similarity import stems
from graphrag_dagster.core.language.tasks import FinalAnswer, Quote
from graphrag_dagster.core.search.answer import Source
from graphrag_dagster.core.search.report_units import ReportUnits

_MARK = re.compile(r"(?P<blank>\s*)(?P<mark>\[Data: [^\[\]]*\])")
_NUMBER = re.compile(r"\d+")
#: Most quotations that stand for one cited report, and how near the second must be against the first.
_QUOTES, _AS_NEAR = 2, 0.6


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text with marks ``[1]``, what they stand for, and how many cited ids were taken out."""

    text: str
    sources: tuple[Source, ...]
    removed: int


def cite(final: FinalAnswer, units: ReportUnits, shown: Collection[int]) -> CitedText:
    """Return an answer with numbered marks and their sources in place of cited ids.

    A sentence that the answer quotes stands for itself. Any other citation of a report stands for those one
    or two of the quotations the report rests on that share most words with what is cited for. Ids of reports
    that were not shown, and of anything else, are taken out and counted.

    Args:
        final: the answer; it cites units as ``[Data: Reports (1, 2)]``.
        units: all units of the search.
        shown: ids of the units that the answer may cite.
    """
    sources = _Sources(units, final)
    removed = 0
    parts: list[str] = []
    text = canonical_citations(final.text)
    end = 0
    for found in _MARK.finditer(text):
        passage = text[end : found.start()]
        written = len(_NUMBER.findall(found["mark"]))
        cited = [one.id for one in parse_citations(found["mark"]) if one.kind == "report" and one.id in shown]
        removed += written - len(cited)
        numbers = dict.fromkeys(number for unit in cited for number in sources.of(passage, unit))
        marks = "".join(f"[{number}]" for number in sorted(numbers))
        parts += [passage, found["blank"] + marks if marks else ""]
        end = found.end()
    return CitedText("".join([*parts, text[end:]]).strip(), sources.all(), removed)


class _Sources:
    """Sources in the order in which they are first cited."""

    def __init__(self, units: ReportUnits, final: FinalAnswer) -> None:
        self._units = units
        self._quoted = {(unit, sentence): quote for sentence, unit, quote in final.quotes}
        self._numbers: dict[tuple[int, Quote | None], int] = {}

    def of(self, passage: str, unit: int) -> list[int]:
        """Return the numbers of what a passage rests on where it cites a unit."""
        for (quoting, sentence), quote in self._quoted.items():
            if quoting == unit and quote and passage.rstrip().endswith(sentence):
                return [self._number(unit, quote)]
        return [self._number(unit, quote) for quote in self._nearest(passage, unit)] or [
            self._number(unit, None)
        ]

    def all(self) -> tuple[Source, ...]:
        """Return every source that was cited."""
        return tuple(self._source(number, *cited) for cited, number in self._numbers.items())

    def _number(self, unit: int, quote: Quote | None) -> int:
        return self._numbers.setdefault((unit, quote), len(self._numbers) + 1)

    def _nearest(self, passage: str, unit: int) -> list[Quote]:
        said = set(stems(passage.rsplit("\n\n", 1)[-1]))
        quotes = self._units.quotes(unit)
        shared = {quote: len(said & set(stems(self._units.words(quote)))) for quote in quotes}
        best = sorted(quotes, key=lambda quote: -shared[quote])[:_QUOTES]
        return best[:1] + [quote for quote in best[1:] if shared[quote] > _AS_NEAR * shared[best[0]]]

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
