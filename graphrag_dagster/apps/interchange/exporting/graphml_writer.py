"""GraphML: one directed graph whose nodes and edges have typed attributes."""

import re
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import quoteattr

import polars as pl
import pyarrow as pa

from graphrag_dagster.apps.interchange.exporting.export_rows import (
    ID,
    RELATION,
    SOURCE,
    TARGET,
    Edges,
    Nodes,
    json_text,
)
from graphrag_dagster.kernel.common.progress import stage

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""
_TAIL = "</graph>\n</graphml>\n"
#: XML has no form for these, not even an escaped one.
_NO_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_REPLACEMENT = "\ufffd"
_LABEL, _DIRECTED = "label", "directed"


def write_graphml(place: Path, nodes: Nodes, edges: Edges) -> tuple[int, int]:
    """Write a GraphML file; returns the numbers of nodes and edges.

    Lists are written as JSON. Characters that XML cannot hold become U+FFFD.

    Args:
        place: the file.
        nodes: of the one kind that the graph has; ids are those of its nodes.
        edges: statements; the attribute ``label`` is their relation, where they have one. The property
            ``directed``, true or false, is no attribute: edges have it by themselves.
    """
    keys = _Keys(nodes, edges)
    with place.open("wb") as file:
        file.write(f"{_HEAD}{keys.declarations()}".encode())
        default = "directed" if edges.directed else "undirected"
        file.write(f'<graph id="G" edgedefault="{default}">\n'.encode())
        counts = _write_nodes(file, nodes, keys), _write_edges(file, edges, keys)
        file.write(_TAIL.encode())
    return counts


class _Keys:
    """The ids under which attributes are declared: their names may hold anything."""

    def __init__(self, nodes: Nodes, edges: Edges) -> None:
        said = [one for one in edges.properties if not _tells_direction(one)]
        relation = [one for one in edges.rows.schema if one.name == RELATION]
        self.nodes: dict[str, str] = {}
        self.edges: dict[str, str] = {}
        self._fields: list[tuple[str, str, str, str]] = []
        told = (("node", nodes.properties, self.nodes), ("edge", [*relation, *said], self.edges))
        for of, fields, keys in told:
            for place, one in enumerate(fields):
                keys[one.name] = f"{of[0]}{place}"
                name = _LABEL if one.name == RELATION else re.sub(_NO_XML, _REPLACEMENT, one.name)
                self._fields.append((of, keys[one.name], name, _type(one.type)))

    def declarations(self) -> str:
        return "".join(
            f'<key id="{key}" for="{of}" attr.name={quoteattr(name)} attr.type="{type_}"/>\n'
            for of, key, name, type_ in self._fields
        )


def _tells_direction(one: pa.Field) -> bool:
    return one.name == _DIRECTED and bool(pa.types.is_boolean(one.type))


def _type(type_: pa.DataType) -> str:
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_integer(type_):
        return "long"
    return "double" if pa.types.is_floating(type_) else "string"


def _write_nodes(file: BinaryIO, nodes: Nodes, keys: _Keys) -> int:
    count = 0
    with stage("Writing nodes") as running:
        for frame in nodes.rows.frames():
            head = pl.concat_str(pl.lit('<node id="'), _attribute(ID), pl.lit('">'))
            _write(file, frame, head, keys.nodes, "</node>\n")
            count += frame.height
            running.advance(frame.height)
    return count


def _write_edges(file: BinaryIO, edges: Edges, keys: _Keys) -> int:
    count = 0
    directed = [_DIRECTED] if any(map(_tells_direction, edges.properties)) else []
    with stage("Writing edges") as running:
        for frame in edges.rows.frames():
            # An edge needs no id.
            key = pl.concat_str(pl.lit(' id="'), _attribute(ID), pl.lit('"')).fill_null("")
            otherwise = [
                pl.when(pl.col(name) != edges.directed).then(_text(frame, name)) for name in directed
            ]
            told = [pl.concat_str(pl.lit(' directed="'), one, pl.lit('"')).fill_null("") for one in otherwise]
            head = pl.concat_str(
                *(pl.lit("<edge"), key, pl.lit(' source="'), _attribute(SOURCE), pl.lit('" target="')),
                *(_attribute(TARGET), pl.lit('"'), *told, pl.lit(">")),
            )
            _write(file, frame, head, keys.edges, "</edge>\n")
            count += frame.height
            running.advance(frame.height)
    return count


def _write(file: BinaryIO, frame: pl.DataFrame, head: pl.Expr, keys: dict[str, str], end: str) -> None:
    parts = [head, *(_data(frame, name, key) for name, key in keys.items()), pl.lit(end)]
    lines = frame.select(line=pl.concat_str(*parts))["line"]
    file.write(lines.str.join("").item().encode())


def _data(frame: pl.DataFrame, name: str, key: str) -> pl.Expr:
    text = _text(frame, name)
    return pl.concat_str(pl.lit(f'<data key="{key}">'), text, pl.lit("</data>")).fill_null("")


def _text(frame: pl.DataFrame, name: str) -> pl.Expr:
    type_ = frame.schema[name]
    if type_ == pl.Boolean:
        return pl.when(name).then(pl.lit("true")).when(pl.col(name).not_()).then(pl.lit("false"))
    if isinstance(type_, pl.List):
        return _escape(json_text(name))
    return _escape(pl.col(name)) if type_ == pl.String else pl.col(name).cast(pl.String)


def _escape(text: pl.Expr) -> pl.Expr:
    # Readers make a line end of a carriage return unless it is escaped.
    return text.str.replace_all(_NO_XML, _REPLACEMENT).str.replace_many(
        ["&", "<", ">", "\r"], ["&amp;", "&lt;", "&gt;", "&#13;"]
    )


def _attribute(name: str) -> pl.Expr:
    return _escape(pl.col(name)).str.replace_many(['"', "\n", "\t"], ["&quot;", "&#10;", "&#9;"])
