"""Imports graphs: files and servers are read once, in batches, into the tables of imports."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

import polars as pl

from graphrag_dagster.apps.bolt_client import BoltGraph, server_of
from graphrag_dagster.apps.interchange.graph_rows.cell_values import Column, to_json
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import (
    NODE_TITLE,
    GraphColumns,
    entity_columns,
    relation_columns,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import (
    ACCOUNT,
    NOTES,
    QUARANTINE,
    REPAIRED,
    REPAIRED_TYPES,
    ROWS,
    ImportBatch,
    ReadAccount,
    types_of,
)
from graphrag_dagster.apps.interchange.graph_rows.table_rows import GraphTableRows, graph_rows
from graphrag_dagster.apps.interchange.import_queries import QUERIES
from graphrag_dagster.apps.interchange.node_properties import NodeProperties
from graphrag_dagster.apps.interchange.readers.graph_files import FileGraph, graph_files
from graphrag_dagster.apps.interchange.readers.graph_reader import read_graph
from graphrag_dagster.apps.interchange.settings import ImportServer, ImportSettings, WriteBackSettings
from graphrag_dagster.apps.interchange.tables import IMPORT_QUARANTINE
from graphrag_dagster.errors import CorpusError, QueryError
from graphrag_dagster.kernel.common.file_discovery import FoundFile, hash_files
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.progress import track
from graphrag_dagster.kernel.documents.file_records import RefusedError, UnreadableError, error_line
from graphrag_dagster.kernel.documents.imported_texts import SERVER
from graphrag_dagster.kernel.pipeline.erasure import noting_deleted_graphs
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse, WrittenTable
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT, IMPORTED_FILES, RECORDS
from graphrag_dagster.kernel.tables.table_declaration import Table

_Row = Mapping[str, Any]


def server_batches(
    nodes: Iterable[_Row],
    relations: Iterable[_Row],
    place: str,
    most: int,
    *,
    left_out: Collection[str] = (),
) -> Iterator[ImportBatch]:
    """Yield what a server gives as entities and relations, and the account last.

    The type of an entity is its first label; several are among the attributes as ``labels``. Properties are
    taken as columns of a table are.

    Args:
        nodes: ``key``, ``labels`` and ``properties``.
        relations: ``head``, ``tail``, ``label``, ``key`` and ``properties``, of which the last two may lack.
        place: what the server is called; it stands for the path.
        most: rows of each, beyond which it is taken to give them for ever.
        left_out: properties that are not taken: what was written back there.

    Raises:
        UnreadableError: a column lacks, or there are more rows.
    """
    account = ReadAccount(place)
    for given, needed in ((nodes, ("key",)), (relations, ("head", "tail"))):
        numbers = count(1)
        for some in _batches(_limit_rows(given, most)):
            if lacking := [name for name in needed if name not in some[0]]:
                raise UnreadableError(
                    f"the query gives no column {lacking[0]}; it gives {', '.join(some[0])}: name it with AS"
                )
            rows = _rows(some, pl.Series([next(numbers) for _ in some]), left_out)
            yield from graph_rows(rows, _columns(rows, needed[0] == "head"), place, account)
            yield from account.pending()
    yield from account.close()


def _batches(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    while some := list(islice(rows, ROWS)):
        yield some


def _limit_rows(rows: Iterable[_Row], most: int) -> Iterator[_Row]:
    for number, row in enumerate(rows):
        if number == most:
            raise UnreadableError(
                f"the server gives more than {most:,} rows; raise imports.neo4j.most_rows, or ask for less"
            )
        yield row


def _rows(some: list[_Row], numbers: pl.Series, left_out: Collection[str]) -> GraphTableRows:
    columns: dict[str, Column] = {}
    given = (row.get("properties") or {} for row in some)
    properties = [{name: held for name, held in one.items() if name not in left_out} for one in given]
    for name in dict.fromkeys(name for held in properties for name in held):
        columns[name] = [held.get(name) for held in properties]
    own = {"<key>": "key", "<head>": "head", "<tail>": "tail", "<label>": "label"}
    columns |= {place: [row.get(name) for row in some] for place, name in own.items() if name in some[0]}
    columns["<title>"] = [_title(held) for held in properties]
    if "labels" in some[0]:
        labels = [row["labels"] or [] for row in some]
        columns["<type>"] = [held[0] if held else None for held in labels]
        columns["labels"] = [held if len(held) > 1 else None for held in labels]
    return GraphTableRows(numbers, columns, lambda place: to_json(dict(some[place])), blank=True)


def _columns(rows: GraphTableRows, of_relations: bool) -> GraphColumns:
    names = [name for name in rows.columns if not name.startswith("<")]
    key = "<key>" if "<key>" in rows.columns else None
    if of_relations:
        return relation_columns(
            names, GraphColumns(head="<head>", tail="<tail>", relation="<label>", key=key)
        )
    return entity_columns(names, GraphColumns(key=key, title="<title>", type="<type>"))


def _title(properties: Mapping[str, Any]) -> object:
    folded = {name.lower(): value for name, value in properties.items()}
    return next((folded[name] for name in NODE_TITLE if folded.get(name) not in (None, "")), None)


_Staged = tuple[str, pl.DataFrame]
_GRAPHS = {"graph": pl.String(), "path": pl.String(), "declares": pl.Boolean(), "iris": pl.Boolean()}
_FAILED = {"path": pl.String()}
_MOST_TOLD = 5
#: What comes beside a graph, and may be missing.
_SECONDARY = ("documents", "text_units", "claims", "communities", "reports")


@dataclass(slots=True)
class _RowOutcome:
    """What became of a file."""

    status: str = "read"
    format: str | None = None
    notes: list[str] = field(default_factory=list)
    documents: int = 0
    usable: int = 0
    malformed: int = 0
    first_reason: str = ""

    def count(self, account: pl.DataFrame) -> None:
        """Add rows of the account of a file."""
        bad = pl.col("outcome") == "malformed"
        self.usable += int(account.filter(~bad)["rows"].sum())
        bad_rows = account.filter(bad).sort("first_row")
        self.malformed += int(bad_rows["rows"].sum())
        for row, reason in bad_rows.select("first_row", "reason").head(1).iter_rows():
            self.first_reason = self.first_reason or f"row {row}: {reason}"

    def judge(self, *, secondary: bool = False) -> None:
        """A file none of whose rows is of use has failed, and one without rows is empty."""
        if self.malformed and self.usable:
            rows = f"{self.malformed:,} of its {plural(self.malformed + self.usable, 'row')}"
            self.notes.insert(0, f"{rows} were put aside, the first of them {self.first_reason}")
        elif self.malformed:
            self.status = "failed"
            rows = plural(self.malformed, "row")
            self.notes.insert(0, f"none of its {rows} can be used, the first of them {self.first_reason}")
        elif not (self.usable or self.notes or secondary):
            self.status = "empty"
            self.notes.append("it holds no rows")


def import_graphs(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> Mapping[Table, WrittenTable]:
    """Replace what the tables of imports hold of a corpus by what its files do now.

    Args:
        corpora: where its files are.
        warehouse: where its tables are.
        corpus: its name.

    Raises:
        CorpusError: no file could be read as a graph, or no row of any could be used; gives examples with
            reasons.
        SettingsError: its settings cannot be used.
        WarehouseError: the tables cannot be written.
    """
    taking = _Taking(corpora, corpus)
    note = noting_deleted_graphs(warehouse, corpus)
    return warehouse.write_staged(corpus, taking.staged(note), QUERIES)


class _Taking:
    """The files of a corpus on their way into the tables."""

    def __init__(self, corpora: CorpusStore, corpus: str) -> None:
        self._settings = corpora.settings(corpus)
        self._folder = corpora.folder(corpus)
        self._found = corpora.found(corpus)
        self._hashes = hash_files(self._found)
        self._columns = self._settings.section(ImportSettings).columns_of([file.path for file in self._found])
        self._graphs = graph_files(self._found, self._columns)
        self._fates: dict[str, _RowOutcome] = defaultdict(_RowOutcome)

    def staged(self, note: Callable[[pl.DataFrame], None]) -> Iterator[_Staged]:
        """Yield what the files hold, then what became of each, which is noted before.

        Raises:
            CorpusError: nothing could be read, or a server gives what cannot be used.
            EndpointError: the server cannot be reached, or goes away.
        """
        yield from _empty()
        graphs = self._graphs.graphs
        for graph in track(graphs, "Reading graphs", len(graphs)):
            yield from self._read(graph)
        for path, reason in self._graphs.left_out.items():
            self._fates[path] = _RowOutcome("unsupported", None, [reason])
        rows = [self._row(file) for file in self._found]
        if (server := self._settings.section(ImportSettings).neo4j).uri:
            served = _Served(server, NodeProperties(self._settings.section(WriteBackSettings).prefix).names)
            fate = self._fates[served.place]
            fate.format = SERVER
            for table, frame in served.staged():
                if table == ACCOUNT:
                    fate.count(frame)
                yield table, frame
            fate.judge()
            rows.append(served.row())
        self._require()
        files = IMPORTED_FILES.frame(rows)
        note(files)
        yield "files", files

    def _read(self, graph: FileGraph) -> Iterator[_Staged]:
        limits = self._settings.files.limits
        told = {"declares": graph.declares_entities, "iris": graph.keys_are_iris}
        for file, batches in read_graph(graph, self._columns, limits):
            fate = self._fates[file.path]
            fate.format = file.format
            yield "graphs", _graph_of(graph.name, file.path, **told)
            try:
                for batch in batches:
                    if batch.table == NOTES:
                        fate.notes += batch.frame["note"].to_list()
                        continue
                    if batch.table == ACCOUNT:
                        fate.count(batch.frame)
                    fate.documents += batch.frame.height if batch.table == "documents" else 0
                    yield batch.table, batch.frame
                fate.judge(secondary=file.record in _SECONDARY)
            except (RefusedError, UnreadableError, OSError) as error:
                fate.status = "refused" if isinstance(error, RefusedError) else "failed"
                fate.notes.append(error_line(error))
                fate.documents = 0
                yield "failed", pl.DataFrame({"path": [file.path]})

    def _require(self) -> None:
        if any(fate.status == "read" for fate in self._fates.values()):
            return
        ordered = sorted(self._fates.items(), key=lambda one: (one[1].status == "unsupported", one[0]))
        told = [f"  {path}: {'; '.join(fate.notes) or fate.status}" for path, fate in ordered]
        raise CorpusError(
            f"no graph could be read in {self._folder}"
            + (":\n" + "\n".join(told[:_MOST_TOLD]) if told else ": it holds no files")
        )

    def _row(self, file: FoundFile) -> dict[str, object]:
        fate = self._fates.get(file.path) or _RowOutcome()
        status, reason = file.problem or fate.status, file.reason or "; ".join(fate.notes) or None
        return {
            "path": file.path,
            "status": status,
            "reason": reason,
            "incomplete": status == "read" and fate.malformed > 0,
            "duplicate_of": file.duplicate_of,
            "format": fate.format,
            "encoding": None,
            "bytes": file.bytes,
            "sha256": None if status == "refused" else self._hashes.get(file.path),
            "documents": fate.documents,
        }


class _Served:
    """A graph server, and what it gave."""

    def __init__(self, settings: ImportServer, written_back: frozenset[str]) -> None:
        self._settings = settings
        self._written_back = written_back
        self._server = server_of(settings)
        self._digest = hashlib.sha256()
        self.place = f"{self._server.place}/{settings.database or ''}".rstrip("/")

    def staged(self) -> Iterator[_Staged]:
        """Yield its nodes and relations.

        Raises:
            CorpusError: its rows cannot be used, or have no end.
            EndpointError: it cannot be reached, or goes away.
        """
        own = self._settings
        yield "graphs", _graph_of(self.place, self.place, declares=True, iris=False)
        with (
            BoltGraph(self._server) as graph,
            closing(graph.stream(own.nodes)) as nodes,
            closing(graph.stream(own.relations)) as relations,
        ):
            try:
                taken = server_batches(
                    nodes, relations, self.place, own.most_rows, left_out=self._written_back
                )
                for batch in taken:
                    if batch.table in RECORDS:
                        self._digest.update(batch.frame.write_ndjson().encode())
                    yield batch.table, batch.frame
            except (UnreadableError, QueryError) as error:
                raise CorpusError(f"the graph of {self.place} cannot be taken in: {error}") from error

    def row(self) -> dict[str, object]:
        """Its row among the files."""
        nothing = dict.fromkeys(("reason", "incomplete", "duplicate_of", "encoding"))
        told = {"path": self.place, "status": "read", "format": SERVER, "bytes": 0, "documents": 0}
        return {**nothing, **told, "sha256": self._digest.hexdigest()}


def _graph_of(graph: str, path: str, *, declares: bool, iris: bool) -> pl.DataFrame:
    told = {"graph": graph, "path": path, "declares": declares, "iris": iris}
    return pl.DataFrame([told], schema=_GRAPHS)


def _empty() -> Iterator[_Staged]:
    """A frame without rows of each temporary table, so that all of them are there."""
    yield from ((record, pl.DataFrame(schema=types_of(record))) for record in RECORDS)
    yield QUARANTINE, IMPORT_QUARANTINE.empty()
    yield ACCOUNT, IMPORT_ACCOUNT.empty()
    yield REPAIRED, pl.DataFrame(schema=REPAIRED_TYPES)
    yield "graphs", pl.DataFrame(schema=_GRAPHS)
    yield "failed", pl.DataFrame(schema=_FAILED)
    yield "files", IMPORTED_FILES.empty()
