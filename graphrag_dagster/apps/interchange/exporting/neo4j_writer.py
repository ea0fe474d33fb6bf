"""CSV files for Neo4j's importer, and the same by a Cypher script for a running database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

import polars as pl
import pyarrow as pa

from graphrag_dagster.apps.interchange.exporting.export_folder import ExportWriter
from graphrag_dagster.apps.interchange.exporting.export_rows import (
    ID,
    LABELS,
    RELATION,
    SOURCE,
    TARGET,
    Edges,
    ExportGraph,
    Nodes,
    guard_formulas,
)
from graphrag_dagster.kernel.common.printable import make_unique
from graphrag_dagster.kernel.common.progress import stage

#: Between the values of a list; no text has it, or it is taken out.
SEPARATOR = "\x1f"
_AT_ONCE = 10_000
_ENTITY, _IGNORED = "Entity", "IGNORE"
_BEFORE = """\
// Put the CSV files into the folder import of Neo4j 5.26 or newer, set
// db.import.csv.legacy_quote_escaping=false, without which texts with backslashes are misread, and run:
// cypher-shell -f load.cypher"""
_TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "long"),
    (pa.types.is_floating, "double"),
)


@dataclass(frozen=True)
class _CsvFile:
    """A kind of nodes or edges as a file: its name, and the columns there.

    Attributes:
        name: without extension.
        header: of each column, as the importer reads it.
        columns: of the rows, in that order.
    """

    name: str
    header: Sequence[str]
    columns: Sequence[str]

    @property
    def path(self) -> str:
        return f"{self.name}.csv"

    def cell(self, place: int) -> str:
        """Return what names the cell of a column in a row, in Cypher."""
        return f"row.{quote_identifier(self.header[place])}"


def file_of(one: Nodes | Edges) -> _CsvFile:
    """Return the file of a kind."""
    properties = [
        (f"{name}:{_type(field.type)}", field.name)
        for name, field in zip(_headers(one), one.properties, strict=True)
    ]
    key = identifier(one)
    if isinstance(one, Nodes):
        fixed = [(f"{key}:ID{_space(one.kind)}", ID)]
        # The type of an entity is a label of its node, too.
        labels = LABELS if LABELS in one.rows.schema.names else "type"
        if one.kind == _ENTITY and labels in one.rows.schema.names:
            properties.append((":LABEL", labels))
        name = one.kind
    else:
        fixed = [(f":START_ID{_space(one.source)}", SOURCE), (f":END_ID{_space(one.target)}", TARGET)]
        if one.are_statements:
            fixed += [(f"{key}:{'string' if one.named else _IGNORED}", ID), (":TYPE", RELATION)]
        name = f"{one.source}-{one.kind}-{one.target}"
    header, columns = zip(*fixed, *properties, strict=True)
    return _CsvFile(name, header, columns)


def identifier(one: Nodes | Edges) -> str:
    """Return the property that holds the id of a node or edge: one that no property of its own is called."""
    taken = set(_headers(one))
    names = chain(("id", "key"), map("id_{}".format, count()))
    return next(name for name in names if name not in taken)


def write_csv(folder: Path, one: Nodes | Edges, made: ExportWriter) -> int:
    """Write the header and the rows of a kind of nodes or edges; returns the number of rows.

    ``made`` is told of cells that begin as formulas do.
    """
    file, written = file_of(one), 0
    header = pl.DataFrame([list(file.header)], orient="row")
    with stage(f"Writing {file.name}") as running, (folder / file.path).open("wb") as place:
        guard_formulas(header, made).write_csv(place, include_header=False)
        for frame in one.rows.frames():
            rows = frame.select(_cell(frame, name).alias(str(n)) for n, name in enumerate(file.columns))
            guard_formulas(rows, made).write_csv(place, include_header=False)
            written += frame.height
            running.advance(frame.height)
    return written


def _cell(frame: pl.DataFrame, name: str) -> pl.Expr:
    type_, value = frame.schema[name], pl.col(name)
    if isinstance(type_, pl.List):
        told = pl.element().cast(pl.String).str.replace_all(SEPARATOR, " ", literal=True)
        return value.list.eval(told).list.drop_nulls().list.join(SEPARATOR)
    return value


def _headers(one: Nodes | Edges) -> list[str]:
    # A colon ends the name of a property there.
    return make_unique(field.name.replace(":", "_") or "_" for field in one.properties)


def _space(kind: str) -> str:
    """Return the space of the ids of a kind; those of entities are in that of all."""
    return "" if kind == _ENTITY else f"({kind})"


