"""Which files of a corpus folder are of one graph, and how each is read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from graphrag_dagster.core.corpus.graphs.columns import GUESSED, GraphColumns, chosen, proposal
from graphrag_dagster.core.corpus.graphs.importer_csv import importer_record
from graphrag_dagster.core.corpus.graphs.json_lines import json_names
from graphrag_dagster.core.corpus.graphs.layout import columns_of, layout_of
from graphrag_dagster.core.corpus.graphs.microsoft.tables import is_left_out, missing, record_of
from graphrag_dagster.core.corpus.graphs.own_exports import OwnExports
from graphrag_dagster.core.corpus.graphs.parquet import parquet_schema
from graphrag_dagster.core.corpus.graphs.stores import GRAPH_FILE, STORES
from graphrag_dagster.core.files.discovery import FoundFile, opened
from graphrag_dagster.core.files.records import RefusedError, UnreadableError

DELIMITED: Final = "delimited"
JSONL: Final = "jsonl"
PARQUET: Final = "parquet"
N_TRIPLES: Final = "n-triples"
TURTLE: Final = "turtle"
GRAPHML: Final = "graphml"
MICROSOFT: Final = "microsoft"
NEO4J: Final = "neo4j"
STORE: Final = "store"
#: What a file holds whose rows are of several records, or not known.
SEVERAL: Final = "rows"

#: Extension → format of a file that is read by itself.
EXTENSIONS: Mapping[str, str] = {
    ".csv": DELIMITED,
    ".tsv": DELIMITED,
    ".tab": DELIMITED,
    ".txt": DELIMITED,
    ".jsonl": JSONL,
    ".ndjson": JSONL,
    ".parquet": PARQUET,
    ".nt": N_TRIPLES,
    ".ntriples": N_TRIPLES,
    ".ttl": TURTLE,
    ".turtle": TURTLE,
    ".graphml": GRAPHML,
}
_TABLES = (DELIMITED, JSONL, PARQUET)
_TOP = "."


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A file of a graph: where it is, how it is read, and the record that its rows are of."""

    found: FoundFile
    format: str
    record: str

    @property
    def path(self) -> str:
        """Path below the corpus folder."""
        return self.found.path


@dataclass(frozen=True, slots=True)
class Graph:
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
        whole = self.format == GRAPHML or any(file.path.endswith(GRAPH_FILE) for file in self.files)
        return whole or any(file.record == "entities" for file in self.files)

    @property
    def keys_are_iris(self) -> bool:
        """Whether an entity without a title is called by its key's local name (:func:`.rdf.local_name`)."""
        return self.format in (N_TRIPLES, TURTLE)


@dataclass(frozen=True, slots=True)
class GraphFiles:
    """The graphs of a corpus, sorted by name; path → why a file is of none."""

    graphs: tuple[Graph, ...]
    left_out: Mapping[str, str]


