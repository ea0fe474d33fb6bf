"""Citations in a report's text, ``[Data: Entities (1, 2); Relationships (7, +more)]`` (GraphRAG paper, E.2).

A writer cites rows by their numbers in the context. Stored reports cite the ``human_readable_id`` of records
instead. Ids that are not in the context are removed from the text and kept as invalid references.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from graphrag_dagster.kernel.tasks.task_ports import Quote, RecordKind
from graphrag_dagster.kernel.text.citations import LABELS, Citation, kind_of_label

_MARK = re.compile(r"(?P<blank>\s*)\[\s*Data\s*:(?P<inside>[^\[\]]*)\]", re.IGNORECASE)
_GROUP = re.compile(r"(?P<label>[^;()]*)\((?P<ids>[^()]*)\)")
_BETWEEN_IDS = re.compile("[,;]")
_SHOWN = 5

#: The record ids of the rows of a context by kind, in the order of their numbers.
RecordIds = Mapping[RecordKind, tuple[str, ...]]


class ReportCitation(NamedTuple):
    """A cited id; ``kind`` is None for an unknown label, ``number`` for a non-number."""

    kind: RecordKind | None
    number: int | None
    label: str
    written: str


def parse_citations(text: str) -> list[ReportCitation]:
    """Return every cited id of a text in order, ignoring ``+more``."""
    return [citation for mark in _marks(text) for citation in _parse_mark(mark["inside"])[0]]


def marked_parts(text: str) -> Iterator[tuple[str, list[ReportCitation]]]:
    """Yield the text before each mark with the ids in the mark, and last the remaining text without ids."""
    end = 0
    for mark in _marks(text):
        yield text[end : mark.start()], list(_parse_mark(mark["inside"])[0])
        end = mark.end()
    yield text[end:], []


def rewrite_citations(text: str, number_of: Callable[[ReportCitation], int | None]) -> str:
    """Return the text with every cited id replaced; ids without a new number are removed.

    Marks left empty are removed with the whitespace before them.

    Args:
        text: with citations.
        number_of: returns the new number of a cited id, None to remove it.
    """

    def rewrite_mark(mark: re.Match[str]) -> str:
        numbers: dict[RecordKind, list[int]] = {}
        cited, more = _parse_mark(mark["inside"])
        for citation in cited:
            number = number_of(citation)
            if citation.kind and number is not None:
                numbers.setdefault(citation.kind, []).append(number)
        remaining = {kind: (ids, kind in more) for kind, ids in numbers.items()}
        return mark["blank"] + _mark(remaining) if remaining else ""

    return _MARK.sub(rewrite_mark, text) if "[" in text else text


def without_citations(text: str) -> str:
    """Return a text without its citations, which are meaningless outside its context."""
    return _MARK.sub("", text) if "[" in text else text


def citation_mark(numbers: Mapping[RecordKind, Sequence[int]]) -> str:
    """Return a mark with at most five ids per kind, then ``+more`` (GraphRAG paper, Appendix E.2)."""
    return _mark({kind: (ids[:_SHOWN], len(ids) > _SHOWN) for kind, ids in numbers.items()})


def _mark(numbers: Mapping[RecordKind, tuple[Sequence[int], bool]]) -> str:
    groups = []
    for kind, label in LABELS.items():
        if kind != "source" and kind in numbers:
            ids, more = numbers[kind]
            items = [*map(str, dict.fromkeys(ids)), *(["+more"] if more else [])]
            groups.append(f"{label} ({', '.join(items)})")
    return f"[Data: {'; '.join(groups)}]"


def _kind(label: str) -> RecordKind | None:
    kind = kind_of_label(label)
    # A report's context has no text units.
    return None if kind == "source" else kind


def _marks(text: str) -> Iterator[re.Match[str]]:
    # Most texts have no mark, and this check is faster than the search.
    return _MARK.finditer(text) if "[" in text else iter(())


# Reports often cite the same numbers, and each mark is parsed twice.
@lru_cache(maxsize=1024)
def _parse_mark(inside: str) -> tuple[tuple[ReportCitation, ...], frozenset[RecordKind | None]]:
    """Return the ids in a mark in order, and the kinds with ``+more``."""
    ids: list[ReportCitation] = []
    more = set()
    for group in _GROUP.finditer(inside):
        label = group["label"].strip(" ,\n\t")
        kind = _kind(label)
        if "+" in group["ids"]:
            more.add(kind)
        for part in _BETWEEN_IDS.split(group["ids"]):
            written = part.strip()
            if written and not written.startswith("+"):
                number = int(written) if written.isascii() and written.isdigit() else None
                ids.append(ReportCitation(kind, number, label, written))
    return tuple(ids), frozenset(more)


class Reference(NamedTuple):
    """A row of ``reports.report_references`` without its position in the report."""

    kind: str
    record_id: str | None
    cited_as: str
    valid: bool
    start_char: int | None = None
    end_char: int | None = None


def references_cited_elsewhere(text: str, records: Mapping[RecordKind, Mapping[int, str]]) -> list[Reference]:
    """Return the distinct references of a text that was written elsewhere.

    Args:
        text: with citations in the form used by reports.
        records: record ids by kind and by the cited number.
    """
    references = []
    for citation in parse_citations(text):
        known = records.get(citation.kind, {}) if citation.kind else {}
        record = known.get(citation.number) if citation.number is not None else None
        references.append(Reference(citation.kind or "entity", record, citation.written, record is not None))
    return list(dict.fromkeys(references))


@dataclass(frozen=True, slots=True)
class References:
    """Resolves citations and quotes of any report.

    ``numbers``: the number of each record by kind; ``lengths``: the characters of each text unit.
    """

    numbers: Mapping[RecordKind, Mapping[str, int]]
    lengths: Mapping[str, int]

    def resolve(
        self, text: str, citations: Iterable[Citation], quotes: Iterable[Quote], ids: RecordIds
    ) -> tuple[str, list[Reference]]:
        """Return the text with stored numbers in its citations, and its distinct references.

        Citations that the text lacks are appended to it.

        Args:
            text: a summary or explanation; its ids are numbers of the context.
            citations: further context rows that the text rests on.
            quotes: words of text units that the text rests on.
            ids: record ids of the context rows by kind; number i is the i-th.
        """
        references: dict[Reference, None] = {}
        already_cited = set()

        def number_of(citation: ReportCitation) -> int | None:
            reference = _reference(citation, ids)
            references[reference] = None
            already_cited.add((citation.kind, citation.number))
            record = reference.record_id
            return self.numbers[citation.kind][record] if citation.kind and record else None

        stored = rewrite_citations(text, number_of)
        numbers: dict[RecordKind, list[int]] = {}
        for citation in citations:
            if citation.kind != "source" and (citation.kind, citation.id) not in already_cited:
                number = number_of(ReportCitation(citation.kind, citation.id, "", str(citation.id)))
                if number is not None:
                    numbers.setdefault(citation.kind, []).append(number)
        references |= dict.fromkeys(map(self._quotation, quotes))
        return f"{stored.rstrip()} {citation_mark(numbers)}".lstrip() if numbers else stored, list(references)

    def _quotation(self, quote: Quote) -> Reference:
        length, span = self.lengths.get(quote.unit_id, 0), quote.span
        valid = 0 <= span.start < span.end <= length
        record = quote.unit_id if valid else None
        return Reference("text_unit", record, quote.unit_id, valid, span.start, span.end)


def _reference(cited: ReportCitation, ids: RecordIds) -> Reference:
    if cited.kind is None:
        # A context has no other kinds of rows; "sources" in a reply are most likely text units.
        return Reference("text_unit", None, f"{cited.label} {cited.written}".strip(), valid=False)
    record_ids = ids[cited.kind]
    record = record_ids[cited.number - 1] if cited.number and cited.number <= len(record_ids) else None
    return Reference(cited.kind, record, cited.written, record is not None)
