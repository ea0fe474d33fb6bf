"""Comma-, semicolon- and tab-separated tables."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from graphrag_dagster.core.files.columns import once_each
from graphrag_dagster.core.files.decoding import Decoded, decode
from graphrag_dagster.core.files.records import Places, Reading, Source, lines_of
from graphrag_dagster.core.readers.rows import Row, reading_of_rows

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
    if not decoded.text.strip():
        return Reading((), decoded.encoding, decoded.notes)
    csv.field_size_limit(_FIELD_LIMIT)
    delimiter = delimiter or sniff_delimiter(decoded.text)
    try:
        return _table(decoded, delimiter, source)
    except csv.Error as error:
        return _table(decoded, delimiter, source, problem=str(error))


def _table(decoded: Decoded, delimiter: str, source: Source, problem: str | None = None) -> Reading:
    """``problem`` is why strict reading failed; the rows are then read leniently."""
    lines = (line + "\n" for line in lines_of(decoded.text))
    rows = filter(None, csv.reader(lines, delimiter=delimiter, strict=problem is None))
    header = once_each(
        name.strip() or f"column_{place}" for place, name in enumerate(next(rows, []), start=1)
    )
    ragged = Places()

    def notes() -> Iterator[str]:
        yield from decoded.notes
        if problem:
            yield f"quoting is broken somewhere and was read leniently ({problem})"
        if ragged:
            yield (
                f"{len(ragged)} rows have more or fewer fields than the header has names ({len(header)}): "
                f"{ragged}; surplus fields are kept in the metadata as {EXTRA_FIELDS}"
            )

    return reading_of_rows(
        _rows(header, rows, ragged),
        header,
        source,
        encoding=decoded.encoding,
        notes=notes(),
        also=(EXTRA_FIELDS,),
    )


def sniff_delimiter(text: str) -> str:
    """Return the delimiter under which most of the first rows have as many fields as the header."""

    def fitness(delimiter: str) -> tuple[float, int]:
        lines = (line + "\n" for line in lines_of(text[:_SNIFFED_CHARACTERS]))
        reader = csv.reader(lines, delimiter=delimiter)
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


def _rows(header: Sequence[str], parsed: Iterable[Sequence[str]], ragged: Places) -> Iterator[Row]:
    for number, fields in enumerate(parsed):
        values: dict[str, object] = {
            name: value for name, value in zip(header, fields, strict=False) if value
        }
        if len(fields) != len(header):
            ragged.add(number)
        if len(fields) > len(header):
            values[EXTRA_FIELDS] = list(fields[len(header) :])
        yield number, values
