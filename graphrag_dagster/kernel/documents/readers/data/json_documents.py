"""JSON documents, and values one after the other: JSON lines and the like."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from graphrag_dagster.kernel.documents.column_roles import ColumnNames
from graphrag_dagster.kernel.documents.file_records import Reading, RecordPlaces, SourceFile, UnreadableError
from graphrag_dagster.kernel.documents.readers.data.chat_exports import in_current_branch, read_export
from graphrag_dagster.kernel.documents.readers.data.json_objects import (
    decode_extended_json,
    is_spoken,
    items_of,
    names_text,
    other_lists,
)
from graphrag_dagster.kernel.documents.readers.data.row_records import Row, columns_of, reading_of_rows
from graphrag_dagster.kernel.documents.text_decoding import Decoded, decode

#: Between values: blanks, commas, the record separator of JSON text sequences.
_BETWEEN = re.compile(r"[\s,\x1e]*+")
#: Where the next object may begin: after the end of one, or on a line of its own.
_NEXT = re.compile(r"(?<=\})[\s,]*+(?=\{)|\n(?=[\[{])")
_DECODER = json.JSONDecoder()
_LINE_END = re.compile(r"\n")
#: Characters that attempts may look at and fail, of values over several lines: Python counts all lines before
#: an error.
_MOST_LOOKED_AT, _COST_OF_ERROR = 100_000_000, 50_000
_LOOKED_INTO = 20


def read_json(data: bytes, source: SourceFile) -> Reading:
    """Read a list of objects, an object that holds exactly one such list, an object with a text, a chat, or
    objects one after the other.

    Raises:
        RefusedError: not text.
        UnreadableError: not JSON, another shape, or no column for the text.
    """
    decoded = decode(data)
    if not decoded.text.strip():
        return Reading((), decoded.encoding, decoded.notes)
    try:
        content = json.loads(decoded.text)
    except RecursionError as error:
        raise UnreadableError("JSON that is nested too deeply") from error
    except ValueError as error:
        # What Python says of long numbers ends in advice to programmers.
        return _read_sequence(decoded, source, f"not valid JSON: {str(error).split(';')[0]}")
    if export := read_export(content, decoded, source):
        return export
    items, single = items_of(content, source)
    rows = [(number, item) for number, item in enumerate(items) if isinstance(item, Mapping)]
    others = RecordPlaces()
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            others.add(number)
    notes = []
    if others:
        notes.append(f"{len(others)} items of the list are not objects and were left out: {others}")
    if single:
        notes += other_lists(items[0], source)
    return _read_rows(rows, decoded, source, notes)


def read_jsonl(data: bytes, source: SourceFile) -> Reading:
    """Read one document per line; ``row`` counts the values. Broken lines are noted.

    Objects over several lines, lists of objects and text sequences are read, too.

    Raises:
        RefusedError: not text.
        UnreadableError: no line is a JSON object, or no column for the text.
    """
    return _read_sequence(decode(data), source, None)


def _read_sequence(decoded: Decoded, source: SourceFile, problem: str | None) -> Reading:
    """``problem`` is why the text is no JSON document, which is told where no object is found."""
    broken = RecordPlaces()
    rows = list(_rows(decoded.text, broken))
    if not rows and (problem or broken):
        raise UnreadableError(problem or f"no line is a JSON object: lines {broken}")
    notes = [f"{len(broken)} lines are not JSON objects and were left out: lines {broken}"] if broken else []
    return _read_rows(rows, decoded, source, notes)


def _read_rows(rows: list[Row], decoded: Decoded, source: SourceFile, notes: list[str]) -> Reading:
    left: Counter[str] = Counter()
    typed = '"$' in decoded.text
    rows = [
        (number, in_current_branch(decode_extended_json(item) if typed else item, left))
        for number, item in rows
    ]
    columns = columns_of(rows)
    if source.columns is None and not names_text(columns, source):
        spoken = (name for _, row in rows[:_LOOKED_INTO] for name in row if is_spoken(row[name]))
        source = replace(source, columns=ColumnNames(text=next(spoken, None)))
    return reading_of_rows(
        rows, columns, source, encoding=decoded.encoding, notes=(*decoded.notes, *notes), left=left
    )


def _rows(text: str, broken: RecordPlaces) -> Iterator[Row]:
    number, last = 0, 0
    for line, value in _values(text):
        for item in value if isinstance(value, list) and value else [value]:
            if isinstance(item, Mapping):
                yield number, item
            elif line != last:
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
        over_lines = looked_at <= _MOST_LOOKED_AT
        try:
            value, place = _DECODER.raw_decode(text, start) if over_lines else _value_in_line(text, start)
            yield line, value
        except (ValueError, RecursionError):
            looked_at += start + _COST_OF_ERROR
            if text[start] in "[]":
                place = start + 1
                continue
            yield line, None
            following = (_NEXT if over_lines else _LINE_END).search(text, start)
            place = following.end() if following else len(text)
        line += text.count("\n", start, place)


def _value_in_line(text: str, start: int) -> tuple[object, int]:
    """The value that ends in the line where it begins, and its end; no error looks at the lines before."""
    end = _LINE_END.search(text, start)
    value, length = _DECODER.raw_decode(text[start : end.start() if end else len(text)])
    return value, start + length
