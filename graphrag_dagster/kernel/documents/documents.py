"""Reads the files of a corpus into documents; every file that is not read is listed with a reason."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.file_discovery import FoundFile, display_text, first_match, open_file
from graphrag_dagster.kernel.common.file_limits import DEFAULT_LIMITS, FileLimits
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.progress import track
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.documents.column_roles import ColumnNames
from graphrag_dagster.kernel.documents.file_reading import (
    Declined,
    FileContents,
    FileDocument,
    format_of,
)
from graphrag_dagster.kernel.documents.file_records import RecordPlaces, SourceFile
from graphrag_dagster.kernel.documents.reader_process import ReaderProcess, reader_process
from graphrag_dagster.kernel.tables.core_tables import DOCUMENTS, FILES

if TYPE_CHECKING:
    from graphrag_dagster.kernel.storage.corpus_store import CorpusStore

_LONGEST_REASON = 1_000
_NAMES_FILE, _LONGEST_NAMES_FILE = "users.json", 5_000_000


@dataclass(frozen=True, slots=True)
class CorpusContents:
    """A corpus as read.

    ``files``: columns of ``corpus.files``, sorted by path. ``documents``: columns of ``corpus.documents``,
    in the order of path and row. ``unused_columns``: patterns of the columns mapping that no file matched.
    """

    files: pl.DataFrame
    documents: pl.DataFrame
    unused_columns: tuple[str, ...] = ()


def read_files(
    found: Sequence[FoundFile],
    *,
    columns: Mapping[str, ColumnNames] = MappingProxyType({}),
    limits: FileLimits = DEFAULT_LIMITS,
) -> CorpusContents:
    """Read files of a corpus, sorted by path.

    ``columns`` maps glob patterns (:func:`~graphrag_dagster.kernel.common.file_discovery.matches`) to the
    columns of table-like files; the first pattern that matches a file holds. A document's id is the hash of
    its text, for a row of a table of text, given id and given title: the same content keeps its id wherever
    it stands. Where a document with that id but another date, author or the like was read before, it is the
    hash of all that is told of the document.
    Only what is alike in all of that is a repetition. A file that cannot be read within the ``limits`` has
    its reason in its row and stops nothing.

    Raises:
        CorpusError: files cannot be read because no process can be started for that.
    """
    with reader_process() as reader:
        gathering = _Gathering(columns, limits, reader, _names_by_folder(found, reader, limits))
        for file in track(found, "Reading files", len(found)):
            gathering.add(file)
    return gathering.contents()


def read_corpus(store: "CorpusStore", name: str) -> CorpusContents:
    """Read the files of a corpus according to its settings.

    Raises:
        CorpusError: no such corpus.
        SettingsError: its settings are invalid.
    """
    settings = store.settings(name)
    columns = {pattern: ColumnNames(**names.model_dump()) for pattern, names in settings.tables.items()}
    return read_files(store.found(name), columns=columns, limits=settings.files.limits)


def require_documents(contents: CorpusContents, folder: Path) -> None:
    """Raise unless there is something to work on.

    Raises:
        CorpusError: no document could be read; counts the files by status and gives examples with reasons.
    """
    if contents.documents.height:
        return
    files = contents.files
    if not files.height:
        raise CorpusError(
            f"the corpus folder {folder} contains no files; put documents there, such as {_COMMON}"
        )
    counts = Counter(files["status"].to_list())
    rows = files.select("path", "status", "reason").head(5).rows()
    examples = "\n".join(
        f"  {path}: {status}{f', {reason}' if reason else ''}" for path, status, reason in rows
    )
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    raise CorpusError(
        f"no document could be read from {folder}: {plural(files.height, 'file')}, {summary}. For example:\n"
        f"{examples}"
    )


@dataclass(slots=True)
class _Outcome:
    """Status of a file; the fields are columns of ``corpus.files``."""

    status: str
    notes: list[str] = field(default_factory=list)
    incomplete: bool = False
    duplicate_of: str | None = None
    encoding: str | None = None
    documents: int = 0


class _Gathering:
    """Files in the order of their paths; the first to hold a content keeps it."""

    def __init__(
        self,
        columns: Mapping[str, ColumnNames],
        limits: FileLimits,
        reader: ReaderProcess,
        names: Mapping[PurePosixPath, Mapping[str, str]],
    ) -> None:
        self._columns = columns
        self._names = names
        self._limits = limits
        self._reader = reader
        self._unused = dict.fromkeys(columns)
        self._files: list[dict[str, object]] = []
        self._documents: list[dict[str, object]] = []
        self._path_of_hash: dict[str, str] = {}
        self._place_of_document: dict[str, int] = {}

    def contents(self) -> CorpusContents:
        return CorpusContents(
            FILES.rows(self._files),
            DOCUMENTS.rows(self._documents),
            tuple(self._unused),
        )

    def add(self, file: FoundFile) -> None:
        kind, sha256, size = format_of(file.path), None, file.bytes
        if file.problem:
            notes = [file.reason] if file.reason else []
            outcome = _Outcome(file.problem, notes, duplicate_of=file.duplicate_of)
        else:
            data, reason = _read_bytes(file, self._limits.max_bytes)
            if data is None:
                outcome = _Outcome("failed", [reason])
            else:
                sha256, size = hashlib.sha256(data).hexdigest(), len(data)
                outcome = self._outcome(file.path, kind, data, sha256)
        self._files.append(
            {
                "path": file.path,
                "status": outcome.status,
                "reason": _join_notes(outcome.notes),
                "incomplete": outcome.incomplete,
                "duplicate_of": outcome.duplicate_of,
                "format": kind,
                "encoding": outcome.encoding,
                "bytes": size,
                "sha256": None if outcome.status == "refused" else sha256,
                "documents": outcome.documents,
            }
        )

    def _outcome(self, path: str, kind: str | None, data: bytes, sha256: str) -> _Outcome:
        if kind is None:
            extension = PurePosixPath(path).suffix.lower()
            return _Outcome("unsupported", [f"no reader for {extension or 'files without an extension'}"])
        if sha256 in self._path_of_hash:
            return _Outcome("duplicate", ["the same bytes"], duplicate_of=self._path_of_hash[sha256])
        contents = self._reader.read(kind, data, self._source(path))
        if isinstance(contents, Declined):
            return _Outcome(contents.status, [contents.reason])
        outcome = self._keep(path, contents)
        if outcome.status in ("read", "duplicate"):
            self._path_of_hash[sha256] = outcome.duplicate_of or path
        return outcome

    def _source(self, path: str) -> SourceFile:
        folders = PurePosixPath(path).parents if self._names else ()
        names = next((self._names[folder] for folder in folders if folder in self._names), {})
        pattern = first_match(path, tuple(self._columns))
        if pattern is None:
            return SourceFile(path, None, self._limits, names)
        self._unused.pop(pattern, None)
        return SourceFile(path, self._columns[pattern], self._limits, names)

    def _keep(self, path: str, contents: FileContents) -> _Outcome:
        notes = [*contents.notes, *contents.remarks]
        outcome = _Outcome("read", notes, bool(contents.notes), encoding=contents.encoding)
        if not contents.documents:
            outcome.status, outcome.incomplete = "empty", False
            outcome.notes = outcome.notes or ["no text was found"]
            return outcome
        repeated = RecordPlaces()
        first_path = None
        for document in contents.documents:
            document_id, known = self._identify(document)
            if known is None:
                self._place_of_document[document_id] = len(self._documents)
                self._documents.append(_row(document_id, len(self._documents), path, document))
                outcome.documents += 1
            else:
                repeated.add(document.row or 0)
                first_path = first_path or str(known["path"])
        if not outcome.documents:
            outcome.status, outcome.duplicate_of, outcome.incomplete = "duplicate", first_path, False
            outcome.notes.append("the same text")
        elif repeated:
            outcome.notes.append(f"{len(repeated)} rows repeat documents read before: {repeated}")
        return outcome

    def _identify(self, document: FileDocument) -> tuple[str, Mapping[str, object] | None]:
        """The document's id, and the row of the one that it repeats, if any."""
        of_row = () if document.row is None else (document.source_id or "", document.title or "")
        document_id = stable_id(document.text, *of_row)
        known = self._find_known(document_id)
        if known is None or not _is_different_document(document, known):
            return document_id, known
        document_id = stable_id(*_comparable_properties(document))
        return document_id, self._find_known(document_id)

    def _find_known(self, document_id: str) -> Mapping[str, object] | None:
        place = self._place_of_document.get(document_id)
        return None if place is None else self._documents[place]


