"""Which files of a corpus folder are of one graph, and how each is read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import PurePosixPath

from graphrag_dagster.apps.interchange.graph_rows.graph_columns import (
    GUESSED,
    GraphColumns,
    choose_columns,
    is_mixed,
    propose_columns,
)
from graphrag_dagster.apps.interchange.readers.graph_formats import (
    BOTH,
    DELIMITED,
    EXTENSIONS,
    GEXF,
    GML,
    GRAPHML,
    JSON_GRAPH,
    JSON_LD,
    JSON_LINES_OF_NEO4J,
    JSONL,
    MICROSOFT,
    NEO4J,
    PARQUET,
    RDF_FORMATS,
    SAVED_OTHERWISE,
    SEVERAL,
    STORE,
)
from graphrag_dagster.apps.interchange.readers.json_graphs import NO_GRAPH, first_value, graph_elements
from graphrag_dagster.apps.interchange.readers.lightrag_stores import GRAPH_FILE, STORES
from graphrag_dagster.apps.interchange.readers.microsoft_versions import (
    is_ignored_file,
    missing_column,
    record_of,
)
from graphrag_dagster.apps.interchange.readers.neo4j_files import header_for, importer_record, is_served
from graphrag_dagster.apps.interchange.readers.network_lines import EDGE_LIST, PAJEK, holds_data
from graphrag_dagster.apps.interchange.readers.tabular_files import columns_of, layout_of, parquet_schema
from graphrag_dagster.apps.interchange.readers.text_lines import json_names, json_objects, sample_of
from graphrag_dagster.kernel.common.file_discovery import FoundFile, open_file
from graphrag_dagster.kernel.documents.file_records import RefusedError, UnreadableError

_MANIFEST, _LARGEST = "export.json", 10_000_000
_MADE_BY = "graphrag_dagster"
_MICROSOFT_HINT = "; the form microsoft brings it back"
#: Form → the files of it that are read.
_READ: Mapping[str, Sequence[str]] = {
    "neo4j": ("Entity.csv", "Entity-STATED-Entity.csv"),
    "rdf": ("statements.nt",),
    "parquet": (),
}
#: Form → why others are not.
_WHY: Mapping[str, str] = {
    "neo4j": f"an export tells of texts, communities and reports there{_MICROSOFT_HINT}",
    "rdf": "an export tells the same there in words of its own: statements.nt has what came",
    "parquet": "a table of an index, in an export of the form parquet, which is no graph; export the corpus "
    "again with --to microsoft, and import that",
}


@dataclass(frozen=True, slots=True)
class _Export:
    folder: PurePosixPath
    form: str
    files: frozenset[str]


class OwnExports:
    """The exports among some files.

    Args:
        found: the files of a corpus.
    """

    def __init__(self, found: Sequence[FoundFile]) -> None:
        told = (file for file in found if PurePosixPath(file.path).name == _MANIFEST and file.problem is None)
        self._exports = [export for file in told if (export := _export(file))]

    def left_out_reason(self, path: str) -> str | None:
        """Return why a file of an export is not read; None of all others."""
        for export in self._exports:
            if not PurePosixPath(path).is_relative_to(export.folder):
                continue
            inside = str(PurePosixPath(path).relative_to(export.folder))
            read = export.files.intersection(_READ[export.form])
            if inside in export.files and inside not in read and (read or export.form == "parquet"):
                return _WHY[export.form]
        return None


def _export(manifest: FoundFile) -> _Export | None:
    try:
        with open_file(manifest.location) as stream:
            told = json.loads(stream.read(_LARGEST))
        if told["made_by"] != _MADE_BY or told["to"] not in _READ:
            return None
        files = frozenset(str(one["path"]) for one in told["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return _Export(PurePosixPath(manifest.path).parent, told["to"], files)


_OF_RUNS = ("stats.json", "context.json", "indexing-engine.log")
_TABLES = (DELIMITED, JSONL, PARQUET)
#: Formats that tell of nodes; an end of an edge that is none of them is dangling.
_OF_NODES = (GRAPHML, GEXF, GML, PAJEK)
#: Bytes up to which a file is read to find out what it is.
_WHOLE = 1 << 20
_TOP = "."
_UNNAMED = re.compile(r"column_\d+")


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A file of a graph: where it is, how it is read, the record that its rows are of, and which file names
    its columns, where they stand in another.
    """

    found: FoundFile
    format: str
    record: str
    header: FoundFile | None = None

    @property
    def path(self) -> str:
        """Path below the corpus folder."""
        return self.found.path


