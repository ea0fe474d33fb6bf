"""Comma-, semicolon- and tab-separated tables."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from graphrag_dagster.core.corpus.decoding import decode
from graphrag_dagster.core.corpus.readers.rows import Row, reading_of_rows
from graphrag_dagster.core.corpus.records import Reading, Source, listed

EXTRA_FIELDS = "extra_fields"

_DELIMITERS = ",;\t|"
#: Stands for "no delimiter" where a file has one column: a character that texts do not contain.
_NONE = "\x1f"
_SNIFFED_ROWS = 50
_SNIFFED_CHARACTERS = 1_000_000
_FIELD_LIMIT = 2**31 - 1


def read_csv(data: bytes, source: Source) -> Reading:
    """Read one document per row; the first row names the columns. The delimiter is found out.

    Raises:
        RefusedError: not text.
        UnreadableError: no column for the text.
    """
    return _read(data, source, None)


def read_tsv(data: bytes, source: Source) -> Reading:
    """As :func:`read_csv`, with tabs between the fields."""
    return _read(data, source, "\t")


def _read(data: bytes, source: Source, delimiter: str | None) -> Reading:
    decoded = decode(data)
    notes = list(decoded.notes)
    if not decoded.text.strip():
        return Reading((), decoded.encoding, decoded.notes)
    parsed, note = _parsed(decoded.text, delimiter or sniff_delimiter(decoded.text))
    notes += [note] if note else []
    header = _unique(parsed[0])
    rows, ragged = _rows(header, parsed[1:])
    if ragged:
        notes.append(
            f"{len(ragged)} rows have more or fewer fields than the header has names ({len(header)}): "
            f"{listed(ragged)}; surplus fields are kept in the metadata as {EXTRA_FIELDS}"
        )
    return _with_extras(
        reading_of_rows(rows, header, source, encoding=decoded.encoding, notes=notes), dict(rows)
    )


def sniff_delimiter(text: str) -> str:
    """Return the delimiter under which most of the first rows have as many fields as the header."""

    def fitness(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(_lines(text[:_SNIFFED_CHARACTERS]), delimiter=delimiter)
        try:
            widths = [len(row) for row in islice(reader, _SNIFFED_ROWS) if row]
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return Counter(widths)[widths[0]] / len(widths), widths[0]

    csv.field_size_limit(_FIELD_LIMIT)
    best = max(_DELIMITERS, key=fitness)
    return best if fitness(best)[1] > 1 else _NONE


def _lines(text: str) -> Sequence[str]:
    # Not splitlines: it also splits at separators that may stand inside a field.
    return [line + "\n" for line in text.split("\n")]


def _parsed(text: str, delimiter: str) -> tuple[list[list[str]], str | None]:
    csv.field_size_limit(_FIELD_LIMIT)
    lines = _lines(text)
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row], None
    except csv.Error as error:
        strict_problem = error
    reader = csv.reader(lines, delimiter=delimiter)
    rows = [row for row in reader if row]
    return rows, f"quoting is broken somewhere and was read leniently ({strict_problem})"


def _unique(names: Sequence[str]) -> list[str]:
    unique: list[str] = []
    for place, name in enumerate(names, start=1):
        wanted = name.strip() or f"column_{place}"
        candidate, count = wanted, 2
        while candidate in unique:
            candidate, count = f"{wanted}_{count}", count + 1
        unique.append(candidate)
    return unique


def _rows(header: Sequence[str], parsed: Sequence[Sequence[str]]) -> tuple[list[Row], list[int]]:
    rows: list[Row] = []
    ragged = []
    for number, fields in enumerate(parsed):
        values: dict[str, object] = dict(zip(header, fields, strict=False))
        if len(fields) != len(header):
            ragged.append(number)
        if len(fields) > len(header):
            values[EXTRA_FIELDS] = list(fields[len(header) :])
        rows.append((number, values))
    return rows, ragged


def _with_extras(reading: Reading, rows: Mapping[int, Mapping[str, object]]) -> Reading:
    def completed(number: int) -> Mapping[str, object]:
        extra = rows[number].get(EXTRA_FIELDS)
        return {EXTRA_FIELDS: extra} if extra else {}

    records = (
        replace(record, metadata={**record.metadata, **completed(record.row or 0)})
        for record in reading.records
    )
    return replace(reading, records=tuple(records))
