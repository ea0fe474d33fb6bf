"""Reading the files of a graph."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BufferedReader

from graphrag_dagster.core.corpus.graphs.batches import Account, Batch
from graphrag_dagster.core.corpus.graphs.columns import GUESSED, GraphColumns, chosen
from graphrag_dagster.core.corpus.graphs.delimited import delimited_rows
from graphrag_dagster.core.corpus.graphs.files import Graph, GraphFile
from graphrag_dagster.core.corpus.graphs.formats import (
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
from graphrag_dagster.core.corpus.graphs.gexf import gexf_batches
from graphrag_dagster.core.corpus.graphs.gml import gml_batches
from graphrag_dagster.core.corpus.graphs.graphml import graphml_batches
from graphrag_dagster.core.corpus.graphs.importer_csv import importer_batches
from graphrag_dagster.core.corpus.graphs.json_graphs import json_graph_batches
from graphrag_dagster.core.corpus.graphs.json_lines import json_names, json_rows
from graphrag_dagster.core.corpus.graphs.layout import columns_of, layout_of
from graphrag_dagster.core.corpus.graphs.microsoft.reading import microsoft_batches
from graphrag_dagster.core.corpus.graphs.microsoft.siblings import Siblings
from graphrag_dagster.core.corpus.graphs.neo4j_json import served_line_batches
from graphrag_dagster.core.corpus.graphs.network_lines import (
    network_batches,
)
from graphrag_dagster.core.corpus.graphs.parquet import is_vector, parquet_rows, parquet_schema
from graphrag_dagster.core.corpus.graphs.rows import Rows, graph_rows
from graphrag_dagster.core.corpus.graphs.stores import store_batches, store_graph_batches
from graphrag_dagster.core.corpus.graphs.triples import n_triples_batches, rdf_batches
from graphrag_dagster.core.files.columns import listed
from graphrag_dagster.core.files.discovery import opened
from graphrag_dagster.core.files.limits import DEFAULT_LIMITS, FileLimits
from graphrag_dagster.core.files.records import UnreadableError


def read_graph(
    graph: Graph,
    columns: Mapping[str, GraphColumns] | None = None,
    limits: FileLimits = DEFAULT_LIMITS,
) -> Iterator[tuple[GraphFile, Iterator[Batch]]]:
    """Yield each file of a graph with its batches; see :func:`read_file`, which says how one fails."""
    for file in graph.files:
        yield file, read_file(graph, file, (columns or {}).get(file.path, GUESSED), limits)


def read_file(
    graph: Graph, file: GraphFile, columns: GraphColumns = GUESSED, limits: FileLimits = DEFAULT_LIMITS
) -> Iterator[Batch]:
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
    account = Account(file.path)
    try:
        with opened(file.found.location) as stream:
            yield from _batches(stream, graph, file, columns, limits, account)
    except RecursionError as error:
        raise UnreadableError("values are nested too deeply") from error
    yield from account.closed()


def _batches(
    stream: BufferedReader,
    graph: Graph,
    file: GraphFile,
    columns: GraphColumns,
    limits: FileLimits,
    account: Account,
) -> Iterator[Batch]:
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


def _importer(stream: BufferedReader, graph: Graph, file: GraphFile, account: Account) -> Iterator[Batch]:
    beside = [one.path for one in graph.files if one.header and one.header.path == file.path]
    if beside:
        account.note(f"it names the columns of {listed(beside)}")
    if file.header is None:
        return importer_batches(stream, layout_of(stream, file.path), graph.name, account)
    with opened(file.header.location) as header:
        layout = layout_of(header, file.header.path)
    return importer_batches(stream, replace(layout, header=0, skipped=0), graph.name, account)


def _siblings(graph: Graph) -> Siblings:
    files = {file.record: file for file in graph.files if file.format == MICROSOFT}

    def sibling(record: str) -> BufferedReader | None:
        try:
            return opened(files[record].found.location) if record in files else None
        except OSError:
            return None

    return Siblings(sibling)


def _table(
    stream: BufferedReader, graph: Graph, file: GraphFile, given: GraphColumns, account: Account
) -> Iterator[Batch]:
    names, rows = _rows(stream, file, given, account)
    for some in rows:
        yield from graph_rows(some, names, graph.name, account)
        yield from account.pending()


def _rows(
    stream: BufferedReader, file: GraphFile, given: GraphColumns, account: Account
) -> tuple[GraphColumns, Iterator[Rows]]:
    if file.format == DELIMITED:
        layout = layout_of(stream, file.path, given)
        names = columns_of(layout, given, file.path)
        return names, delimited_rows(stream, layout, names.record or SEVERAL, account)
    if file.format == JSONL:
        names = chosen(json_names(stream), given, file.path)
        return names, json_rows(stream, names.record or SEVERAL, account)
    there = parquet_schema(stream)
    stream.seek(0)
    names = chosen(list(there), given, file.path)
    vectors = [name for name, kind in there.items() if is_vector(kind)]
    if vectors:
        account.note(f"vectors were left out: {listed(vectors)}")
    return names, parquet_rows(stream, [name for name in there if name not in vectors])
