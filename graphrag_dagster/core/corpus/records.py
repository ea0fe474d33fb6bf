"""What readers give back, and the errors by which they decline."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphrag_dagster.core.corpus.columns import ColumnNames

REPLACEMENT = "\ufffd"

_UNHOLDABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?")


class UnreadableError(Exception):
    """The file is damaged or its content is not what its format needs; the text says what and the mend."""


class RefusedError(Exception):
    """The file must not be read as what its name says; the text says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a reader knows of a file besides its bytes: path as stored, and the columns set for it."""

    path: str
    columns: ColumnNames | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One document of a file. ``row`` is None when the document is the whole file."""

    text: str
    title: str | None = None
    source_id: str | None = None
    date: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    row: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The records of a file; ``notes`` say what was odd or left out."""

    records: tuple[Record, ...]
    encoding: str | None = None
    notes: tuple[str, ...] = ()


Reader = Callable[[bytes, Source], Reading]


def clean(text: str) -> str:
    """Return the text with line ends as ``\\n`` and NUL and lone surrogates replaced by U+FFFD."""
    if "\r" in text:
        text = _LINE_ENDS.sub("\n", text)
    return _UNHOLDABLE.sub(REPLACEMENT, text)


def one_line(text: str | None) -> str | None:
    """Return the text on one line, or None when it is blank."""
    return " ".join(clean(text).split()) or None if text else None


def metadata_json(metadata: Mapping[str, object]) -> str:
    """Return a JSON object of the properties that have a value, in the file's order."""
    kept = {clean(str(key)): _plain(value) for key, value in metadata.items() if value not in (None, "")}
    return json.dumps({key: value for key, value in kept.items() if value is not None}, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return clean(str(value))


def listed(numbers: list[int], most: int = 20) -> str:
    """Return numbers for a person: the first few, then how many more."""
    text = ", ".join(map(str, numbers[:most]))
    return text if len(numbers) <= most else f"{text} and {len(numbers) - most} more"
