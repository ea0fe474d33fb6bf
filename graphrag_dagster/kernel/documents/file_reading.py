"""Finds the reader of a file and reads it, or gives the reason why the file was declined."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from graphrag_dagster.kernel.catalogue.registry import formats, load_target, plugin_raising, require_named
from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reader,
    Reading,
    RefusedError,
    SourceFile,
    UnreadableError,
    clean,
    error_line,
    metadata_json,
)


@cache
def extensions() -> Mapping[str, str]:
    """Return the extensions that are read, sorted, with the name of the format of each.

    One that two formats have is that of the format that was declared first.
    """
    found: dict[str, str] = {}
    for one in formats().values():
        for extension in one.extensions:
            found.setdefault(extension, one.name)
    return dict(sorted(found.items()))


def format_of(path: str) -> str | None:
    """Return the format that the extension of a path means, or None for one that is not read."""
    return extensions().get(PurePosixPath(path).suffix.lower())


def reader_of(name: str) -> Reader:
    """Return who reads the files of a format.

    Raises:
        CatalogueError: there is no such format.
    """
    reader: Reader = load_target(require_named(formats(), name, "file format").read)
    return reader


_LONGEST_TITLE = 500
_LONGEST_DATE = 100


class FileDocument(NamedTuple):
    """A document of a file as it is kept; ``metadata`` is a JSON object, ``row`` None for a whole file."""

    text: str
    title: str | None
    source_id: str | None
    date: str | None
    metadata: str
    row: int | None


@dataclass(frozen=True, slots=True)
class FileContents:
    """The documents of a file that have text; ``notes``, ``remarks`` and ``names`` as in its reading."""

    documents: tuple[FileDocument, ...]
    encoding: str | None
    notes: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Declined:
    """A file that was not read. ``final``: the process that tried is not to be used again."""

    status: Literal["refused", "failed"]
    reason: str
    final: bool = False


def read_file(kind: str, data: bytes, source: SourceFile) -> FileContents | Declined:
    """Read the bytes of a file; whatever goes wrong is the reason why it is declined.

    Args:
        kind: name of the format.
        data: the file.
        source: what else is known of it.
    """
    try:
        return _contents(reader_of(kind)(data, source), source)
    except RefusedError as error:
        return Declined("refused", error_line(error))
    except UnreadableError as error:
        return Declined("failed", error_line(error))
    except MemoryError:
        return Declined(
            "failed", source.limits.over_limit_reason("max_memory", "bytes of memory needed"), final=True
        )
    except RecursionError:
        return Declined("failed", f"{kind} that is nested too deeply")
    # Libraries raise what they like on what they do not expect, and a native one's panic is no Exception.
    except BaseException as error:
        if plugin := plugin_raising(error):
            return Declined("failed", plugin.failed("reading it", error))
        told = error_line(error)
        kind_of = type(error).__name__
        return Declined(
            "failed", f"damaged, or not {kind}: {told if told == kind_of else f'{kind_of}, {told}'}"
        )


def _contents(reading: Reading, source: SourceFile) -> FileContents:
    kept = tuple(_document(record) for record in reading.records if record.text.strip())
    if sum(len(document.text) for document in kept) > source.limits.max_characters:
        raise UnreadableError(source.limits.over_limit_reason("max_characters", "characters of text"))
    return FileContents(kept, reading.encoding, reading.notes, reading.remarks, reading.names)


def _document(record: FileRecord) -> FileDocument:
    return FileDocument(
        clean(record.text),
        _truncate(record.title, _LONGEST_TITLE),
        record.source_id,
        _truncate(record.date, _LONGEST_DATE),
        metadata_json(record.metadata),
        record.row,
    )


def _truncate(text: str | None, most: int) -> str | None:
    return f"{text[: most - 1]}…" if text and len(text) > most else text
