"""Rows of table-like files as records, and Parquet tables."""

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from graphrag_dagster.kernel.documents.column_roles import (
    TEXT,
    ChosenColumns,
    ColumnError,
    choose_columns,
    folded_name,
)
from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    RecordPlaces,
    RefusedError,
    SourceFile,
    UnreadableError,
    clean,
    error_line,
    json_value,
    note_of_counts,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.conversations import (
    VALUES_OF,
    SpokenMessage,
    message_text,
    messages_in,
    speech_lines,
)
from graphrag_dagster.kernel.documents.readers.data.stored_dates import holds_dates, iso_date
from graphrag_dagster.kernel.documents.text_decoding import UNDECODED, decode

Row = tuple[int, Mapping[str, object]]

#: Columns that hold a text together: what is asked, and what is answered.
_PAIRS = (
    *(("question", "answer"), ("prompt", "completion"), ("prompt", "response"), ("prompt", "chosen")),
    *(("instruction", "output"), ("instruction", "response"), ("input", "output"), ("query", "response")),
)


def reading_of_rows(
    rows: Iterable[Row],
    columns: Sequence[str],
    source: SourceFile,
    *,
    encoding: str | None = None,
    notes: Iterable[str] = (),
    remarks: Iterable[str] = (),
    also: Sequence[str] = (),
    left: Counter[str] | None = None,
) -> Reading:
    """Return one record per row ``(number, values)`` that has text; rows without are counted in the notes.

    ``notes`` and ``remarks`` are taken when the last row was. ``also`` are keys of the values that are
    metadata besides the columns chosen for that. ``left`` counts what the rows have besides words, such as
    pictures, for a note.

    Raises:
        UnreadableError: a column that is needed does not exist, or there are too many rows or characters.
    """
    if not columns:
        return Reading((), encoding, tuple(notes), tuple(remarks))
    if pair := _question_answer_columns(columns, source):
        rows, columns = _speech_rows(rows, pair), ["text", *columns]
    try:
        chosen = choose_columns(source.columns, columns, source.path, (values for _, values in rows))
    except ColumnError as error:
        raise UnreadableError(str(error)) from error
    places = {name: place for place, name in enumerate([*chosen.metadata, *also])}
    left = Counter() if left is None else left
    records: list[FileRecord] = []
    blank, characters = RecordPlaces(), 0
    for number, values in rows:
        record = _record(number, values, chosen, places, left)
        if not record.text.strip():
            blank.add(number)
            continue
        records.append(record)
        characters += len(record.text)
        _check(len(records), characters, source)
    told = [*notes, *note_of_counts("left out", left)]
    if blank:
        told.append(f"{len(blank)} rows have no text in {chosen.text!r}: {blank}")
    return Reading(tuple(records), encoding, tuple(told), tuple(remarks))


def _question_answer_columns(columns: Sequence[str], source: SourceFile) -> tuple[str, str] | None:
    """The columns of what is asked and what is answered, where no other is known to hold the text."""
    folded = {folded_name(column): column for column in reversed(columns)}
    if (source.columns and source.columns.text) or any(name in folded for name in TEXT):
        return None
    found = ((folded.get(asked), folded.get(answered)) for asked, answered in _PAIRS)
    return next(((asked, answered) for asked, answered in found if asked and answered), None)


def _speech_rows(rows: Iterable[Row], pair: tuple[str, str]) -> Iterator[Row]:
    names = ("Question", "Answer") if folded_name(pair[0]) == "question" else ("User", "Assistant")
    for number, values in rows:
        parts = [(name, as_text(values.get(column))) for name, column in zip(names, pair, strict=True)]
        said = speech_lines(SpokenMessage(name, text) for name, text in parts if text.strip())
        yield number, {"text": said} | {key: value for key, value in values.items() if key not in pair}


def _check(documents: int, characters: int, source: SourceFile) -> None:
    if documents > source.limits.max_documents:
        raise UnreadableError(source.limits.over_limit_reason("max_documents", "rows with text"))
    if characters > source.limits.max_characters:
        raise UnreadableError(source.limits.over_limit_reason("max_characters", "characters of text"))


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the keys of all rows in order of first appearance."""
    return list(dict.fromkeys(str(key) for _, values in rows for key in values))


def as_text(value: object, left: Counter[str] | None = None) -> str:
    """Return a cell as text: lists of texts as lines, conversations as lines of speech, parts of content and
    rich text as their words, other structures as JSON, nothing as ``""``.

    ``left`` counts what has no words.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | dict):
        left = Counter() if left is None else left
        messages = messages_in(value, left)
        if messages is not None:
            return clean(speech_lines(messages))
        found: Counter[str] = Counter()
        words = message_text(value, found)
        if words.strip() or any(not what.startswith(VALUES_OF) for what in found):
            left.update(found)
            return clean(words)
        return json.dumps(json_value(value), ensure_ascii=False) if value else ""
    if isinstance(value, bytes):
        return _decoded_cell(value, Counter() if left is None else left)
    return str(json_value(value)) if isinstance(value, int) else str(value)


def _decoded_cell(value: bytes, left: Counter[str]) -> str:
    try:
        decoded = decode(value)
    except RefusedError:
        left["values that are no text"] += 1
        return ""
    left.update({UNDECODED: decoded.replaced} if decoded.replaced else {})
    return decoded.text


def _record(
    number: int,
    values: Mapping[str, object],
    chosen: ChosenColumns,
    places: Mapping[str, int],
    left: Counter[str],
) -> FileRecord:
    # Only what the row has: rows of a thousand objects may have a thousand keys each of their own.
    kept = sorted((name for name in values if name in places), key=places.__getitem__)
    text = as_text(values.get(chosen.text), left)
    date = iso_date(values.get(chosen.date), chosen.date) if chosen.date else None
    return FileRecord(
        text,
        title=_cell(values, chosen.title),
        source_id=_cell(values, chosen.id),
        date=date or _cell(values, chosen.date),
        metadata={
            name: _metadata_value(name, values[name]) for name in kept if values[name] not in (None, "")
        },
        row=number,
    )


def _metadata_value(name: str, value: object) -> object:
    return (iso_date(value, name) if holds_dates(name) else None) or value


def _cell(values: Mapping[str, object], column: str | None) -> str | None:
    return one_line(as_text(values.get(column))) if column else None


def read_parquet(data: bytes, source: SourceFile) -> Reading:
    """Read one document per row.

    Raises:
        UnreadableError: damaged, without a column for the text, or beyond a limit.
    """
    import polars as pl

    limits = source.limits
    try:
        frame = pl.read_parquet(io.BytesIO(data), n_rows=limits.max_documents + 1)
    except MemoryError:
        raise
    # A panic of the native library is no Exception.
    except (Exception, pl.exceptions.PanicException) as error:
        raise UnreadableError(f"not a readable Parquet file: {error_line(error)}") from error
    if frame.height > limits.max_documents:
        raise UnreadableError(limits.over_limit_reason("max_documents", "rows"))
    return reading_of_rows(enumerate(frame.iter_rows(named=True)), frame.columns, source)
