"""How a table of delimited text is written: delimiter, quotes, names of the columns."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from graphrag_dagster.apps.interchange.readers.tabular.columns import (
    GUESSED,
    GraphColumns,
    chosen,
    headerless,
    numbered,
    proposal,
)
from graphrag_dagster.apps.interchange.readers.tabular.lines import beginning_of
from graphrag_dagster.kernel.documents.files.columns import once_each
from graphrag_dagster.kernel.documents.files.records import UnreadableError
from graphrag_dagster.kernel.documents.readers.data.delimited import sniff_delimiter

_LOOKED_AT = 100
_LOOKED_AT_CHARACTERS = 200_000
_FIELD_LIMIT = 2**31 - 1
#: What a table that names no columns may have at most; with more, the first row is taken to name them.
_WITHOUT_NAMES = ("head", "relation", "tail")
#: A node or relationship as Neo4j's Browser and cypher-shell write it: ``(:Person {name: "Marta"})``.
_DRAWN_CELL = re.compile(r"\((?::[^\s(){}:]+)+(?: ?\{.*\})?\)|\[:[^\s\[\]{}:]+(?: ?\{.*\})?\]", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Layout:
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


def layout_of(stream: BinaryIO, path: str, given: GraphColumns = GUESSED) -> Layout:
    """Find out how a file is written, from its beginning.

    Raises:
        RefusedError: not text.
        UnreadableError: no table of at least two columns.
    """
    text, _ = beginning_of(stream)
    lines = text[:_LOOKED_AT_CHARACTERS].split("\n")[: _LOOKED_AT + 1]
    if len(text) > _LOOKED_AT_CHARACTERS:
        lines = lines[:-1] or lines
    skipped = next((place for place, line in enumerate(lines) if not line.startswith(("# ", "% "))), 0)
    shown = [line for line in lines[skipped:] if line.strip()]
    if not shown:
        raise UnreadableError("no rows; the file is empty")
    delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else _delimiter(shown)
    quoted = _is_quoted(shown, delimiter)
    rows = _parsed(shown, delimiter, quoted)
    first = [cell.strip() for cell in rows[0]]
    if any(_DRAWN_CELL.fullmatch(cell.strip()) for row in rows[1:] for cell in row):
        raise UnreadableError(
            "its cells are nodes and relationships as Neo4j Browser shows them, without ids; export them "
            "there as JSON, or return texts: RETURN a.name AS head, type(r) AS relation, b.name AS tail"
        )
    place = skipped + 1 + next(n for n, line in enumerate(lines[skipped:]) if line.strip())
    if _is_header(first, given) or (len(first) > len(_WITHOUT_NAMES) and not _is_numbered(first, given)):
        return Layout(delimiter, quoted, tuple(_named(first)), place, skipped)
    if len(first) < 2:
        raise UnreadableError(
            "no table: its lines have no two columns with a comma, semicolon, tab, | or blank between them"
        )
    return Layout(delimiter, quoted, tuple(numbered(len(first))), 0, skipped, _is_weighted(rows))


def _is_weighted(rows: Sequence[Sequence[str]]) -> bool:
    """Whether three columns are both ends and a weight: the last is a number, and the first two are alike."""
    three = [[cell.strip() for cell in row] for row in rows if len(row) == len(_WITHOUT_NAMES)]
    if not three or not all(_NUMBER.fullmatch(row[2]) for row in three):
        return False
    one, other = {row[0] for row in three}, {row[1] for row in three}
    return bool(one & other) or all(map(str.isdecimal, one | other))


def _named(first: Sequence[str]) -> list[str]:
    return once_each(name or f"column_{place}" for place, name in enumerate(first, start=1))


def _is_header(first: Sequence[str], given: GraphColumns) -> bool:
    wanted = set(given.as_mapping().values())
    if wanted & set(first):
        return True
    if _is_numbered(first, given):
        return False
    if any(":" in name and is_importer_name(name) for name in first):
        return True
    found = proposal(_named(first), given)
    # A single name may be a cell of the first row.
    return found.record is not None and len(found.as_mapping()) > 1


def _is_numbered(first: Sequence[str], given: GraphColumns) -> bool:
    return bool(set(given.as_mapping().values()) & set(numbered(len(first))))


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


def _parsed(shown: Sequence[str], delimiter: str, quoted: bool) -> list[list[str]]:
    csv.field_size_limit(_FIELD_LIMIT)
    if not quoted:
        return [line.split(delimiter) for line in shown]
    try:
        found = list(islice(csv.reader((f"{line}\n" for line in shown), delimiter=delimiter), _LOOKED_AT))
    except csv.Error:
        found = []
    return [row for row in found if row] or [[line] for line in shown]


def columns_of(layout: Layout, given: GraphColumns, path: str) -> GraphColumns:
    """Return what the columns hold; without a header, three are head, relation, tail, and two head, tail.

    Raises:
        UnreadableError: that cannot be told.
    """
    if layout.header or given != GUESSED:
        return chosen(layout.names, given, path)
    if layout.weighted:
        head, tail, weight = layout.names
        return chosen(layout.names, GraphColumns(head=head, tail=tail, weight=weight), path)
    return chosen(layout.names, GraphColumns(**headerless(len(layout.names))), path)