def _join_notes(notes: Sequence[str]) -> str | None:
    """Notes as one line; what does not come from us may hold anything."""
    told = display_text("; ".join(" ".join(note.split()) for note in notes))
    return (told if len(told) <= _LONGEST_REASON else f"{told[: _LONGEST_REASON - 1]}…") or None


def _names_by_folder(
    found: Sequence[FoundFile], reader: ReaderProcess, limits: FileLimits
) -> dict[PurePosixPath, Mapping[str, str]]:
    """Names of users by their ids, as the export of a chat keeps them beside its messages."""
    names: dict[PurePosixPath, Mapping[str, str]] = {}
    for file in found:
        path = PurePosixPath(file.path)
        if path.name == _NAMES_FILE and not file.problem and file.bytes <= _LONGEST_NAMES_FILE:
            data, _ = _read_bytes(file, _LONGEST_NAMES_FILE)
            contents = reader.read("json", data or b"", SourceFile(file.path, limits=limits))
            if isinstance(contents, FileContents) and contents.names:
                names[path.parent] = contents.names
    return names


def _read_bytes(file: FoundFile, max_bytes: int) -> tuple[bytes | None, str]:
    try:
        with open_file(file.location) as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    if len(data) > max_bytes:
        return None, f"grew beyond files.max_bytes ({max_bytes:,}) while it was read"
    return data, ""


