"""Graphs of Neo4j: CSV files of its importer, and JSON of APOC, its Browser and HTTP interface."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, TypeGuard

from graphrag_dagster.apps.interchange.graph_rows.cell_values import Column, one_line, parse_cell
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import (
    GraphColumns,
    entity_columns,
    relation_columns,
)
from graphrag_dagster.apps.interchange.graph_rows.graph_elements import EDGE, NODE, Element, batches_of
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ANY, ImportBatch, ReadAccount
from graphrag_dagster.apps.interchange.graph_rows.table_rows import GraphTableRows, graph_rows
from graphrag_dagster.apps.interchange.readers.tabular_files import TextLayout, delimited_rows
from graphrag_dagster.apps.interchange.readers.text_lines import lines_of, parse_json, sample_of
from graphrag_dagster.kernel.documents.column_roles import list_columns
from graphrag_dagster.kernel.documents.file_records import UnreadableError, json_value

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


def importer_batches(
    stream: BinaryIO, layout: TextLayout, graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
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
                f"no column :{kind}, which its rows need; the columns are {list_columns(layout.names)}"
            )
    for column in columns:
        if column.type == "IGNORE":
            account.note(f"the column {column.written} was left out, as it says")
    between = _UNUSUAL if _UNUSUAL in sample_of(stream)[0] else _USUAL
    for rows in delimited_rows(stream, layout, record or "entities", account):
        told = _declared_rows(rows, columns, between) if len(rows.numbers) else rows
        names = [name for name in told.columns if not name.startswith("<")]
        if record == "relations":
            found = relation_columns(names, GraphColumns(head="<start>", tail="<end>", relation="<type>"))
        else:
            found = entity_columns(names, GraphColumns(key="<id>", type="<type>"))
        yield from graph_rows(told, found, graph, account)
        yield from account.pending()


def _declared_rows(rows: GraphTableRows, columns: Sequence[_Column], between: str) -> GraphTableRows:
    found: dict[str, Column] = {}
    for column in columns:
        cells = list(rows.columns[column.written])
        if column.type in (_ID, _START, _END):
            place = {_ID: "<id>", _START: "<start>", _END: "<end>"}[column.type]
            keyed = [f"{column.space}:{cell}" if column.space and cell else cell for cell in cells]
            found[place] = _join_ids(found.get(place), keyed)
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
            found[column.name or column.written] = _typed_column(rows, column, cells, between)
    return GraphTableRows(rows.numbers, found, rows.raw, rows.repaired, blank=False)


def _join_ids(before: Column | None, cells: list[str | None]) -> list[str | None]:
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


def _typed_column(rows: GraphTableRows, column: _Column, cells: list[str | None], between: str) -> Column:
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


#: Objects within a node or edge that hold its attributes.
_HOLDERS = ("attributes", "properties", "metadata", "data", "v")
#: How rows of a server name the ends of a relation, and what a node there is named by.
_ENDS = (
    ("startNodeElementId", "endNodeElementId", "elementId"),
    ("startNode", "endNode", "id"),
    ("start", "end", "identity"),
)
_DEEPEST, _DEEPEST_LOOK = 40, 12
_LOOKED_AT = 200
_Value = Mapping[str, Any]


def served_line_batches(stream: BinaryIO, graph: str, account: ReadAccount) -> Iterator[ImportBatch]:
    """Yield nodes and relations of JSON lines as APOC exports them; rows are lines.

    An end of a relation that has no line of its own, as in an export of a part of a graph, is read from the
    relation, and numbered after the last line.

    Raises:
        RefusedError: not text.
        UnreadableError: a line is too long.
    """
    seen: set[str] = set()
    ends: dict[str, Element] = {}

    def elements() -> Iterator[Element]:
        number = 0
        for block in lines_of(stream):
            for number, line in enumerate(block.lines, start=block.first):
                if not line or line.isspace():
                    continue
                try:
                    told = json_value(parse_json(line))
                except UnreadableError as error:
                    account.malformed(ANY, number, str(error), line)
                    continue
                found = [one for one in served_elements(told, seen) if one is not None]
                if not found:
                    account.malformed(ANY, number, "neither a node nor a relationship", line)
                for one in found[:1]:
                    ends.pop(str(one.told["id"]) if one.tag == NODE else "", None)
                    yield numbered_element(one, number)
                ends.update((str(one.told["id"]), one) for one in found[1:])
        yield from (numbered_element(one, row) for row, one in enumerate(ends.values(), start=number + 1))

    yield from batches_of(elements(), graph, account)


def is_served(value: object) -> bool:
    """Whether a value is a node or a relation as Neo4j writes them."""
    return isinstance(value, dict) and (is_node(value) or ends_of(value) is not None)


def is_node(value: _Value) -> bool:
    """Whether a value is a node."""
    # APOC leaves out labels where there are none.
    told = isinstance(value.get("labels"), list) or value.get("type") == "node"
    return told and any(value.get(name) is not None for name in ("id", "identity", "elementId"))


def ends_of(value: _Value) -> tuple[object, object] | None:
    """The ids of the ends of a relation, None where it is none."""
    if not isinstance(value.get("properties", {}), dict) or not (value.get("type") or value.get("label")):
        return None
    for head, tail, _ in _ENDS:
        one, other = value.get(head), value.get(tail)
        if one is not None and other is not None:
            return _id_of(one), _id_of(other)
    return None


def _id_of(told: object) -> object:
    if not isinstance(told, dict):
        return told
    return next((told[n] for n in ("elementId", "id", "identity") if told.get(n) is not None), None)


def holds_served(value: object, level: int = 0) -> bool:
    """Whether a value holds nodes or relations as Neo4j writes them, looking at the first of many."""
    if level > _DEEPEST_LOOK:
        return False
    if isinstance(value, list):
        return any(holds_served(one, level + 1) for one in value[:_LOOKED_AT])
    if not isinstance(value, dict):
        return False
    if is_node(value) or (ends_of(value) is not None and "properties" in value):
        return True
    return any(holds_served(one, level + 1) for one in value.values())


def served_elements(value: object, seen: set[str], level: int = 0) -> Iterator[Element]:
    """The nodes and relations within rows of a server, and ends of relations that are told there alone."""
    if level > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from served_elements(one, seen, level + 1)
    elif isinstance(value, dict):
        if (ends := ends_of(value)) is not None and not _is_path(value):
            yield relation_of(value, ends)
            for name in ("start", "end"):
                end = value.get(name)
                if _is_told(end) and str(_id_of(end)) not in seen:
                    seen.add(str(_id_of(end)))
                    yield node_of(end)
        elif is_node(value):
            seen.add(str(_id_of(value)))
            yield node_of(value)
        else:
            for one in value.values():
                yield from served_elements(one, seen, level + 1)


def _is_told(end: object) -> TypeGuard[_Value]:
    """Whether an end of a relation is a node with more than its id."""
    return isinstance(end, dict) and (is_node(end) or bool(end.get("properties") and _id_of(end) is not None))


def _is_path(value: _Value) -> bool:
    return "segments" in value


def node_of(value: _Value) -> Element:
    """Return a node."""
    data = flatten({"properties": value.get("properties") or {}})
    labels = value.get("labels") if isinstance(value.get("labels"), list) else []
    return Element(NODE, 0, {"id": _id_of(value), "labels": labels}, data)


def relation_of(value: _Value, ends: tuple[object, object]) -> Element:
    """Return a relation between two ids."""
    data = flatten({"properties": value.get("properties") or {}})
    kind = (
        value.get("label") if value.get("type") == "relationship" else value.get("type", value.get("label"))
    )
    told = {"id": _id_of(value), "source": ends[0], "target": ends[1]}
    return Element(EDGE, 0, told, {"relation": one_line(kind), **data})


def flatten(told: Mapping[str, Any]) -> dict[str, object]:
    """The attributes of an element, and those that it holds in an object."""
    found: dict[str, object] = {}
    for name, held in told.items():
        inner = held.items() if name in _HOLDERS and isinstance(held, dict) else ((name, held),)
        for key, value in inner:
            found.setdefault(str(key), parse_cell(str(key), value))
    return found


def numbered_element(element: Element, row: int) -> Element:
    """Return an element with its number among those of its file."""
    element.row = row
    return element
