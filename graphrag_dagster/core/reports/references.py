"""What a report cites, checked against the context it was written from (spec_graphrag §6).

A writer cites rows by their numbers in the context. What is stored cites them by the small numbers of their
tables; ids that the context does not have are taken out of the text and kept as invalid references.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from graphrag_dagster.core.language.tasks import Quote, RecordKind
from graphrag_dagster.core.reports.citations import (
    Cited,
    citation_mark,
    parse_citations,
    rewrite_citations,
)
from graphrag_dagster.core.reports.context import PackedContext
from graphrag_dagster.core.text.citations import Citation


class Reference(NamedTuple):
    """A row of ``reports.report_references`` without its place in the report."""

    kind: str
    record_id: str | None
    cited_as: str
    valid: bool
    start_char: int | None = None
    end_char: int | None = None


def cited_elsewhere(text: str, records: Mapping[RecordKind, Mapping[int, str]]) -> list[Reference]:
    """Return what a text cites that was written elsewhere, each once.

    Args:
        text: with citations as reports have them.
        records: for each kind, the id of each record by the number that the text cites it with.
    """
    found = []
    for cited in parse_citations(text):
        known = records.get(cited.kind, {}) if cited.kind else {}
        record = known.get(cited.number) if cited.number is not None else None
        found.append(Reference(cited.kind or "entity", record, cited.written, record is not None))
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class References:
    """Resolves citations and quotes of any report.

    ``numbers``: for each kind, the small number of each record; ``units``: the texts of the text units.
    """

    numbers: Mapping[RecordKind, Mapping[str, int]]
    units: Mapping[str, str]

    def resolve(
        self, text: str, citations: Iterable[Citation], quotes: Iterable[Quote], context: PackedContext
    ) -> tuple[str, list[Reference]]:
        """Return the text with small numbers in its citations, and what it cites, each once.

        Citations that do not stand in the text yet are added at its end.

        Args:
            text: a summary or explanation; ids in it are numbers of the context.
            citations: further rows of the context that the text rests on.
            quotes: words of text units that the text rests on.
            context: the packed context.
        """
        found: dict[Reference, None] = {}
        written = set()

        def number_of(cited: Cited) -> int | None:
            record = _record(cited, context)
            found[_reference(cited, record)] = None
            written.add((cited.kind, cited.number))
            return self.numbers[cited.kind][record] if cited.kind and record else None

        stored = rewrite_citations(text, number_of)
        numbers: dict[RecordKind, list[int]] = {}
        for citation in citations:
            if citation.kind != "source" and (citation.kind, citation.id) not in written:
                number = number_of(Cited(citation.kind, citation.id, "", str(citation.id)))
                if number is not None:
                    numbers.setdefault(citation.kind, []).append(number)
        found |= dict.fromkeys(map(self._quotation, quotes))
        return f"{stored.rstrip()} {citation_mark(numbers)}".lstrip() if numbers else stored, list(found)

    def _quotation(self, quote: Quote) -> Reference:
        text, span = self.units.get(quote.unit_id), quote.span
        valid = text is not None and 0 <= span.start < span.end <= len(text)
        record = quote.unit_id if valid else None
        return Reference("text_unit", record, quote.unit_id, valid, span.start, span.end)


def _record(cited: Cited, context: PackedContext) -> str | None:
    ids = context.ids[cited.kind] if cited.kind else ()
    return ids[cited.number - 1] if cited.number and cited.number <= len(ids) else None


def _reference(cited: Cited, record: str | None) -> Reference:
    if cited.kind is None:
        # A context has no other rows; what a reply calls "sources" comes nearest to text units.
        return Reference("text_unit", None, f"{cited.label} {cited.written}".strip(), valid=False)
    return Reference(cited.kind, record, cited.written, record is not None)