def _type(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"{_type(type_.value_type)}[]"
    return next((told for fits, told in _TYPES if fits(type_)), "string")


def import_command(graph: ExportGraph, name: str) -> str:
    """Return the shell script that makes a new database of the files by the importer."""
    options = [
        *(f"--nodes={one.kind}={file_of(one).path}" for one in graph.nodes),
        *(
            f"--relationships={'' if one.are_statements else one.kind + '='}{file_of(one).path}"
            for one in graph.edges
        ),
    ]
    told = " \\\n    ".join(
        ["neo4j-admin database import full", *options, "--array-delimiter=U+001F", "--multiline-fields=true"]
    )
    return (
        f"#!/bin/sh\n# Makes a new database of {name}; run it in this folder, with Neo4j stopped.\n"
        f'set -eu\n{told} \\\n    --id-type=string "${{1:-neo4j}}"\n'
    )


def cypher(graph: ExportGraph) -> str:
    """Return the Cypher script that puts the files into a database that runs; doing it again changes nothing.

    Kinds are ours, names of properties are quoted, and all else is data: no value becomes a part of a query.
    """
    constraints = [
        f"CREATE CONSTRAINT {quote_identifier('graphrag_' + one.kind.lower())} IF NOT EXISTS "
        f"FOR (n:{quote_identifier(one.kind)}) REQUIRE n.{quote_identifier(identifier(one))} IS UNIQUE;"
        for one in graph.nodes
    ]
    keys = {one.kind: identifier(one) for one in graph.nodes}
    edges = (_edge_query(one, keys) for one in graph.edges)
    return "\n".join([_BEFORE, *constraints, *map(_node_query, graph.nodes), *edges, ""])


def quote_identifier(name: str) -> str:
    """Return a name as Cypher quotes it, whatever it holds.

    >>> quote_identifier("a`b")
    '`a``b`'
    """
    # Cypher reads escapes of Unicode before anything else.
    return "`" + name.replace("\\u", "\\u005Cu").replace("`", "``") + "`"


def _node_query(one: Nodes) -> str:
    file = file_of(one)
    node = f"(n:{quote_identifier(one.kind)} {{{quote_identifier(identifier(one))}: {file.cell(0)}}})"
    label = f" SET n:$({_list(file.cell(len(file.columns) - 1))})"
    return _query(file, f"MERGE {node} {_set('n', file)}{label if file.header[-1] == ':LABEL' else ''}")


def _edge_query(one: Edges, keys: Mapping[str, str]) -> str:
    file = file_of(one)
    a, b = (
        f"{quote_identifier(kind)} {{{quote_identifier(keys[kind])}: {file.cell(n)}}}"
        for n, kind in enumerate((one.source, one.target))
    )
    ends = f"MATCH (a:{a}) MATCH (b:{b}) MERGE (a)"
    if not one.are_statements:
        return _query(file, f"{ends}-[:{quote_identifier(one.kind)}]->(b)")
    edge = f"[r:$({file.cell(3)}) {{{quote_identifier(identifier(one))}: {file.cell(2)}}}]"
    return _query(file, f"{ends}-{edge}->(b) {_set('r', file)}")


def _query(file: _CsvFile, work: str) -> str:
    return (
        f"LOAD CSV WITH HEADERS FROM 'file:///{file.path}' AS row\n"
        f"CALL (row) {{ {work.strip()} }} IN TRANSACTIONS OF {_AT_ONCE} ROWS;"
    )


_CONVERSIONS = {"long": "toInteger({})", "double": "toFloat({})", "boolean": "toBoolean({})"}


def _list(cell: str) -> str:
    return f"CASE WHEN coalesce({cell}, '') = '' THEN [] ELSE split({cell}, '\\u001F') END"


def _set(variable: str, file: _CsvFile) -> str:
    """Return what sets the properties; those that identify it are set by then."""
    told = []
    for place, (header, column) in enumerate(zip(file.header, file.columns, strict=True)):
        name, _, type_ = header.rpartition(":")
        if not name or column == ID:
            continue
        cell, conversion = file.cell(place), _CONVERSIONS.get(type_.removesuffix("[]"), "{}")
        if type_.endswith("[]"):
            value = f"[one IN {_list(cell)} | {conversion.format('one')}]"
        else:
            value = conversion.format(cell)
        told.append(f"{variable}.{quote_identifier(name)} = {value}")
    return f"SET {', '.join(told)}" if told else ""
