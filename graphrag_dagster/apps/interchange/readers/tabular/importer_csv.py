"""CSV files as Neo4j's importer reads them: ``id:ID(Person)``, ``:LABEL``, ``:START_ID``, ``born:int[]``."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO

from graphrag_dagster.apps.interchange.readers.batches import Account, Batch
from graphrag_dagster.apps.interchange.readers.rows import Rows, graph_rows
from graphrag_dagster.apps.interchange.readers.tabular.cells import Column, one_line
from graphrag_dagster.apps.interchange.readers.tabular.columns import (
    GraphColumns,
    entity_columns,
    relation_columns,
)
from graphrag_dagster.apps.interchange.readers.tabular.delimited import delimited_rows
from graphrag_dagster.apps.interchange.readers.tabular.layout import Layout
from graphrag_dagster.apps.interchange.readers.tabular.lines import beginning_of
from graphrag_dagster.kernel.documents.files.columns import listed
from graphrag_dagster.kernel.documents.files.records import UnreadableError

_HEADER = re.compile(
    r"(?P<name>.*?)(?::(?P<type>\w+)(?P<many>\[\])?(?:\((?P<space>[^)]*)\))?\s*(?:\{.*\})?)?"
)
_INTEGERS, _FRACTIONS = ("int", "long", "short", "byte"), ("float", "double")
_BOOLEANS = {"true": True, "false": False}
_ID, _START, _END, _LABEL, _TYPE = "ID", "START_ID", "END_ID", "LABEL", "TYPE"
_HEADER_WORD = re.compile(r"[-_ ]?headers?[-_ ]?")
#: Names of an id that say no more than that it is one.
_PLAIN = ("id", "key")
#: Between the values of a list: as the importer has it unless it is told otherwise, and as our exports do.
_USUAL, _UNUSUAL = ";", "\x1f"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: as the file has it, name and type of the property, whether it is a list, space of ids."""

    written: str
    name: str
    type: str
    many: bool
    space: str


def _columns(names: Sequence[str]) -> list[_Column]:
    found = []
    for written in names:
        told = _HEADER.fullmatch(written)
        parts = told.groupdict() if told else {}
        name, kind = (parts.get("name") or "").strip(), parts.get("type") or ""
        found.append(_Column(written, name, kind, bool(parts.get("many")), parts.get("space") or ""))
    return found


def importer_record(names: Sequence[str]) -> str | None:
    """Return what the rows of such a file are, or None where it is none."""
    kinds = {column.type for column in _columns(names)}
    if kinds & {_START, _END}:
        return "relations"
    return "entities" if kinds & {_ID, _LABEL} else None


def header_for(path: str, headers: Sequence[str]) -> str | None:
    """Return which of some header files names the columns of a file, None where none is called after it.

    >>> header_for("movies_2.csv", ["movies_header.csv", "header-actors.csv"])
    'movies_header.csv'
    """
    stem = PurePosixPath(path).name.partition(".")[0].casefold()
    fitting = {
        bare: header
        for header in headers
        if (bare := _HEADER_WORD.sub("", PurePosixPath(header).name.partition(".")[0].casefold()))
        and re.fullmatch(rf"{re.escape(bare)}(?:[-_ ]?(?:part|data|rows)?[-_ ]?\d*)", stem)
    }
    return fitting[max(fitting, key=len)] if fitting else None


def importer_batches(stream: BinaryIO, layout: Layout, graph: str, account: Account) -> Iterator[Batch]:
    """Yield nodes as entities and relationships as relations.

    The key is the id, with its space before it where it has one: ``Person:7``. The type is the first label;
    several are among the attributes as ``labels``. Between the values of a list stands U+001F where the
    beginning of the file has one, else a semicolon.

    Raises:
        RefusedError: not text.
        UnreadableError: the header lacks ids.
    """
    columns = _columns(layout.names)
    record = importer_record(layout.names)
    needed = (_START, _END) if record == "relations" else (_ID,)
    for kind in needed:
        if not any(column.type == kind for column in columns):
            raise UnreadableError(
                f"no column :{kind}, which its rows need; the columns are {listed(layout.names)}"
            )
    for column in columns:
        if column.type == "IGNORE":
            account.note(f"the column {column.written} was left out, as it says")
    between = _UNUSUAL if _UNUSUAL in beginning_of(stream)[0] else _USUAL
    for rows in delimited_rows(stream, layout, record or "entities", account):
        told = _told(rows, columns, between) if len(rows.numbers) else rows
        names = [name for name in told.columns if not name.startswith("<")]
        if record == "relations":
            found = relation_columns(names, GraphColumns(head="<start>", tail="<end>", relation="<type>"))
        else:
            found = entity_columns(names, GraphColumns(key="<id>", type="<type>"))
        yield from graph_rows(told, found, graph, account)
        yield from account.pending()


def _told(rows: Rows, columns: Sequence[_Column], between: str) -> Rows:
    found: dict[str, Column] = {}
    for column in columns:
        cells = list(rows.columns[column.written])
        if column.type in (_ID, _START, _END):
            place = {_ID: "<id>", _START: "<start>", _END: "<end>"}[column.type]
            keyed = [f"{column.space}:{cell}" if column.space and cell else cell for cell in cells]
            found[place] = _joined(found.get(place), keyed)
            if column.type == _ID and column.name and (column.space or column.name not in _PLAIN):
                found[column.name] = cells
        elif column.type == _LABEL:
            labels = [[one for one in _split(cell or "", between) if one] for cell in cells]
            found["<type>"] = [some[0] if some else None for some in labels]
            if any(len(some) > 1 for some in labels):
                found["labels"] = [some if len(some) > 1 else None for some in labels]
        elif column.type == _TYPE:
            found["<type>"] = cells
        elif column.type != "IGNORE":
            found[column.name or column.written] = _typed(rows, column, cells, between)
    return Rows(rows.numbers, found, rows.raw, rows.repaired, blank=False)


def _joined(before: Column | None, cells: list[str | None]) -> list[str | None]:
    """Ids of several columns are one id together."""
    if before is None:
        return cells
    return [
        f"{one_line(first) or ''}{second or ''}" or None for first, second in zip(before, cells, strict=True)
    ]


def _split(cell: str, between: str) -> list[str]:
    if between == _UNUSUAL or _UNUSUAL in cell:
        return cell.split(_UNUSUAL)
    return [part.strip() for part in cell.split(between)]


def _typed(rows: Rows, column: _Column, cells: list[str | None], between: str) -> Column:
    found: list[object] = []
    for place, cell in enumerate(cells):
        if not cell:
            found.append(None)
            continue
        try:
            parts = _split(cell, between) if column.many else [cell]
            values = [_value(column.type, part) for part in parts]
            found.append(values if column.many else values[0])
        except (ValueError, KeyError):
            found.append(cell)
            rows.mend([place], f"{column.name} is declared as {column.type}, which {cell[:60]!r} is not")
    return found


def _value(kind: str, text: str) -> object:
    if kind in _INTEGERS:
        return int(text)
    if kind in _FRACTIONS:
        return float(text)
    return _BOOLEANS[text.strip().lower()] if kind == "boolean" else text
