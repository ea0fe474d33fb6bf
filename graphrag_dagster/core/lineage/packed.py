"""Which records stand in a packed context, read off its text."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from graphrag_dagster.core.language.tasks import RecordKind
from graphrag_dagster.core.reports.rows import CLAIMS, ENTITIES, RELATIONSHIPS, REPORTS
from graphrag_dagster.core.text.names import normalise

_KINDS: Mapping[str, RecordKind] = {
    REPORTS: "report",
    ENTITIES: "entity",
    CLAIMS: "claim",
    RELATIONSHIPS: "relationship",
}
_HEADER = re.compile("|".join(f"^{re.escape(header)}" for header in _KINDS), re.MULTILINE)
_CELL = re.compile(r'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"|(?P<plain>[^,\n]*))(?P<end>,|\n|\Z)')
_HEADING = re.compile(r"#\s+(?P<title>.*)")

# The same names stand in many contexts, and in many rows of one.
_name = lru_cache(1 << 16)(normalise)


@dataclass(frozen=True, slots=True)
class PackedRow:
    """A row of a context: what it shows, its number there, and its cells behind the number."""

    kind: RecordKind
    number: int
    cells: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """What the record is known by: name; both names in order; title; or all that a claim says.

        A title or name that was cut ends with an ellipsis, and then stands for no record.
        """
        if self.kind == "entity":
            return (_name(self.cells[0]),)
        if self.kind == "relationship":
            return tuple(sorted(map(_name, self.cells[:2])))
        if self.kind == "claim":
            return claim_key(*self.cells)
        heading = _HEADING.match(self.cells[0])
        return (_folded(heading["title"] if heading else self.cells[0]),)

    @property
    def title(self) -> str:
        """What a person calls it."""
        if self.kind == "relationship":
            return " – ".join(self.cells[:2])
        return self.key[0] if self.kind == "report" else self.cells[-1 if self.kind == "claim" else 0]


@dataclass(frozen=True)
class PackedRows:
    """The rows of a context, in its order."""

    rows: tuple[PackedRow, ...]

    @cached_property
    def keys(self) -> Mapping[RecordKind, frozenset[tuple[str, ...]]]:
        """The keys of the rows of each kind."""
        return {kind: frozenset(row.key for row in self.rows if row.kind == kind) for kind in _KINDS.values()}

    def holding(self, kind: RecordKind, keys: frozenset[tuple[str, ...]]) -> int:
        """Return how many of the records with these keys are shown."""
        return len(self.keys[kind] & keys)


def parse_context(text: str) -> PackedRows:
    """Return the rows of a packed context, as :meth:`Sections.render` writes it."""
    headers = list(_HEADER.finditer(text))
    ends = [*(header.start() for header in headers), len(text)][1:]
    return PackedRows(
        tuple(
            PackedRow(_KINDS[header[0]], int(cells[0]), tuple(cells[1:]))
            for header, end in zip(headers, ends, strict=True)
            for cells in _lines(text, header.end(), end)
        )
    )


def claim_key(*cells: str | None) -> tuple[str, ...]:
    """Return what a claim is known by: subject, object, type, status, dates and description."""
    subject, other, *further = (cell or "" for cell in cells)
    return (_name(subject), _name(other), *map(_folded, further))


def report_key(title: str) -> tuple[str]:
    """Return what a report is known by."""
    return (_folded(title),)


def _lines(text: str, start: int, end: int) -> Iterator[list[str]]:
    cells: list[str] = []
    while start < end:
        found = _CELL.match(text, start, end)
        if found is None:
            return
        quoted = found["quoted"]
        cells.append(found["plain"] if quoted is None else quoted.replace('""', '"'))
        start = found.end()
        if found["end"] != ",":
            yield cells
            cells = []


def _folded(text: str) -> str:
    return " ".join(text.split())
