"""Tables in files of any size: delimited text with its layout, and Parquet."""

import csv
import functools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import to_json
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import (
    GUESSED,
    GraphColumns,
    choose_columns,
    columns_without_header,
    numbered_columns,
    propose_columns,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ROWS, ReadAccount
from graphrag_dagster.apps.interchange.graph_rows.table_rows import GraphTableRows
from graphrag_dagster.apps.interchange.readers.text_lines import REPLACED, Lines, lines_of, sample_of
from graphrag_dagster.kernel.common.printable import make_unique
from graphrag_dagster.kernel.documents.file_records import REPLACEMENT, UnreadableError, error_line
from graphrag_dagster.kernel.documents.readers.data.delimited_tables import sniff_delimiter

_LOOKED_AT = 100
_LOOKED_AT_CHARACTERS = 200_000
_FIELD_LIMIT = 2**31 - 1
#: What a table that names no columns may have at most; with more, the first row is taken to name them.
_WITHOUT_NAMES = ("head", "relation", "tail")
#: A node or relationship as Neo4j's Browser and cypher-shell write it: ``(:Person {name: "Marta"})``.
_DRAWN_CELL = re.compile(r"\((?::[^\s(){}:]+)+(?: ?\{.*\})?\)|\[:[^\s\[\]{}:]+(?: ?\{.*\})?\]", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class TextLayout:
    """How a file of delimited text is written.

    Args:
        delimiter: between cells.
        quoted: whether quotes may surround a cell.
        names: of the columns.
        header: the line that names them, 0 where none does.
        skipped: lines of comment at the beginning.
        weighted: whether the third column of a table without names has weights.
    """

    delimiter: str
    quoted: bool
    names: tuple[str, ...]
    header: int
    skipped: int = 0
    weighted: bool = False


def layout_of(stream: BinaryIO, path: str, given: GraphColumns = GUESSED) -> TextLayout:
    """Find out how a file is written, from its beginning.

    Raises:
        RefusedError: not text.
        UnreadableError: no table of at least two columns.
    """
    text, _ = sample_of(stream)
    lines = text[:_LOOKED_AT_CHARACTERS].split("\n")[: _LOOKED_AT + 1]
    if len(text) > _LOOKED_AT_CHARACTERS:
        lines = lines[:-1] or lines
    skipped = next((place for place, line in enumerate(lines) if not line.startswith(("# ", "% "))), 0)
    shown = [line for line in lines[skipped:] if line.strip()]
    if not shown:
        raise UnreadableError("no rows; the file is empty")
    delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else _delimiter(shown)
    quoted = _is_quoted(shown, delimiter)
    rows = _parse_lines(shown, delimiter, quoted)
    first = [cell.strip() for cell in rows[0]]
    if any(_DRAWN_CELL.fullmatch(cell.strip()) for row in rows[1:] for cell in row):
        raise UnreadableError(
            "its cells are nodes and relationships as Neo4j Browser shows them, without ids; export them "
            "there as JSON, or return texts: RETURN a.name AS head, type(r) AS relation, b.name AS tail"
        )
    place = skipped + 1 + next(n for n, line in enumerate(lines[skipped:]) if line.strip())
    if _is_header(first, given) or (len(first) > len(_WITHOUT_NAMES) and not _is_numbered(first, given)):
        return TextLayout(delimiter, quoted, tuple(_column_names(first)), place, skipped)
    if len(first) < 2:
        raise UnreadableError(
            "no table: its lines have no two columns with a comma, semicolon, tab, | or blank between them"
        )
    return TextLayout(delimiter, quoted, tuple(numbered_columns(len(first))), 0, skipped, _is_weighted(rows))


def _is_weighted(rows: Sequence[Sequence[str]]) -> bool:
    """Whether three columns are both ends and a weight: the last is a number, and the first two are alike."""
    three = [[cell.strip() for cell in row] for row in rows if len(row) == len(_WITHOUT_NAMES)]
    if not three or not all(_NUMBER.fullmatch(row[2]) for row in three):
        return False
    one, other = {row[0] for row in three}, {row[1] for row in three}
    return bool(one & other) or all(map(str.isdecimal, one | other))


def _column_names(first: Sequence[str]) -> list[str]:
    return make_unique(name or f"column_{place}" for place, name in enumerate(first, start=1))


def _is_header(first: Sequence[str], given: GraphColumns) -> bool:
    wanted = set(given.as_mapping().values())
    if wanted & set(first):
        return True
    if _is_numbered(first, given):
        return False
    if any(":" in name and is_importer_name(name) for name in first):
        return True
    found = propose_columns(_column_names(first), given)
    # A single name may be a cell of the first row.
    return found.record is not None and len(found.as_mapping()) > 1


def _is_numbered(first: Sequence[str], given: GraphColumns) -> bool:
    return bool(set(given.as_mapping().values()) & set(numbered_columns(len(first))))


def is_importer_name(name: str) -> bool:
    """Whether a column is named as Neo4j's importer wants it: ``:ID``, ``:START_ID(Space)``, ``:TYPE``."""
    return name.rpartition(":")[2].partition("(")[0].strip() in ("ID", "START_ID", "END_ID", "LABEL", "TYPE")


def _delimiter(shown: Sequence[str]) -> str:
    found = sniff_delimiter("\n".join(shown))
    widths = {len(line.split(found)) for line in shown} if found.isprintable() or found == "\t" else {1}
    if widths != {1}:
        return found
    blanks = {len(line.split(" ")) for line in shown}
    return " " if blanks in ({2}, {3}) else ","


def _is_quoted(shown: Sequence[str], delimiter: str) -> bool:
    """Whether quotes surround cells; with delimiters that texts seldom hold, only where the file shows it."""
    if delimiter in ",;":
        return True
    if not any(line.startswith('"') or f'{delimiter}"' in line for line in shown):
        return False
    reader = csv.reader((f"{line}\n" for line in shown), delimiter=delimiter, strict=True)
    widths = set()
    try:
        for cells in reader:
            widths.add(len(cells))
    except csv.Error:
        # The last row that is looked at may go on.
        if reader.line_num < len(shown):
            return False
    return len(widths) == 1


def _parse_lines(shown: Sequence[str], delimiter: str, quoted: bool) -> list[list[str]]:
    csv.field_size_limit(_FIELD_LIMIT)
    if not quoted:
        return [line.split(delimiter) for line in shown]
    try:
        found = list(islice(csv.reader((f"{line}\n" for line in shown), delimiter=delimiter), _LOOKED_AT))
    except csv.Error:
        found = []
    return [row for row in found if row] or [[line] for line in shown]


def columns_of(layout: TextLayout, given: GraphColumns, path: str) -> GraphColumns:
    """Return what the columns hold; without a header, three are head, relation, tail, and two head, tail.

    Raises:
        UnreadableError: that cannot be told.
    """
    if layout.header or given != GUESSED:
        return choose_columns(layout.names, given, path)
    if layout.weighted:
        head, tail, weight = layout.names
        return choose_columns(layout.names, GraphColumns(head=head, tail=tail, weight=weight), path)
    return choose_columns(layout.names, GraphColumns(**columns_without_header(len(layout.names))), path)


#: Lines that a row may span, and how often an unclosed quote is looked for that far.
_MOST_LINES, _MOST_UNCLOSED = 1_000, 100


def delimited_rows(
    stream: BinaryIO, layout: TextLayout, record: str, account: ReadAccount
) -> Iterator[GraphTableRows]:
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
        columns = None if found.cells else _split_uniform_lines(found.lines, layout)
        numbers: Sequence[int] = range(found.first, found.first + len(found.lines))
        if columns is None:
            numbers, cells = _rows_of_one_width(found, layout, record, account)
            columns = [pl.Series(column, dtype=pl.String) for column in zip(*cells, strict=True)]
        yield GraphTableRows(
            pl.Series(numbers, dtype=pl.Int64),
            {name: column.str.strip_chars() for name, column in zip(layout.names, columns, strict=False)},
            functools.partial(_raw, found, numbers),
            found.repaired,
            blank=False,
        )


def _raw(found: "_Split", numbers: Sequence[int], place: int) -> str:
    return found.raw(numbers[place])


def _split_uniform_lines(lines: Sequence[str], layout: TextLayout) -> list[pl.Series] | None:
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


def _rows_of_one_width(
    found: _Split, layout: TextLayout, record: str, account: ReadAccount
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

    def __init__(self, layout: TextLayout) -> None:
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


#: Rows that are unpacked at once, and bytes above which no more are added: a small file may hold much.
_STEP, _MOST_BYTES = 2_048, 64_000_000


def parquet_schema(stream: BinaryIO) -> dict[str, str]:
    """Return the columns of a file with the names of their types.

    Raises:
        UnreadableError: not a Parquet file, or damaged.
    """
    with _unreadable_errors():
        return {field.name: str(field.type) for field in _open(stream).schema_arrow}


def is_vector(kind: str) -> bool:
    """Whether a column of this type holds vectors."""
    return "list<" in kind and kind.rstrip(">[]0123456789").endswith(("float", "double"))


def parquet_rows(stream: BinaryIO, columns: Sequence[str] | None = None) -> Iterator[GraphTableRows]:
    """Yield the rows, at most 50,000 at a time, with these columns or all.

    Raises:
        UnreadableError: not a Parquet file, or damaged.
    """
    number = 1
    for table in _tables(stream, columns):
        with _unreadable_errors():
            frame = pl.DataFrame(pl.from_arrow(table))
        numbers = pl.int_range(number, number + frame.height, dtype=pl.Int64, eager=True)
        yield GraphTableRows(numbers, frame.to_dict(), functools.partial(_raw_frames, frame))
        number += frame.height


def _raw_frames(frame: pl.DataFrame, place: int) -> str:
    return to_json(frame.row(place, named=True))


def _tables(stream: BinaryIO, columns: Sequence[str] | None) -> Iterator[Any]:
    import pyarrow as pa

    with _unreadable_errors():
        pending: list[Any] = []
        wanted = None if columns is None else list(columns)
        for batch in _open(stream).iter_batches(batch_size=_STEP, columns=wanted):
            pending.append(batch)
            full = sum(one.num_rows for one in pending) > ROWS - _STEP
            if full or sum(one.nbytes for one in pending) > _MOST_BYTES:
                yield pa.Table.from_batches(pending)
                pending = []
        if pending:
            yield pa.Table.from_batches(pending)


@contextmanager
def _unreadable_errors() -> Iterator[None]:
    """Say of whatever the libraries raise over a damaged file that it cannot be read.

    Bytes of a damaged file lead them to any error: of their own, of Python's types and codecs, or a panic of
    native code, which is no Exception. Only running out of memory says nothing of the file.
    """
    try:
        yield
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise UnreadableError(f"not a readable Parquet file: {error_line(error)}") from error


def _open(stream: BinaryIO) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(stream)