def graph_files(found: Iterable[FoundFile], columns: Mapping[str, GraphColumns] | None = None) -> GraphFiles:
    """Decide of all files that may be read how they are, and which of them are of one graph.

    Files with a ``problem`` are neither in a graph nor left out. Together are the Parquet files of Microsoft
    GraphRAG in a folder, the CSV files of Neo4j's importer there, the stores of LightRAG or nano-graphrag
    there, and lists of entities there with the lists of relations. Of exports of ours those files count that
    hold a graph (:mod:`.own_exports`). Any other file is a graph of its own; one
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
        if why := exports.left_out(file.path):
            left_out[file.path] = why
        else:
            folders.setdefault(str(PurePosixPath(file.path).parent), []).append(file)
    graphs: list[Graph] = []
    for folder, files in folders.items():
        graphs += _graphs_of(folder, files, given, left_out)
    return GraphFiles(tuple(sorted(graphs, key=lambda graph: graph.name)), left_out)


def _graphs_of(
    folder: str,
    files: Sequence[FoundFile],
    given: Mapping[str, GraphColumns],
    left_out: dict[str, str],
) -> list[Graph]:
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
    together = [(kind, kinds.pop(kind, [])) for kind in (MICROSOFT, NEO4J, STORE)]
    tables = [file for kind in _TABLES for file in kinds.get(kind, [])]
    if {"entities", "relations"} <= {file.record for file in tables}:
        alike = [file for file in tables if file.record != SEVERAL]
        kinds = {kind: [one for one in some if one not in alike] for kind, some in kinds.items()}
        together.append((alike[0].format, sorted(alike, key=lambda one: one.path)))
    graphs: list[Graph] = []
    for kind, some in together:
        if some:
            name = folder if not graphs else f"{folder} ({kind})"
            graphs.append(Graph(name, kind, tuple(some)))
    alone = (Graph(file.path, file.format, (file,)) for some in kinds.values() for file in some)
    return [*graphs, *alone]


def _is_microsoft(files: Sequence[FoundFile]) -> bool:
    """Whether a folder has a table that can only be Microsoft's."""
    for file in files:
        path = PurePosixPath(file.path)
        record = record_of(path.stem) if path.suffix.lower() == ".parquet" else None
        there = _schema(file) if record else None
        fits = record and there and not missing(record, there)
        if fits and ("human_readable_id" in (there or ()) or path.stem.startswith("create_final_")):
            return True
    return False


def _schema(file: FoundFile) -> Mapping[str, str] | None:
    try:
        with opened(file.location) as stream:
            return parquet_schema(stream)
    except (OSError, UnreadableError):
        return None


def _store_file(file: FoundFile) -> GraphFile | None:
    name = PurePosixPath(file.path).name
    if name == GRAPH_FILE:
        return GraphFile(file, STORE, SEVERAL)
    return GraphFile(file, STORE, STORES[name]) if name in STORES else None


def _microsoft_file(file: FoundFile) -> GraphFile | str | None:
    path = PurePosixPath(file.path)
    if path.suffix.lower() == ".csv" and record_of(path.stem):
        return "a copy of the Parquet file of that name, which is read"
    if path.suffix.lower() != ".parquet":
        return None
    if is_left_out(path.stem):
        return "vectors, or a step between, of Microsoft GraphRAG: its other files hold the graph"
    record = record_of(path.stem)
    return GraphFile(file, MICROSOFT, record) if record else None


def _file(file: FoundFile, given: GraphColumns) -> GraphFile | str:
    """How a file is read that is not known by its name, or why it is not."""
    path = PurePosixPath(file.path)
    kind = EXTENSIONS.get(path.suffix.lower())
    if kind is None:
        return f"no format of graphs: those have the extensions {', '.join(EXTENSIONS)}"
    if kind not in _TABLES:
        return GraphFile(file, kind, SEVERAL)
    try:
        kind, record = _looked_at(file, kind, given)
    except (OSError, RefusedError, UnreadableError) as error:
        if path.suffix.lower() == ".txt" and given == GUESSED:
            return str(error)
        record = SEVERAL
    return GraphFile(file, kind, record)


def _looked_at(file: FoundFile, kind: str, given: GraphColumns) -> tuple[str, str]:
    with opened(file.location) as stream:
        if kind == DELIMITED:
            layout = layout_of(stream, file.path, given)
            imported = importer_record(layout.names) if layout.header and given == GUESSED else None
            if imported:
                return NEO4J, imported
            return kind, columns_of(layout, given, file.path).record or SEVERAL
        names = json_names(stream) if kind == JSONL else list(parquet_schema(stream))
    return kind, proposal(names, given).record or SEVERAL


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
    with opened(file.found.location) as stream:
        if file.format == DELIMITED:
            return columns_of(layout_of(stream, file.path, given), given, file.path).as_mapping()
        names = json_names(stream) if file.format == JSONL else list(parquet_schema(stream))
        return chosen(names, given, file.path).as_mapping()