def _comparable_properties(document: FileDocument) -> tuple[object, ...]:
    # Numbers are written as texts in one format and not in another.
    told = _stringify_values(json.loads(document.metadata))
    return document.text, document.source_id, document.title, document.date, *sorted(told.items())


def _is_different_document(document: FileDocument, known: Mapping[str, object]) -> bool:
    """Whether a document of the same text as one that is known is another."""
    before, now = (
        _stringify_values(json.loads(str(known["metadata"]))),
        _stringify_values(json.loads(document.metadata)),
    )
    if document.row is not None:
        return before != now or known["date"] != document.date
    title = known["title"] if known["title"] != name_of(str(known["path"]), None) else None
    told = [(known["date"], document.date), (known["source_id"], document.source_id), (title, document.title)]
    # A copy of a file may tell less than the other, and was made at another time.
    told += [(before[key], now[key]) for key in before.keys() & now.keys() - {"created"}]
    return any(one and other and one != other for one, other in told)


def _stringify_values(told: Mapping[str, object]) -> dict[str, str]:
    return {key: str(value) for key, value in told.items() if value is not None}


def name_of(path: str, row: int | None) -> str:
    """Return what a document without a title is called: by its file, and its row there."""
    name = PurePosixPath(path).stem
    return name if row is None else f"{name} (row {row})"


def _row(document_id: str, number: int, path: str, document: FileDocument) -> dict[str, object]:
    title = document.title or name_of(path, document.row)
    own = {"document_id": document_id, "human_readable_id": number, "path": path}
    return own | document._asdict() | {"title": title, "characters": len(document.text)}


#: What became of files that gave nothing, those first that somebody may want to mend.
FATES = ("failed", "refused", "unsupported", "empty", "ignored")
#: Of the extensions that are read.
_COMMON = ".txt, .md, .html, .pdf, .docx, .csv or .json"
#: Files of a line that are named.
_MOST_NAMED = 5


def unread_files(files: pl.DataFrame) -> pl.DataFrame:
    """Path, status and reason of the files that gave nothing; copies of others are not among them.

    Args:
        files: rows of ``corpus.files``.
    """
    found = files.filter(pl.col("status").is_in(FATES)).select("path", "status", "reason")
    return found.sort(pl.col("status").replace_strict(FATES, range(len(FATES))), "path")


def partly_read_files(files: pl.DataFrame) -> pl.DataFrame:
    """Path and reason of the files that were read and hold something that is in no document, by path.

    Args:
        files: rows of ``corpus.files``.
    """
    return files.filter(status="read", incomplete=True).select("path", "reason").sort("path")


def describe_files(files: pl.DataFrame, most: int = 10) -> tuple[list[str], int]:
    """Return sentences on files that were not read, then on those read in part, and how many they leave out.

    Files of one extension with the same reason, numbers aside, are one sentence, which names the first of
    them. Ignored files are not told.

    Args:
        files: rows of ``corpus.files``, of which path, status, reason and incomplete are needed.
        most: how many sentences.
    """
    unread = unread_files(files).filter(pl.col("status") != "ignored")
    in_part = partly_read_files(files).with_columns(status=pl.lit("read"))
    groups = [*_group_files(unread), *_group_files(in_part)]
    lines = [_format_group(one) for one in groups[:most]]
    return lines, sum(one["files"] for one in groups[most:])


def _group_files(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """One row for files of a status, an extension and a reason: how many, the first paths, a reason."""
    reason = pl.col("reason").fill_null("")
    yield from (
        rows.with_columns(
            extension=pl.col("path").str.extract(r"[^/](\.[^./]+)$").str.to_lowercase().fill_null(""),
            alike=reason.str.replace_all(r"[0-9][0-9,.]*", "0"),
        )
        .group_by("status", "extension", "alike", maintain_order=True)
        .agg(
            pl.len().alias("files"),
            pl.col("path").head(_MOST_NAMED).alias("paths"),
            reason.first().alias("told"),
            (reason.n_unique() > 1).alias("differ"),
        )
        .with_columns(order=pl.col("status").replace_strict([*FATES, "read"], range(len(FATES) + 1)))
        .sort("order", pl.col("files"), descending=[False, True], maintain_order=True)
        .iter_rows(named=True)
    )


def _format_group(group: dict[str, Any]) -> str:
    paths, count = group["paths"], group["files"]
    what = "read in part" if group["status"] == "read" else "not read"
    if count == 1:
        return f"{paths[0]} was {what}: {group['told']}"
    extension = group["extension"]
    kind = plural(count, f"{extension} file" if extension else "file")
    more = f" and {count - len(paths):,} more" if count > len(paths) else ""
    told = f"e.g. {group['told']}" if group["differ"] else group["told"]
    return f"{kind} were {what}: {told} ({', '.join(paths)}{more})"
