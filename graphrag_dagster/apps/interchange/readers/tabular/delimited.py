"""Tables of delimited text of any size, row by row."""

import csv
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.readers.batches import Account
from graphrag_dagster.apps.interchange.readers.rows import Rows
from graphrag_dagster.apps.interchange.readers.tabular.layout import Layout
from graphrag_dagster.apps.interchange.readers.tabular.lines import REPLACED, Lines, lines_of
from graphrag_dagster.kernel.documents.files.records import REPLACEMENT

#: Lines that a row may span, and how often an unclosed quote is looked for that far.
_MOST_LINES, _MOST_UNCLOSED = 1_000, 100
_FIELD_LIMIT = 2**31 - 1


def delimited_rows(stream: BinaryIO, layout: Layout, record: str, account: Account) -> Iterator[Rows]:
    """Yield the rows of at most 50,000 lines at a time.

    A row with too many cells is malformed, one with too few is filled up; a cell is stripped of blanks, and a
    blank one is null. ``record`` is what the rows hold.

    Raises:
        RefusedError: not text.
        UnreadableError: a line is too long.
    """
    csv.field_size_limit(_FIELD_LIMIT)
    splitter = _Splitter(layout)
    for block in lines_of(stream):
        found = splitter.split(block)
        columns = None if found.cells else _split_alike(found.lines, layout)
        numbers: Sequence[int] = range(found.first, found.first + len(found.lines))
        if columns is None:
            numbers, cells = _of_one_width(found, layout, record, account)
            columns = [pl.Series(column, dtype=pl.String) for column in zip(*cells, strict=True)]
        yield Rows(
            pl.Series(numbers, dtype=pl.Int64),
            {name: column.str.strip_chars() for name, column in zip(layout.names, columns, strict=False)},
            functools.partial(_raw, found, numbers),
            found.repaired,
            blank=False,
        )


def _raw(found: "_Split", numbers: Sequence[int], place: int) -> str:
    return found.raw(numbers[place])


def _split_alike(lines: Sequence[str], layout: Layout) -> list[pl.Series] | None:
    """Return the columns of lines without quotes, or None where one has too few or too many."""
    width = len(layout.names)
    found = pl.Series(lines, dtype=pl.String).str.split_exact(layout.delimiter, width).struct.unnest()
    *columns, surplus = found.get_columns()
    whole = columns[-1].null_count() == 0 and surplus.null_count() == len(surplus)
    return columns if whole else None


@dataclass(slots=True)
class _Split:
    """Some lines; the rows that quotes make of them, if there are any; why rows were mended."""

    first: int
    lines: Sequence[str]
    numbers: Sequence[int] = ()
    cells: Sequence[Sequence[str]] = ()
    repaired: dict[int, str] = field(default_factory=dict)

    def raw(self, number: int) -> str:
        """The line where a row begins."""
        return self.lines[number - self.first]


def _of_one_width(
    found: _Split, layout: Layout, record: str, account: Account
) -> tuple[Sequence[int], Sequence[Sequence[str]]]:
    width = len(layout.names)
    if not found.cells:
        found.numbers = range(found.first, found.first + len(found.lines))
        found.cells = [line.split(layout.delimiter) for line in found.lines]
    if set(map(len, found.cells)) == {width}:
        return found.numbers, found.cells
    numbers: list[int] = []
    kept: list[Sequence[str]] = []
    for number, cells in zip(found.numbers, found.cells, strict=True):
        # Of a blank line; csv gives it no cells, splitting one.
        if len(cells) < 2 and not any(cell.strip() for cell in cells):
            continue
        if len(cells) > width:
            reason = f"{len(cells)} cells, where there are {width} columns"
            account.malformed(record, number, reason, found.raw(number))
            continue
        if len(cells) < width:
            found.repaired.setdefault(number, f"{len(cells)} cells, where there are {width} columns")
        numbers.append(number)
        kept.append([*cells, *[""] * (width - len(cells))])
    return numbers, kept


class _Splitter:
    """Takes lines apart; a quoted cell may span several."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._carried: list[str] = []
        self._unclosed = 0

    def split(self, block: Lines) -> _Split:
        """Take the lines of a block apart; a row that may go on in the next is kept for it."""
        first = block.first - len(self._carried)
        lines = [*self._carried, *block.lines]
        self._carried = []
        before = max(self._layout.header, self._layout.skipped) + 1 - first
        if before > 0:
            lines, first = lines[before:], first + before
        found = _Split(first, lines)
        if self._layout.quoted and any('"' in line for line in lines):
            self._quoted(found, last=block.last)
        if block.damaged:
            rows = zip(found.numbers, found.cells, strict=True) if found.cells else enumerate(lines, first)
            for number, cells in rows:
                if any(REPLACEMENT in cell for cell in cells):
                    found.repaired.setdefault(number, REPLACED)
        return found

    def _quoted(self, found: _Split, *, last: bool) -> None:
        numbers: list[int] = []
        rows: list[Sequence[str]] = []
        lines, at = found.lines, 0
        while at < len(lines):
            # Each broken quote costs another look at what follows it.
            feed = _Feed(lines, at, _MOST_LINES if self._unclosed < _MOST_UNCLOSED else 1)
            try:
                for cells in csv.reader(feed, delimiter=self._layout.delimiter, strict=True):
                    numbers.append(found.first + feed.begin)
                    rows.append(cells)
                    feed.begin = feed.place
                break
            except csv.Error:
                if feed.place == len(lines) and not last and feed.place - feed.begin < feed.span:
                    self._carried = list(lines[feed.begin :])
                    break
                self._unclosed += 1
                numbers.append(found.first + feed.begin)
                rows.append(self._leniently(lines[feed.begin]))
                found.repaired[numbers[-1]] = "its quotes are broken and were read leniently"
                at = feed.begin + 1
        found.numbers, found.cells = numbers, rows

    def _leniently(self, line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=self._layout.delimiter), [])
        except csv.Error:
            return line.split(self._layout.delimiter)


class _Feed:
    """Lines for a reader, from ``begin`` of a row on no more than ``span``; ``place`` is the next."""

    def __init__(self, lines: Sequence[str], begin: int, span: int) -> None:
        self._lines = lines
        self.begin = self.place = begin
        self.span = span

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        if self.place >= len(self._lines) or self.place - self.begin >= self.span:
            raise StopIteration
        self.place += 1
        return f"{self._lines[self.place - 1]}\n"
