"""JSON documents, and sequences of values: JSON lines and the like."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from graphrag_dagster.kernel.documents.column_roles import ColumnNames
from graphrag_dagster.kernel.documents.file_records import Reading, RecordPlaces, SourceFile, UnreadableError
from graphrag_dagster.kernel.documents.readers.data.chat_exports import in_current_branch, read_export
from graphrag_dagster.kernel.documents.readers.data.json_objects import (
    decode_extended_json,
    is_spoken,
    items_of,
    names_text,
    other_lists,
    table_of,
)
from graphrag_dagster.kernel.documents.readers.data.row_records import Row, columns_of, reading_of_rows
from graphrag_dagster.kernel.documents.text_decoding import Decoded, decode

#: Between values: blanks, commas, the record separator of JSON text sequences.
_BETWEEN = re.compile(r"[\s,\x1e]*+")
#: Where the next object may begin: after the end of one, or on a line of its own.
_NEXT = re.compile(r"\}\s*+,?+\s*+(?=\{)|\n(?P<indent>[ \t\x1e]*+)(?=[\[{])")
_COMMENT = r"(?://[^\n]*+|/\*[^*]{0,2000}+(?:\*(?!/)[^*]{0,2000}+){0,200}\*/)"
#: Strings, and what programs other than JSON's own write beside them.
_NOT_JSON = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"'
    rf"|(?P<comma>,)\s*+(?=(?:{_COMMENT}\s*+)*+[\]}}])|(?P<comment>{_COMMENT})"
    r'|\b(?:ObjectId|ISODate|UUID|NumberLong|NumberInt|NumberDecimal)\(\s*+(?P<inner>"[^"\\\n]{0,100}"|-?\d{1,30})\s*+\)'
)
_DECODER = json.JSONDecoder()
#: Characters that failed attempts may look at: Python counts all lines before an error.
_MOST_LOOKED_AT = 2_000_000_000
_MENDED = "commas before brackets, comments and functions, which JSON does not have, were taken off"
_LOOKED_INTO = 20


@dataclass(frozen=True, slots=True)
class _FileNotes:
    """Notes on a file so far: see :class:`Reading`."""

    notes: list[str]
    remarks: list[str] = field(default_factory=list)


def read_json(data: bytes, source: SourceFile) -> Reading:
    """Read a list of objects, an object that holds exactly one such list, objects by their ids, columns of a
    table, an object with a text, an export of chats, or objects one after the other.

    Raises:
        RefusedError: not text.
        UnreadableError: not JSON, another shape, or no column for the text.
    """
    decoded = decode(data)
    if not decoded.text.strip():
        return Reading((), decoded.encoding, decoded.notes)
    told = _FileNotes(list(decoded.notes))
    try:
        content = _parse_whole(decoded.text, told)
    except RecursionError as error:
        raise UnreadableError("JSON that is nested too deeply") from error
    except ValueError as error:
        # What Python says of long numbers ends in advice to programmers.
        problem = f"not valid JSON: {str(error).split(';')[0]}"
        return _read_sequence(decoded, source, told, problem)
    return _read_document(content, decoded, source, told)


def read_jsonl(data: bytes, source: SourceFile) -> Reading:
    """Read one document per line; ``row`` counts the values. Broken lines are noted.

    Objects over several lines, lists of objects, text sequences and exports of chats are read, too.

    Raises:
        RefusedError: not text.
        UnreadableError: no line is a JSON object, or no column for the text.
    """
    decoded = decode(data)
    told = _FileNotes(list(decoded.notes))
    try:
        content = json.loads(decoded.text)
    except (ValueError, RecursionError):
        return _read_sequence(decoded, source, told, None)
    if isinstance(content, list):
        return _read_document(content, decoded, source, told)
    if export := read_export(content, decoded, source):
        return export
    if isinstance(content, Mapping) and not any(map(is_spoken, content.values())):
        try:
            return _read_document(content, decoded, source, told)
        except UnreadableError:
            pass
    return _read_sequence(decoded, source, told, None)


def _parse_whole(text: str, told: _FileNotes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        mended = _repair_text(text)
        if mended is None:
            raise
        content: object = json.loads(mended)
        told.remarks.append(_MENDED)
        return content


def _repair_text(text: str) -> str | None:
    """The text without what JSON does not have, or None where there is nothing of that kind."""
    if text.count("/*") > text.count("*/"):
        return None
    changed = 0

    def plain(found: re.Match[str]) -> str:
        nonlocal changed
        if found.lastgroup is None:
            return found[0]
        changed += 1
        return found["inner"] or ""

    written = _NOT_JSON.sub(plain, text)
    return written if changed else None


def _read_document(content: object, decoded: Decoded, source: SourceFile, told: _FileNotes) -> Reading:
    if export := read_export(content, decoded, source):
        return export
    items, single = items_of(content, source)
    rows = [(number, item) for number, item in enumerate(items) if isinstance(item, Mapping)]
    others = RecordPlaces()
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            others.add(number)
    if others:
        told.notes.append(f"{len(others)} items of the list are not objects and were left out: {others}")
    if single:
        told.notes.extend(other_lists(items[0], source))
    return _read_rows(rows, decoded, source, told)


def _read_sequence(decoded: Decoded, source: SourceFile, told: _FileNotes, problem: str | None) -> Reading:
    """``problem`` is why the text is no JSON document, which is told where no object is found."""
    broken = RecordPlaces()
    rows = list(_rows(decoded.text, broken))
    if broken and (mended := _repair_text(decoded.text)):
        others = RecordPlaces()
        found = list(_rows(mended, others))
        if len(others) < len(broken):
            broken, rows = others, found
            told.remarks.append(_MENDED)
    if broken:
        told.notes.append(f"{len(broken)} lines are not JSON objects and were left out: lines {broken}")
    if not rows and (table := table_of([value for _, value in _values(decoded.text)], source)):
        return _read_rows(list(enumerate(table)), decoded, source, _FileNotes(list(decoded.notes)))
    if not rows:
        if problem or broken:
            raise UnreadableError(problem or f"no line is a JSON object: lines {broken}")
        return Reading((), decoded.encoding, tuple(told.notes), tuple(told.remarks))
    return _read_rows(rows, decoded, source, told)


def _read_rows(rows: list[Row], decoded: Decoded, source: SourceFile, told: _FileNotes) -> Reading:
    left: Counter[str] = Counter()
    plain = '"$' not in decoded.text and '"_source"' not in decoded.text and '"Item"' not in decoded.text
    rows = [
        (number, in_current_branch(item if plain else decode_extended_json(item), left))
        for number, item in rows
    ]
    columns = columns_of(rows)
    if source.columns is None and not names_text(columns, source):
        spoken = (name for _, row in rows[:_LOOKED_INTO] for name in row if is_spoken(row[name]))
        source = replace(source, columns=ColumnNames(text=next(spoken, None)))
    return reading_of_rows(
        rows,
        columns,
        source,
        encoding=decoded.encoding,
        notes=told.notes,
        remarks=told.remarks,
        left=left,
    )


def _rows(text: str, broken: RecordPlaces) -> Iterator[Row]:
    number, last = 0, 0
    for line, value in _values(text):
        for item in (
            value if isinstance(value, list) and any(isinstance(one, Mapping) for one in value) else [value]
        ):
            if isinstance(item, Mapping):
                yield number, item
            elif line == last:
                continue
            else:
                broken.add(line)
                last = line
            number += 1


def _values(text: str) -> Iterator[tuple[int, object]]:
    """Number of the line and value of each thing that stands there; None for what is no value."""
    place, line, looked_at = 0, 1, 0
    while True:
        # It matches anywhere, since it may be empty.
        start = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
        line += text.count("\n", place, start)
        if start >= len(text):
            return
        patient = looked_at <= _MOST_LOOKED_AT
        found = _value_at(text, start) if patient else _value_of_line(text, start)
        if found:
            yield line, found[0]
            place = found[1]
        else:
            looked_at += start
            if text[start] in "[]":
                place = start + 1
                continue
            yield line, None
            place = _resume_position(text, start, in_line=patient)
        line += text.count("\n", start, place)


def _value_of_line(text: str, start: int) -> tuple[object, int] | None:
    """The value that ends in the line where it begins; no error is then looked for in all lines before."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    found = _value_at(line, 0)
    return (found[0], start + found[1]) if found else None


def _value_at(text: str, start: int) -> tuple[object, int] | None:
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _resume_position(text: str, start: int, *, in_line: bool) -> int:
    """Position to continue from after something that is not a value."""
    if not in_line:
        end = text.find("\n", start)
        return end if end >= 0 else len(text)
    indent = start - text.rfind("\n", 0, start) - 1
    for found in _NEXT.finditer(text, start):
        if found["indent"] is None or len(found["indent"]) <= indent:
            return found.end()
    return len(text)