@dataclass(frozen=True, slots=True)
class FileGraph:
    """Files within which keys are unique.

    Args:
        name: path of its only file, or of the folder of its files, ``.`` for the corpus folder.
        format: how its files are read.
        files: sorted by path.
    """

    name: str
    format: str
    files: tuple[GraphFile, ...]

    @property
    def declares_entities(self) -> bool:
        """Whether an end of a relation that is no entity is dangling."""
        return any(file.record in ("entities", BOTH) for file in self.files)

    @property
    def keys_are_iris(self) -> bool:
        """Whether an entity without a title is called by its key's local name (:func:`.rdf.local_name`)."""
        return self.format in RDF_FORMATS


@dataclass(frozen=True, slots=True)
class GraphFiles:
    """The graphs of a corpus, sorted by name; path → why a file is of none."""

    graphs: tuple[FileGraph, ...]
    left_out: Mapping[str, str]


def graph_files(found: Iterable[FoundFile], columns: Mapping[str, GraphColumns] | None = None) -> GraphFiles:
    """Decide of all files that may be read how they are, and which of them are of one graph.

    Files with a ``problem`` are neither in a graph nor left out. Together are the Parquet files of Microsoft
    GraphRAG in a folder, the CSV files of Neo4j's importer there, the stores of LightRAG or nano-graphrag
    there, and lists of entities there with the lists of relations. Of exports of ours those files count that
    hold a graph (:class:`OwnExports`). Any other file is a graph of its own; one
    that cannot be read is, too, and says so when it is.

    Args:
        found: the files of the corpus.
        columns: path → columns, as settings have them.
    """
    given = columns or {}
    found = sorted(found, key=lambda one: one.path)
    exports = OwnExports(found)
    folders: dict[str, list[FoundFile]] = {}
    left_out: dict[str, str] = {}
    for file in found:
        if file.problem is not None:
            continue
        if why := exports.left_out_reason(file.path):
            left_out[file.path] = why
        else:
            folders.setdefault(str(PurePosixPath(file.path).parent), []).append(file)
    graphs: list[FileGraph] = []
    for folder, files in folders.items():
        graphs += _graphs_of(folder, files, given, left_out)
    return GraphFiles(tuple(sorted(graphs, key=lambda graph: graph.name)), left_out)


def _graphs_of(
    folder: str,
    files: Sequence[FoundFile],
    given: Mapping[str, GraphColumns],
    left_out: dict[str, str],
) -> list[FileGraph]:
    names = {PurePosixPath(file.path).name for file in files}
    is_store, is_microsoft = bool(names & {GRAPH_FILE, *STORES}), _is_microsoft(files)
    kinds: dict[str, list[GraphFile]] = {}
    for file in files:
        known: GraphFile | str | None = _store_file(file) if is_store else None
        known = known or (_microsoft_file(file) if is_microsoft else None)
        known = known or _file(file, given.get(file.path, GUESSED))
        if isinstance(known, str):
            left_out[file.path] = known
        else:
            kinds.setdefault(known.format, []).append(known)
    _with_headers(kinds, given, left_out)
    together = [(kind, kinds.pop(kind, [])) for kind in (MICROSOFT, NEO4J, STORE)]
    tables = [file for kind in _TABLES for file in kinds.get(kind, [])]
    if {"entities", "relations"} <= {file.record for file in tables}:
        alike = [file for file in tables if file.record != SEVERAL]
        kinds = {kind: [one for one in some if one not in alike] for kind, some in kinds.items()}
        together.append((alike[0].format, sorted(alike, key=lambda one: one.path)))
    graphs: list[FileGraph] = []
    for kind, some in together:
        if some:
            name = folder if not graphs else f"{folder} ({kind})"
            graphs.append(FileGraph(name, kind, tuple(some)))
    alone = (FileGraph(file.path, file.format, (file,)) for some in kinds.values() for file in some)
    return [*graphs, *alone]


