"""GraphML of any size, element by element."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import BinaryIO
from xml.parsers import expat

import polars as pl

from graphrag_dagster.core.corpus.graphs.batches import ROWS, Account, Batch
from graphrag_dagster.core.corpus.graphs.cells import Column, one_line, to_json
from graphrag_dagster.core.corpus.graphs.columns import (
    GUESSED,
    GraphColumns,
    entity_columns,
    relation_columns,
)
from graphrag_dagster.core.corpus.graphs.graphml_elements import BOOLEANS, Element, Reader
from graphrag_dagster.core.corpus.graphs.rows import Rows, entities, relations
from graphrag_dagster.core.files.records import UnreadableError

_PIECE = 1 << 18
#: Names that no attribute of a file is given.
_ID, _SOURCE, _TARGET, _DIRECTED = "<id>", "<source>", "<target>", "directed"


def graphml_batches(
    stream: BinaryIO, graph: str, account: Account, given: GraphColumns = GUESSED
) -> Iterator[Batch]:
    """Yield the nodes as entities and the edges as relations; rows are nodes and edges, counted from 1.

    Of ``given`` those columns count that are attributes of the file.

    Raises:
        RefusedError: it declares entities.
        UnreadableError: no GraphML, or broken XML.
    """
    reader = Reader(account)
    parser = reader.parser()
    while True:
        piece = stream.read(_PIECE)
        try:
            parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            raise UnreadableError(f"broken XML: {error}; write the file again, or mend it there") from error
        except (LookupError, ValueError) as error:
            raise UnreadableError(f"XML in an encoding that cannot be read: {error}") from error
        if not piece or max(len(reader.nodes), len(reader.edges)) > ROWS // 2:
            nodes, edges = reader.nodes, reader.edges
            reader.nodes, reader.edges = [], []
            if nodes:
                yield from _entities(nodes, reader, given, graph, account)
            if edges:
                yield from _relations(edges, reader, given, graph, account)
            yield from account.pending()
        if not piece:
            return


def _rows(elements: list[Element], own: Mapping[str, Column], defaults: Mapping[str, object]) -> Rows:
    names = dict.fromkeys([*defaults, *(name for element in elements for name in element.data)])
    columns = {name: [e.data.get(name, defaults.get(name)) for e in elements] for name in names}
    numbers = pl.Series([element.row for element in elements], dtype=pl.Int64)

    def raw(place: int) -> str:
        return to_json({**elements[place].told, **elements[place].data})

    mended = {element.row: element.mended for element in elements if element.mended}
    return Rows(numbers, {**own, **columns}, raw, mended)


def _entities(
    nodes: list[Element], reader: Reader, given: GraphColumns, graph: str, account: Account
) -> Iterator[Batch]:
    for node in nodes:
        # As Neo4j writes them.
        if "labels" in node.told:
            node.data.setdefault("labels", node.told["labels"])
    rows = _rows(nodes, {_ID: [node.told.get("id") for node in nodes]}, reader.defaults("node"))
    names = [*reader.names("node"), *rows.columns]
    known = replace(_known(given, names), key=_ID, head=None, tail=None)
    columns = entity_columns(names, _with_units(known, names))
    if columns.type in ("labels", "label"):
        rows = replace(rows, columns={**rows.columns, "<type>": _first_labels(rows, columns.type)})
        columns = replace(columns, type="<type>")
    yield from entities(rows, columns, graph, account)


def _first_labels(rows: Rows, name: str) -> list[str | None]:
    """The first of several labels, ``:Person:Actor``."""
    texts = (one_line(cell) for cell in rows.cells(name))
    return [
        text.removeprefix(":").partition(":")[0] if text and text.startswith(":") else text for text in texts
    ]


def _relations(
    edges: list[Element], reader: Reader, given: GraphColumns, graph: str, account: Account
) -> Iterator[Batch]:
    for edge in edges:
        if "label" in edge.told:
            edge.data.setdefault("label", edge.told["label"])
        if _DIRECTED in edge.data:
            edge.data[f"{_DIRECTED}_2"] = edge.data.pop(_DIRECTED)
    own: dict[str, Column] = {
        _ID: [edge.told.get("id") for edge in edges],
        _SOURCE: [edge.told.get("source") for edge in edges],
        _TARGET: [edge.told.get("target") for edge in edges],
        _DIRECTED: [BOOLEANS.get(edge.told.get(_DIRECTED, "").lower(), reader.directed) for edge in edges],
    }
    rows = _rows(edges, own, reader.defaults("edge"))
    names = [name for name in [*reader.names("edge"), *rows.columns] if name != _DIRECTED]
    known = replace(_known(given, names), key=_ID, head=_SOURCE, tail=_TARGET)
    yield from relations(rows, relation_columns(names, _with_units(known, names)), graph, account)


def _known(given: GraphColumns, names: list[str]) -> GraphColumns:
    return GraphColumns(**{role: name for role, name in given.as_mapping().items() if name in names})


def _with_units(known: GraphColumns, names: list[str]) -> GraphColumns:
    """What GraphRAG, LightRAG and nano-graphrag write beside descriptions are the ids of text units."""
    told = known.text_units is None and "source_id" in names and "description" in names
    return replace(known, text_units="source_id") if told else known
