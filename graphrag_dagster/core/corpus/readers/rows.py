"""From the rows of a table-like file to records."""

import json
from collections.abc import Mapping, Sequence

from graphrag_dagster.core.corpus.columns import ChosenColumns, ColumnError, choose
from graphrag_dagster.core.corpus.records import (
    Reading,
    Record,
    Source,
    UnreadableError,
    clean,
    listed,
    one_line,
)

Row = tuple[int, Mapping[str, object]]


def reading_of_rows(
    rows: Sequence[Row],
    columns: Sequence[str],
    source: Source,
    *,
    encoding: str | None = None,
    notes: Sequence[str] = (),
) -> Reading:
    """Return one record per row ``(number, values)`` that has text; rows without are counted in the notes.

    Raises:
        UnreadableError: a column that is needed does not exist.
    """
    if not rows and not columns:
        return Reading((), encoding, tuple(notes))
    try:
        chosen = choose(source.columns, columns, source.path)
    except ColumnError as error:
        raise UnreadableError(str(error)) from error
    records = [_record(number, values, chosen) for number, values in rows]
    blank = [record.row for record in records if record.row is not None and not record.text.strip()]
    notes = list(notes)
    if blank:
        notes.append(f"{len(blank)} rows have no text in {chosen.text!r}: {listed(blank)}")
    return Reading(tuple(record for record in records if record.text.strip()), encoding, tuple(notes))


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the keys of all rows in order of first appearance."""
    return list(dict.fromkeys(str(key) for _, values in rows for key in values))


def as_text(value: object) -> str:
    """Return a cell as text: lists of texts as lines, other structures as JSON, nothing as ``""``."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return clean("\n".join(value))
    if isinstance(value, list | dict):
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    if isinstance(value, bytes):
        return clean(value.decode("utf-8", "replace"))
    return str(value)


def _record(number: int, values: Mapping[str, object], chosen: ChosenColumns) -> Record:
    return Record(
        as_text(values.get(chosen.text)),
        title=_cell(values, chosen.title),
        source_id=_cell(values, chosen.id),
        date=_cell(values, chosen.date),
        metadata={name: values.get(name) for name in chosen.metadata},
        row=number,
    )


def _cell(values: Mapping[str, object], column: str | None) -> str | None:
    return one_line(as_text(values.get(column))) if column else None