def _with_headers(
    kinds: dict[str, list[GraphFile]], given: Mapping[str, GraphColumns], left_out: dict[str, str]
) -> None:
    """Tables without names beside files that hold nothing but names are of Neo4j's importer, and read so."""
    headers = {one.path: one for one in kinds.get(NEO4J, ()) if _is_header_only(one.found)}
    if not headers:
        return
    for file in list(kinds.get(DELIMITED, ())):
        columns = given.get(file.path, GUESSED)
        header = headers.get(header_for(file.path, list(headers)) or "")
        # Places of columns without names may be an earlier guess; a header file knows better.
        named = any(not _UNNAMED.fullmatch(one) for one in columns.as_mapping().values())
        if named or (columns != GUESSED and header is None) or _has_names(file.found):
            continue
        kinds[DELIMITED].remove(file)
        if header is None:
            stem = PurePosixPath(file.path).stem
            left_out[file.path] = (
                f"its columns have no names, and none of the header files beside it ({', '.join(headers)}) "
                f"is called after it; name its header file {stem}-header.csv, or write the names into its "
                "first line"
            )
        else:
            kinds[NEO4J].append(GraphFile(file.found, NEO4J, header.record, header.found))
    kinds[NEO4J].sort(key=lambda one: one.path)


def _is_header_only(file: FoundFile) -> bool:
    with open_file(file.location) as stream:
        text, _ = sample_of(stream)
    return len([line for line in text.split("\n", 3)[:3] if line.strip()]) == 1


def _has_names(file: FoundFile) -> bool:
    """Whether the first line names columns that mean something."""
    try:
        with open_file(file.location) as stream:
            layout = layout_of(stream, file.path)
    except (OSError, RefusedError, UnreadableError):
        return False
    return bool(layout.header) and propose_columns(layout.names).record is not None


def _is_microsoft(files: Sequence[FoundFile]) -> bool:
    """Whether a folder has a table that can only be Microsoft's."""
    for file in files:
        path = PurePosixPath(file.path)
        record = record_of(path.stem) if path.suffix.lower() == ".parquet" else None
        there = _schema(file) if record else None
        fits = record and there and not missing_column(record, there)
        if fits and ("human_readable_id" in (there or ()) or path.stem.startswith("create_final_")):
            return True
    return False


def _schema(file: FoundFile) -> Mapping[str, str] | None:
    try:
        with open_file(file.location) as stream:
            return parquet_schema(stream)
    except (OSError, UnreadableError):
        return None


def _store_file(file: FoundFile) -> GraphFile | str | None:
    name = PurePosixPath(file.path).name
    if name == GRAPH_FILE:
        return GraphFile(file, STORE, BOTH)
    if name.startswith(("kv_store_", "vdb_")) and name not in STORES:
        return "vectors, or a step between, of LightRAG or nano-graphrag: its other files hold the graph"
    return GraphFile(file, STORE, STORES[name]) if name in STORES else None


def _microsoft_file(file: FoundFile) -> GraphFile | str | None:
    path = PurePosixPath(file.path)
    if path.suffix.lower() == ".csv" and record_of(path.stem):
        return "a copy of the Parquet file of that name, which is read"
    if path.name in _OF_RUNS:
        return "what Microsoft GraphRAG notes of its runs: its other files hold the graph"
    if path.suffix.lower() != ".parquet":
        return None
    if is_ignored_file(path.stem):
        return "vectors, or a step between, of Microsoft GraphRAG: its other files hold the graph"
    record = record_of(path.stem)
    return GraphFile(file, MICROSOFT, record) if record else None


