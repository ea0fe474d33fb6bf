"""Records that readers return, and the errors that decline a file."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from graphrag_dagster.kernel.common.file_limits import DEFAULT_LIMITS, FileLimits
from graphrag_dagster.kernel.documents.column_roles import ColumnNames

REPLACEMENT = "\ufffd"

_UNHOLDABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?")
_MOST_LEVELS = 100
_MOST_BITS = 10_000
_MOST_LISTED = 20
_LONGEST_REASON = 2_000
#: A path from the root of the file system, of which the last part is kept.
_ABSOLUTE = re.compile(r"(?<![\w./])/(?:[\w.@+-]++/)++([\w.@+-]*+)")


class UnreadableError(Exception):
    """The file is damaged or its content is not what its format needs; the text says what and the fix."""


class RefusedError(Exception):
    """The file must not be read as what its name says; the text says why."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A reader's knowledge of a file besides its bytes: path as stored, the columns set for it, its limits,
    and names of people by the ids that the file has for them, as a file beside it gives them.
    """

    path: str
    columns: ColumnNames | None = None
    limits: FileLimits = DEFAULT_LIMITS
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One document of a file. ``row`` is None when the document is the whole file."""

    text: str
    title: str | None = None
    source_id: str | None = None
    date: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    row: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The records of a file.

    ``notes`` say what of the file is in no record, with what and how many: the file counts as read in part.
    ``remarks`` say what was odd though nothing is lost by it, such as running headers that were left out.
    ``names``: of people, by the ids that the messages beside the file have for them.
    """

    records: tuple[FileRecord, ...]
    encoding: str | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


Reader = Callable[[bytes, SourceFile], Reading]


def clean(text: str) -> str:
    """Return the text with line ends as ``\\n`` and NUL and lone surrogates replaced by U+FFFD."""
    return storable_text(_LINE_ENDS.sub("\n", text) if "\r" in text else text)


def storable_text(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD."""
    return _UNHOLDABLE.sub(REPLACEMENT, text)


def one_line(text: str | None) -> str | None:
    """Return the text on one line, or None when it is blank."""
    return " ".join(clean(text).split()) or None if text else None


def lines_of(text: str) -> Iterator[str]:
    """Yield what stands between line ends, one after the other, so that many lines take no memory."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def metadata_json(metadata: Mapping[str, object]) -> str:
    """Return a JSON object of the properties that have a value, in the file's order.

    Raises:
        UnreadableError: a value is nested too deeply.
    """
    kept = {clean(str(key)): json_value(value) for key, value in metadata.items() if value not in (None, "")}
    return json.dumps({key: value for key, value in kept.items() if value is not None}, ensure_ascii=False)


def json_value(value: object, level: int = 0) -> object:
    """Return a value as JSON can hold it, the same in every process; None for what has no meaning there.

    Raises:
        UnreadableError: nested more than 100 levels deep.
    """
    if level > _MOST_LEVELS:
        raise UnreadableError(f"values are nested more than {_MOST_LEVELS} levels deep")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Python declines to write longer numbers in decimal.
        return value if value.bit_length() <= _MOST_BITS else hex(value)
    if isinstance(value, Mapping):
        return {
            clean(str(json_value(key, level))): json_value(inner, level + 1) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [json_value(inner, level + 1) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted(str(json_value(inner, level + 1)) for inner in value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return clean(str(value))


def error_line(error: BaseException) -> str:
    """Return what an error says as one line that any table and terminal can hold, without places on this
    machine; its kind where it says nothing.
    """
    told = _ABSOLUTE.sub(r"\1", " ".join(clean(str(error)[:_LONGEST_REASON]).split()))
    return told or type(error).__name__


def note_of_counts(what: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return a note of how many there are of what, or none: ``not in the text: chart (1), picture (3)``."""
    told = ", ".join(f"{name} ({count:,})" for name, count in sorted(counts.items()) if count)
    return (f"{what}: {told}",) if told else ()


class RecordPlaces:
    """Numbers of rows or lines for a person: how many, and the first few."""

    def __init__(self) -> None:
        self._first: list[int] = []
        self._count = 0

    def add(self, number: int) -> None:
        """Note one more."""
        self._count += 1
        if len(self._first) < _MOST_LISTED:
            self._first.append(number)

    def __len__(self) -> int:
        """Number of notes."""
        return self._count

    def __str__(self) -> str:
        """The first few, then how many more."""
        text = ", ".join(map(str, self._first))
        more = self._count - len(self._first)
        return f"{text} and {more} more" if more else text
