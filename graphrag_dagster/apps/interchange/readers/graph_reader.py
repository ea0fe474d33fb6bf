"""Reads the files of a graph, each by the reader of its format."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BufferedReader
from typing import BinaryIO

from graphrag_dagster.apps.interchange.graph_rows.cell_values import parse_cell
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GUESSED, GraphColumns, choose_columns
from graphrag_dagster.apps.interchange.graph_rows.graph_elements import (
    EDGE,
    NODE,
    Declared,
    Element,
    batches_of,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ImportBatch, ReadAccount
from graphrag_dagster.apps.interchange.graph_rows.table_rows import GraphTableRows, graph_rows
from graphrag_dagster.apps.interchange.readers.graph_files import FileGraph, GraphFile
from graphrag_dagster.apps.interchange.readers.graph_formats import (
    BOTH,
    DELIMITED,
    GEXF,
    GML,
    GRAPHML,
    JSON_GRAPH,
    JSON_LINES_OF_NEO4J,
    JSONL,
    MICROSOFT,
    N_TRIPLES,
    NEO4J,
    PARQUET,
    RDF_FORMATS,
    SEVERAL,
    STORE,
)
from graphrag_dagster.apps.interchange.readers.json_graphs import json_graph_batches
from graphrag_dagster.apps.interchange.readers.lightrag_stores import store_batches, store_graph_batches
from graphrag_dagster.apps.interchange.readers.microsoft_rows import microsoft_batches
from graphrag_dagster.apps.interchange.readers.microsoft_versions import Siblings
from graphrag_dagster.apps.interchange.readers.neo4j_files import importer_batches, served_line_batches
from graphrag_dagster.apps.interchange.readers.network_lines import network_batches
from graphrag_dagster.apps.interchange.readers.rdf_statements import n_triples_batches, rdf_batches
from graphrag_dagster.apps.interchange.readers.tabular_files import (
    columns_of,
    delimited_rows,
    is_vector,
    layout_of,
    parquet_rows,
    parquet_schema,
)
from graphrag_dagster.apps.interchange.readers.text_lines import json_names, json_rows, whole_text
from graphrag_dagster.apps.interchange.readers.xml_graphs import gexf_batches, graphml_batches
from graphrag_dagster.kernel.common.file_discovery import open_file
from graphrag_dagster.kernel.common.file_limits import DEFAULT_LIMITS, FileLimits
from graphrag_dagster.kernel.documents.column_roles import list_columns
from graphrag_dagster.kernel.documents.file_records import UnreadableError, clean

_TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<key>[A-Za-z_]\w*)|(?P<text>"[^"]*")|(?P<word>[^\s\[\]"]+)|(?P<mark>[\[\]])'
)
#: How nodes and edges are drawn; what is written on them there is their label where they have none.
_DRAWN, _WRITTEN = ("graphics", "LabelGraphics", "edgeAnchor"), "LabelGraphics"
_DEEPEST = 50
_LIST_START = "_networkx_list_start"

_Pairs = list[tuple[str, object]]


def gml_batches(
    stream: BinaryIO, graph: str, account: ReadAccount, limits: FileLimits
) -> Iterator[ImportBatch]:
    """Yield the nodes as entities and the edges as relations; rows are nodes and edges, counted from 1.

    The file is read whole. How things are drawn is left out.

    Raises:
        RefusedError: not text.
        UnreadableError: no GML, or too large.
    """
    found = dict(_pairs(whole_text(stream, limits))).get("graph")
    if not isinstance(found, list):
        raise UnreadableError('no GML: it has no part "graph [ … ]"')
    directed = str(next((held for name, held in found if name == "directed"), 0)) == "1"
    yield from batches_of(_elements(found), graph, account, Declared(directed=directed))


def _elements(found: _Pairs) -> Iterator[Element]:
    row = 0
    for name, held in found:
        if name not in (NODE, EDGE):
            continue
        row += 1
        own: dict[str, object] = {}
        data: dict[str, object] = {}
        for key, value in held if isinstance(held, list) else ():
            if key in ("id", "source", "target") and key not in own:
                own[key] = value
            elif key in _DRAWN:
                text = dict(value).get("text") if key == _WRITTEN and isinstance(value, list) else None
                if text:
                    own.setdefault("label", text)
            else:
                _add(data, key, _plain(value))
        yield Element(name, row, own, {key: _without_mark(value) for key, value in data.items()})


def _without_mark(value: object) -> object:
    """A list without the mark by which NetworkX makes one of a single value."""
    if value == _LIST_START:
        return []
    return value[1:] if isinstance(value, list) and value[:1] == [_LIST_START] else value


def _add(data: dict[str, object], key: str, value: object) -> None:
    """A key that comes again makes a list."""
    before = data.get(key)
    if key not in data:
        data[key] = parse_cell(key, value)
    elif isinstance(before, list):
        before.append(value)
    else:
        data[key] = [before, value]


def _plain(value: object) -> object:
    return {key: _plain(one) for key, one in value} if isinstance(value, list) else value


def _pairs(text: str) -> _Pairs:
    """Keys with their values, which are texts, numbers or again such pairs."""
    found: _Pairs = []
    around: list[_Pairs] = []
    key: str | None = None
    for match in _tokens(text):
        if match["mark"] == "]" and around and key is None:
            found = around.pop()
        elif match["mark"] == "[" and key is not None and len(around) < _DEEPEST:
            inner: _Pairs = []
            found.append((key, inner))
            around.append(found)
            found, key = inner, None
        elif match["mark"] or (key is None and match["key"] is None):
            raise _syntax_error(text, match.start(), f"{match[0][:40]!r} where none is due")
        elif key is None:
            key = match["key"]
        else:
            found.append((key, _value(match)))
            key = None
    if around or key is not None:
        raise UnreadableError("broken GML: it ends within a part; write the file again")
    return found


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _syntax_error(text, at, "a quote without its end")
        at = match.end()
        if match.lastgroup:
            yield match


def _value(match: re.Match[str]) -> object:
    if match["text"] is not None:
        return clean(html.unescape(match["text"][1:-1])) or None
    word = match[0]
    try:
        return int(word)
    except ValueError:
        try:
            return float(word)
        except ValueError:
            return clean(word)


def _syntax_error(text: str, at: int, what: str) -> UnreadableError:
    line = text.count("\n", 0, at) + 1
    return UnreadableError(f"broken GML: line {line:,} has {what}; write the file again, or mend it there")


def read_graph(
    graph: FileGraph,
    columns: Mapping[str, GraphColumns] | None = None,
    limits: FileLimits = DEFAULT_LIMITS,
) -> Iterator[tuple[GraphFile, Iterator[ImportBatch]]]:
    """Yield each file of a graph with its batches; see :func:`read_file`, which says how one fails."""
    for file in graph.files:
        yield file, read_file(graph, file, (columns or {}).get(file.path, GUESSED), limits)


def read_file(
    graph: FileGraph, file: GraphFile, columns: GraphColumns = GUESSED, limits: FileLimits = DEFAULT_LIMITS
) -> Iterator[ImportBatch]:
    """Yield the rows of one file in batches of at most 50,000, what was odd of them, and the account last.

    A file that fails does so alone: batches that it gave before are to be dropped.

    Args:
        graph: the graph it is of.
        file: one of its files.
        columns: of the file, as settings have them.
        limits: ``max_bytes`` is the size of what is read whole, the JSON stores of LightRAG.

    Raises:
        OSError: it cannot be opened or read.
        RefusedError: it must not be read as what its name says.
        UnreadableError: it is damaged, or not what its format needs; says what and the mend.
    """
    account = ReadAccount(file.path)
    try:
        with open_file(file.found.location) as stream:
            yield from _batches(stream, graph, file, columns, limits, account)
    except RecursionError as error:
        raise UnreadableError("values are nested too deeply") from error
    yield from account.close()


def _batches(
    stream: BufferedReader,
    graph: FileGraph,
    file: GraphFile,
    columns: GraphColumns,
    limits: FileLimits,
    account: ReadAccount,
) -> Iterator[ImportBatch]:
    if file.format in (DELIMITED, JSONL, PARQUET):
        return _table(stream, graph, file, columns, account)
    if file.format == MICROSOFT:
        return microsoft_batches(stream, file.record, graph.name, account, _siblings(graph))
    if file.format == NEO4J:
        return _importer(stream, graph, file, account)
    if file.format == STORE and file.record != BOTH:
        return store_batches(stream, file.record, graph.name, account, limits)
    if file.format in RDF_FORMATS and file.format != N_TRIPLES:
        return rdf_batches(stream, file.format, graph.name, account)
    if file.format in (GRAPHML, GEXF):
        return _XML[file.format](stream, graph.name, account, columns)
    if file.format in (GML, JSON_GRAPH):
        return _WHOLE[file.format](stream, graph.name, account, limits)
    if file.format in _STREAMED:
        return _STREAMED[file.format](stream, graph.name, account)
    return network_batches(stream, file.format, graph.name, account)


_XML = {GRAPHML: graphml_batches, GEXF: gexf_batches}
_WHOLE = {GML: gml_batches, JSON_GRAPH: json_graph_batches}
_STREAMED = {
    N_TRIPLES: n_triples_batches,
    STORE: store_graph_batches,
    JSON_LINES_OF_NEO4J: served_line_batches,
}


def _importer(
    stream: BufferedReader, graph: FileGraph, file: GraphFile, account: ReadAccount
) -> Iterator[ImportBatch]:
    headers = [one.path for one in graph.files if one.header and one.header.path == file.path]
    if headers:
        account.note(f"it names the columns of {list_columns(headers)}")
    if file.header is None:
        return importer_batches(stream, layout_of(stream, file.path), graph.name, account)
    with open_file(file.header.location) as header:
        layout = layout_of(header, file.header.path)
    return importer_batches(stream, replace(layout, header=0, skipped=0), graph.name, account)


def _siblings(graph: FileGraph) -> Siblings:
    files = {file.record: file for file in graph.files if file.format == MICROSOFT}

    def sibling(record: str) -> BufferedReader | None:
        try:
            return open_file(files[record].found.location) if record in files else None
        except OSError:
            return None

    return Siblings(sibling)


def _table(
    stream: BufferedReader, graph: FileGraph, file: GraphFile, given: GraphColumns, account: ReadAccount
) -> Iterator[ImportBatch]:
    names, rows = _rows(stream, file, given, account)
    for some in rows:
        yield from graph_rows(some, names, graph.name, account)
        yield from account.pending()


def _rows(
    stream: BufferedReader, file: GraphFile, given: GraphColumns, account: ReadAccount
) -> tuple[GraphColumns, Iterator[GraphTableRows]]:
    if file.format == DELIMITED:
        layout = layout_of(stream, file.path, given)
        names = columns_of(layout, given, file.path)
        return names, delimited_rows(stream, layout, names.record or SEVERAL, account)
    if file.format == JSONL:
        names = choose_columns(json_names(stream), given, file.path)
        return names, json_rows(stream, names.record or SEVERAL, account)
    there = parquet_schema(stream)
    stream.seek(0)
    names = choose_columns(list(there), given, file.path)
    vectors = [name for name, kind in there.items() if is_vector(kind)]
    if vectors:
        account.note(f"vectors were left out: {list_columns(vectors)}")
    return names, parquet_rows(stream, [name for name in there if name not in vectors])