def _file(file: FoundFile, given: GraphColumns) -> GraphFile | str:
    """How a file is read that is not known by its name, or why it is not."""
    path = PurePosixPath(file.path)
    kind = EXTENSIONS.get(path.suffix.lower())
    if kind is None:
        saved = SAVED_OTHERWISE.get(path.suffix.lower())
        return saved or f"no format of graphs: those have the extensions {', '.join(EXTENSIONS)}"
    if kind == JSON_GRAPH:
        return _json_file(file, path)
    if kind not in _TABLES:
        return GraphFile(file, kind, BOTH if kind in _OF_NODES else SEVERAL)
    try:
        kind, record = _peek(file, kind, given)
    except (OSError, RefusedError, UnreadableError) as error:
        if path.suffix.lower() == ".txt" and given == GUESSED:
            return str(error)
        record = SEVERAL
    return GraphFile(file, kind, record)


def _json_file(file: FoundFile, path: PurePosixPath) -> GraphFile | str:
    """A file under ``.json`` is a graph where it looks like one; other extensions say what it is."""
    if path.suffix.lower() != ".json":
        return GraphFile(file, JSON_GRAPH, BOTH)
    try:
        with open_file(file.location) as stream:
            text, _ = sample_of(stream)
            served = any(is_served(one) for one in json_objects(text))
            if served:
                return GraphFile(file, JSON_LINES_OF_NEO4J, BOTH)
            whole = len(stream.read(_WHOLE)) < _WHOLE
        if _is_json_ld(text):
            return GraphFile(file, JSON_LD, SEVERAL)
        found = graph_elements(first_value(text, whole=whole))
    except (OSError, RefusedError, UnreadableError) as error:
        return str(error)
    return GraphFile(file, JSON_GRAPH, BOTH) if found is not None else NO_GRAPH


def _is_json_ld(text: str) -> bool:
    return re.match(r'\s*\[?\s*\{\s*"@(?:context|graph|id|type)"', text) is not None


def _peek(file: FoundFile, kind: str, given: GraphColumns) -> tuple[str, str]:
    with open_file(file.location) as stream:
        if kind == DELIMITED:
            if given == GUESSED and holds_data(_first_line(stream)):
                return EDGE_LIST, SEVERAL
            layout = layout_of(stream, file.path, given)
            imported = importer_record(layout.names) if layout.header and given == GUESSED else None
            if imported:
                return NEO4J, imported
            names = columns_of(layout, given, file.path)
            return kind, BOTH if is_mixed(layout.names, names) else names.record or SEVERAL
        if kind == JSONL and given == GUESSED and any(map(is_served, json_objects(sample_of(stream)[0]))):
            return JSON_LINES_OF_NEO4J, BOTH
        names_there = json_names(stream) if kind == JSONL else list(parquet_schema(stream))
    return kind, propose_columns(names_there, given).record or SEVERAL


def _first_line(stream: BufferedReader) -> str:
    text, _ = sample_of(stream)
    return next((line for line in text[:100_000].split("\n") if line.strip() and line[0] not in "#%"), "")


def proposed_columns(file: GraphFile, given: GraphColumns = GUESSED) -> dict[str, str]:
    """Return what the columns of a table hold, as settings write it; empty for formats without choice.

    Columns without names are ``column_1``, ``column_2``, ….

    Raises:
        OSError: it cannot be opened.
        RefusedError: not text.
        UnreadableError: which columns are the ends cannot be told; lists them, with an example.
    """
    if file.format not in _TABLES:
        return {}
    with open_file(file.found.location) as stream:
        if file.format == DELIMITED:
            return columns_of(layout_of(stream, file.path, given), given, file.path).as_mapping()
        names = json_names(stream) if file.format == JSONL else list(parquet_schema(stream))
        return choose_columns(names, given, file.path).as_mapping()
