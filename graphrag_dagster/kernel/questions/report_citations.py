"""Citations in a report's text, ``[Data: Entities (1, 2); Relationships (7, +more)]`` (spec_graphrag §6).

A writer cites rows by their numbers in the context. What is stored cites them by the small numbers of their
tables; ids that the context does not have are taken out of the text and kept as invalid references.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from graphrag_dagster.kernel.questions.citations import Citation
from graphrag_dagster.kernel.tasks.task_ports import Quote, RecordKind

_MARK = re.compile(r"(?P<blank>\s*)\[\s*Data\s*:(?P<inside>[^\[\]]*)\]", re.IGNORECASE)
_GROUP = re.compile(r"(?P<label>[^;()]*)\((?P<ids>[^()]*)\)")
_BETWEEN_IDS = re.compile("[,;]")
_SHOWN = 5

LABELS: Mapping[RecordKind, str] = MappingProxyType(
    {"entity": "Entities", "relationship": "Relationships", "claim": "Claims", "report": "Reports"}
)
_BEGINNINGS: Mapping[str, RecordKind] = MappingProxyType(
    {"entit": "entity", "relation": "relationship", "claim": "claim", "report": "report"}
)

#: For each kind of rows of a context, the id of each record, in the order of their numbers.
RecordIds = Mapping[RecordKind, tuple[str, ...]]


class ReportCitation(NamedTuple):
    """One id as it stands in a text; ``kind`` is None for an unknown label, ``number`` for no number."""

    kind: RecordKind | None
    number: int | None
    label: str
    written: str


def parse_citations(text: str) -> list[ReportCitation]:
    """Return every id cited in a text, in its order; ``+more`` is none."""
    return [cited for mark in _marks(text) for cited in _inside(mark["inside"]).ids]


def marked_parts(text: str) -> Iterator[tuple[str, list[ReportCitation]]]:
    """Yield what stands before each mark of a text with the ids in it, and last what follows, with none."""
    end = 0
    for mark in _marks(text):
        yield text[end : mark.start()], list(_inside(mark["inside"]).ids)
        end = mark.end()
    yield text[end:], []


def rewrite_citations(text: str, number_of: Callable[[ReportCitation], int | None]) -> str:
    """Return the text with every cited id replaced; ids without a new number are taken out.

    Marks that are left with nothing go, with the blanks before them.

    Args:
        text: what cites.
        number_of: the new number of a cited id, None for an id that is not to stay.
    """

    def rewritten(mark: re.Match[str]) -> str:
        numbers: dict[RecordKind, list[int]] = {}
        inside = _inside(mark["inside"])
        for cited in inside.ids:
            number = number_of(cited)
            if cited.kind and number is not None:
                numbers.setdefault(cited.kind, []).append(number)
        kept = {kind: (ids, kind in inside.more) for kind, ids in numbers.items()}
        return mark["blank"] + _mark(kept) if kept else ""

    return _MARK.sub(rewritten, text) if "[" in text else text


def without_citations(text: str) -> str:
    """Return a text without its citations, which mean nothing outside the context they point into."""
    return _MARK.sub("", text) if "[" in text else text


def citation_mark(numbers: Mapping[RecordKind, Sequence[int]]) -> str:
    """Return a mark with at most five ids of each kind, then ``+more`` (spec_graphrag §6)."""
    return _mark({kind: (ids[:_SHOWN], len(ids) > _SHOWN) for kind, ids in numbers.items()})


def _mark(numbers: Mapping[RecordKind, tuple[Sequence[int], bool]]) -> str:
    groups = []
    for kind, label in LABELS.items():
        if kind in numbers:
            ids, more = numbers[kind]
            shown = [*map(str, dict.fromkeys(ids)), *(["+more"] if more else [])]
            groups.append(f"{label} ({', '.join(shown)})")
    return f"[Data: {'; '.join(groups)}]"


def _kind(label: str) -> RecordKind | None:
    name = label.strip(" ,\n\t").lower()
    return next((kind for start, kind in _BEGINNINGS.items() if name.startswith(start)), None)


def _marks(text: str) -> Iterator[re.Match[str]]:
    # Most texts have none, and to see that is quicker than to look for them.
    return _MARK.finditer(text) if "[" in text else iter(())


class _Inside(NamedTuple):
    """What stands in a mark: the ids in their order, and the kinds with ``+more``."""

    ids: tuple[ReportCitation, ...]
    more: frozenset[RecordKind | None]


@lru_cache(maxsize=1024)
def _inside(inside: str) -> _Inside:
    """Read a mark; many reports cite the same small numbers, and each mark is read and rewritten."""
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
    return _Inside(tuple(ids), frozenset(more))


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
        self, text: str, citations: Iterable[Citation], quotes: Iterable[Quote], ids: RecordIds
    ) -> tuple[str, list[Reference]]:
        """Return the text with small numbers in its citations, and what it cites, each once.

        Citations that do not stand in the text yet are added at its end.

        Args:
            text: a summary or explanation; ids in it are numbers of the context.
            citations: further rows of the context that the text rests on.
            quotes: words of text units that the text rests on.
            ids: of the rows of the context, by kind: number i is the i-th.
        """
        found: dict[Reference, None] = {}
        written = set()

        def number_of(cited: ReportCitation) -> int | None:
            reference = _reference(cited, ids)
            found[reference] = None
            written.add((cited.kind, cited.number))
            record = reference.record_id
            return self.numbers[cited.kind][record] if cited.kind and record else None

        stored = rewrite_citations(text, number_of)
        numbers: dict[RecordKind, list[int]] = {}
        for citation in citations:
            if citation.kind != "source" and (citation.kind, citation.id) not in written:
                number = number_of(ReportCitation(citation.kind, citation.id, "", str(citation.id)))
                if number is not None:
                    numbers.setdefault(citation.kind, []).append(number)
        found |= dict.fromkeys(map(self._quotation, quotes))
        return f"{stored.rstrip()} {citation_mark(numbers)}".lstrip() if numbers else stored, list(found)

    def _quotation(self, quote: Quote) -> Reference:
        text, span = self.units.get(quote.unit_id), quote.span
        valid = text is not None and 0 <= span.start < span.end <= len(text)
        record = quote.unit_id if valid else None
        return Reference("text_unit", record, quote.unit_id, valid, span.start, span.end)


def _reference(cited: ReportCitation, ids: RecordIds) -> Reference:
    if cited.kind is None:
        # A context has no other rows; what a reply calls "sources" comes nearest to text units.
        return Reference("text_unit", None, f"{cited.label} {cited.written}".strip(), valid=False)
    own = ids[cited.kind]
    record = own[cited.number - 1] if cited.number and cited.number <= len(own) else None
    return Reference(cited.kind, record, cited.written, record is not None)
