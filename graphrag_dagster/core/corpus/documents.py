"""From a corpus folder to its files and documents, nothing lost in silence."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import polars as pl

from graphrag_dagster.core.corpus.columns import ColumnNames
from graphrag_dagster.core.corpus.files import FoundFile, discover
from graphrag_dagster.core.corpus.globs import first_match
from graphrag_dagster.core.corpus.readers import EXTENSIONS, READERS, format_of
from graphrag_dagster.core.corpus.records import (
    Reading,
    Record,
    RefusedError,
    Source,
    UnreadableError,
    clean,
    listed,
    metadata_json,
)
from graphrag_dagster.core.errors import CorpusError
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.progress import track

MAX_BYTES = 50_000_000

_FILES = {
    "path": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "duplicate_of": pl.String,
    "format": pl.String,
    "encoding": pl.String,
    "bytes": pl.Int64,
    "sha256": pl.String,
    "documents": pl.Int32,
}
_DOCUMENTS = {
    "document_id": pl.String,
    "human_readable_id": pl.Int32,
    "path": pl.String,
    "row": pl.Int32,
    "source_id": pl.String,
    "title": pl.String,
    "text": pl.String,
    "characters": pl.Int32,
    "date": pl.String,
    "metadata": pl.String,
}


@dataclass(frozen=True, slots=True)
class CorpusContents:
    """A corpus as read.

    ``files``: columns of ``corpus.files``, sorted by path. ``documents``: columns of ``corpus.documents``,
    in the order of path and row. ``unused_columns``: patterns of the columns mapping that no file matched.
    """

    files: pl.DataFrame
    documents: pl.DataFrame
    unused_columns: tuple[str, ...] = ()


def read_corpus(
    folder: Path,
    *,
    columns: Mapping[str, ColumnNames] = MappingProxyType({}),
    max_bytes: int = MAX_BYTES,
    ignore: Sequence[str] = (),
) -> CorpusContents:
    """Read every file below the folder.

    ``columns`` maps glob patterns (:func:`.globs.matches`) to the columns of table-like files; the first
    pattern that matches a file holds. A document's id is the hash of its text, for a row of a table of text,
    given id and given title: the same content keeps its id wherever it stands.

    Raises:
        CorpusError: the folder does not exist, is not a folder, or cannot be listed.
    """
    found = discover(folder, max_bytes=max_bytes, ignore=ignore)
    gathering = _Gathering(columns)
    for file in track(found, "Reading files", len(found)):
        gathering.add(file, max_bytes)
    return gathering.contents()


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
            f"the corpus folder {folder} holds no files; put documents there ({', '.join(EXTENSIONS)})"
        )
    counts = Counter(files["status"].to_list())
    rows = files.select("path", "status", "reason").head(5).rows()
    examples = "\n".join(
        f"  {path}: {status}{f', {reason}' if reason else ''}" for path, status, reason in rows
    )
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    raise CorpusError(
        f"no document could be read in {folder}: {files.height} files, {summary}. For example:\n{examples}"
    )


@dataclass(slots=True)
class _Outcome:
    """What becomes of a file; the fields are columns of ``corpus.files``."""

    status: str
    notes: list[str] = field(default_factory=list)
    duplicate_of: str | None = None
    encoding: str | None = None
    documents: int = 0


class _Gathering:
    """Files in the order of their paths; the first to hold a content keeps it."""

    def __init__(self, columns: Mapping[str, ColumnNames]) -> None:
        self._columns = columns
        self._unused = dict.fromkeys(columns)
        self._files: list[dict[str, object]] = []
        self._documents: list[dict[str, object]] = []
        self._path_of_hash: dict[str, str] = {}
        self._path_of_document: dict[str, str] = {}

    def contents(self) -> CorpusContents:
        return CorpusContents(
            pl.DataFrame(self._files, schema=_FILES, orient="row"),
            pl.DataFrame(self._documents, schema=_DOCUMENTS, orient="row"),
            tuple(self._unused),
        )

    def add(self, file: FoundFile, max_bytes: int) -> None:
        kind, sha256, size = format_of(file.path), None, file.bytes
        if file.problem:
            notes = [file.reason] if file.reason else []
            outcome = _Outcome(file.problem, notes, file.duplicate_of)
        else:
            data, reason = _bytes_of(file, max_bytes)
            if data is None:
                outcome = _Outcome("failed", [reason])
            else:
                sha256, size = hashlib.sha256(data).hexdigest(), len(data)
                outcome = self._outcome(file.path, kind, data, sha256)
        self._files.append(
            {
                "path": file.path,
                "status": outcome.status,
                "reason": clean("; ".join(outcome.notes)) or None,
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
            known = ", ".join(EXTENSIONS)
            return _Outcome("unsupported", [f"files of this extension are not read; those read are {known}"])
        if sha256 in self._path_of_hash:
            return _Outcome("duplicate", ["the same bytes"], self._path_of_hash[sha256])
        try:
            reading = READERS[kind](data, Source(path, self._columns_for(path)))
        except UnreadableError as error:
            return _Outcome("failed", [str(error)])
        except RefusedError as error:
            return _Outcome("refused", [str(error)])
        outcome = self._keep(path, reading)
        if outcome.status in ("read", "duplicate"):
            self._path_of_hash[sha256] = outcome.duplicate_of or path
        return outcome

    def _columns_for(self, path: str) -> ColumnNames | None:
        pattern = first_match(path, tuple(self._columns))
        if pattern is None:
            return None
        self._unused.pop(pattern, None)
        return self._columns[pattern]

    def _keep(self, path: str, reading: Reading) -> _Outcome:
        outcome = _Outcome("read", list(reading.notes), encoding=reading.encoding)
        records = [record for record in reading.records if record.text.strip()]
        if not records:
            outcome.status = "empty"
            outcome.notes = outcome.notes or ["it has no text"]
            return outcome
        repeated: list[Record] = []
        first_path = None
        for record in records:
            document_id = _document_id(record)
            known = self._path_of_document.get(document_id)
            if known is None:
                self._path_of_document[document_id] = path
                self._documents.append(_document(document_id, len(self._documents), path, record))
                outcome.documents += 1
            else:
                repeated.append(record)
                first_path = first_path or known
        if not outcome.documents:
            outcome.status, outcome.duplicate_of = "duplicate", first_path
            outcome.notes.append("the same text")
        elif repeated:
            rows = [record.row for record in repeated if record.row is not None]
            outcome.notes.append(f"{len(rows)} rows repeat documents read before: {listed(rows)}")
        return outcome


def _bytes_of(file: FoundFile, max_bytes: int) -> tuple[bytes | None, str]:
    try:
        with file.location.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    if len(data) > max_bytes:
        return None, f"grew beyond files.max_bytes ({max_bytes:,}) while it was read"
    return data, ""


def _document_id(record: Record) -> str:
    if record.row is None:
        return stable_id(record.text)
    return stable_id(record.text, record.source_id or "", record.title or "")


def _document(document_id: str, number: int, path: str, record: Record) -> dict[str, object]:
    name = PurePosixPath(path).stem
    return {
        "document_id": document_id,
        "human_readable_id": number,
        "path": path,
        "row": record.row,
        "source_id": record.source_id,
        "title": record.title or (name if record.row is None else f"{name} (row {record.row})"),
        "text": record.text,
        "characters": len(record.text),
        "date": record.date,
        "metadata": metadata_json(record.metadata),
    }
