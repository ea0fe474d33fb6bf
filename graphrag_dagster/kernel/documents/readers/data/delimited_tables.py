"""Comma-, semicolon- and tab-separated tables, and the lines before and between their rows."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from graphrag_dagster.kernel.common.printable import make_unique, plural
from graphrag_dagster.kernel.documents.column_roles import DATE, ID, TEXT, TITLE, ColumnNames, folded_name
from graphrag_dagster.kernel.documents.file_records import Reading, RecordPlaces, SourceFile, lines_of
from graphrag_dagster.kernel.documents.readers.data.row_records import Row, reading_of_rows
from graphrag_dagster.kernel.documents.text_decoding import Decoded, decode

EXTRA_FIELDS = "extra_fields"

_DELIMITERS = ",;\t|"
#: Stands for "no delimiter" where a file has one column: a character that texts do not contain.
_NONE = "\x00"
_SNIFFED_ROWS = 50
_SNIFFED_CHARACTERS = 1_000_000
_FIELD_LIMIT = 2**31 - 1
#: Lines before a header that are looked at.
_MOST_BEFORE = 50
_SEPARATOR = re.compile(r"[ \t]*\"?sep=(?P<sign>\\t|tab|[^\s\"]|\t| )?\"?[,;\t ]*\Z", re.IGNORECASE)
_RULE = re.compile(r"[-+=|\s_]*[-=]{2,}[-+=|\s_]*\Z")
_LINE_ENDS = re.compile(r"\n{2,}+")
#: Lines that are left out and say nothing that the table does not say.
_WITHOUT_WORDS = ("with the names of the columns again", "of dashes")
_LONGEST_SHOWN = 40


def read_csv(data: bytes, source: SourceFile) -> Reading:
    """Read one document per row. The delimiter and the row that names the columns are found out.

    A line ``sep=;`` names the delimiter. Lines before the header and comments are no rows; they are noted.

    Raises:
        RefusedError: not text.
        UnreadableError: no column for the text.
    """
    return _read(data, source, _DELIMITERS)


def read_tsv(data: bytes, source: SourceFile) -> Reading:
    """As :func:`read_csv`; the delimiter is a tab unless another one makes the columns known."""
    return _read(data, source, "\t")


@dataclass(frozen=True, slots=True)
class _Form:
    """Dialect of a table, and the position of the header among the rows that are not empty."""

    delimiter: str
    quoted: bool = True
    header: int = 0


def _read(data: bytes, source: SourceFile, usual: str) -> Reading:
    decoded = decode(data)
    if not decoded.text.strip():
        return Reading((), decoded.encoding, decoded.notes)
    csv.field_size_limit(_FIELD_LIMIT)
    text, named = _without_separator(decoded.text)
    form = _form(text, source.columns, named, usual)
    try:
        return _table(decoded, text, form, source)
    except csv.Error as error:
        problem = str(error) if _NONE not in str(error) else "words after a closing quotation mark"
    return _table(decoded, text, _lenient_form(text, form, usual), source, problem=problem)


def _without_separator(text: str) -> tuple[str, str | None]:
    """The text after a line such as ``sep=;``, and the delimiter that it names."""
    line, _, rest = text.lstrip("\n").partition("\n")
    found = _SEPARATOR.match(line)
    if not found:
        return text, None
    # A comma may stand for itself, or after the sign because the line was written as a row.
    sign = found["sign"] or line.strip().strip('"')[-1:]
    return rest, {"\\t": "\t", "tab": "\t", "TAB": "\t", "=": None}.get(sign, sign)


def _lenient_form(text: str, form: _Form, usual: str) -> _Form:
    """Quotation marks as letters where that gives more whole rows, and in files between tabs."""
    plain = _Form(form.delimiter, quoted=False, header=form.header)
    if usual == "\t" or _count_complete_rows(text, plain) > _count_complete_rows(text, form):
        return plain
    return form


def _count_complete_rows(text: str, form: _Form) -> int:
    rows = _parse_rows(text, form, strict=False)
    header = next(islice(rows, form.header, None), [])
    return sum(len(row) == len(header) for row in rows)


def _parse_rows(text: str, form: _Form, *, strict: bool) -> Iterator[list[str]]:
    """The rows that have any field."""
    lines = (line + "\n" for line in lines_of(text))
    return filter(
        None,
        csv.reader(
            lines,
            delimiter=form.delimiter,
            strict=strict,
            quoting=csv.QUOTE_MINIMAL if form.quoted else csv.QUOTE_NONE,
        ),
    )


def _table(
    decoded: Decoded, text: str, form: _Form, source: SourceFile, problem: str | None = None
) -> Reading:
    """``problem`` is why strict reading failed; the rows are then read leniently."""
    rows = _parse_rows(text, form, strict=problem is None)
    before = list(islice(rows, form.header))
    header = make_unique(
        name.strip().removeprefix("#").strip() or f"column_{place}"
        for place, name in enumerate(next(rows, []), start=1)
    )
    ragged = RecordPlaces()
    aside = {"before the header": [_words(row) for row in before if _words(row)]}

    def notes() -> Iterator[str]:
        yield from decoded.notes
        if problem:
            yield f"quoting is broken somewhere and was read leniently ({problem})"
        for where, lines in aside.items():
            if lines and where not in _WITHOUT_WORDS:
                yield _format_notes(where, lines)
        if ragged:
            yield (
                f"{len(ragged)} rows have more or fewer fields than the header has names ({len(header)}): "
                f"{ragged}; surplus fields are kept in the metadata as {EXTRA_FIELDS}"
            )

    return reading_of_rows(
        _rows(header, _data(header, rows, aside), ragged),
        header,
        source,
        encoding=decoded.encoding,
        notes=notes(),
        remarks=(_format_notes(where, aside[where]) for where in _WITHOUT_WORDS if where in aside),
        also=(EXTRA_FIELDS,),
    )


def _format_notes(where: str, lines: Sequence[str]) -> str:
    were, first = "was" if len(lines) == 1 else "were", lines[0]
    shown = first if len(first) <= _LONGEST_SHOWN else f"{first[:_LONGEST_SHOWN]}…"
    return f"{plural(len(lines), 'line')} {where} {were} left out, e.g. {shown!r}"


def _words(row: Sequence[str]) -> str:
    return " ".join(" ".join(row).split())


def _form(text: str, names: ColumnNames | None, named: str | None, usual: str) -> _Form:
    """The delimiter under which columns are known by their names, else the one that fits the rows."""
    sample = _LINE_ENDS.sub("\n", text[:_SNIFFED_CHARACTERS])
    tried = [named] if named else dict.fromkeys(usual + _DELIMITERS)
    best, most = None, (0, 0)
    for sign in tried:
        rows = _first_rows(sample, sign)
        header = _find_known_header(rows, names)
        if header is None:
            continue
        known = sum(_roles(rows[header], names).values())
        # One column of commas is known by its name under every delimiter.
        fits = (known, len(rows[header]) > 1)
        if fits > most:
            best, most = _Form(sign if len(rows[header]) > 1 else _NONE, header=header), fits
    if best:
        return best
    delimiter = named or ("\t" if usual == "\t" else sniff_delimiter(text))
    return _Form(delimiter, header=_first_full_row(_first_rows(sample, delimiter)))


def _first_rows(sample: str, delimiter: str) -> list[list[str]]:
    rows = []
    try:
        for row in islice(_parse_rows(sample, _Form(delimiter), strict=False), _MOST_BEFORE + _SNIFFED_ROWS):
            rows.append(row)
    except csv.Error:
        pass
    return rows


def _find_known_header(rows: Sequence[Sequence[str]], names: ColumnNames | None) -> int | None:
    """The place of the row that names a column for the text, or None.

    The first row may be that by any name that is known; one further down must name another column, too, or
    the one that was set: cells of a table may be words that also name columns.
    """
    for place, row in enumerate(rows[:_MOST_BEFORE]):
        roles = _roles(row, names)
        if roles["text"] and (place == 0 or sum(roles.values()) > 1 or (names and names.text)):
            return place
    return None


def _count_filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell.strip())


def _roles(row: Sequence[str], names: ColumnNames | None) -> dict[str, bool]:
    cells = {folded_name(cell.strip().removeprefix("#")) for cell in row}
    known = {"text": TEXT, "title": TITLE, "id": ID, "date": DATE}
    found = {role: any(name in cells for name in usual) for role, usual in known.items()}
    for role in known:
        given = getattr(names, role) if names else None
        if given:
            found[role] = folded_name(given) in cells
    return found


def _first_full_row(rows: Sequence[Sequence[str]]) -> int:
    """The first row that has as many filled cells as most rows have fields."""
    widths = Counter(len(row) for row in rows if _words(row))
    usual = max(widths, key=lambda width: (widths[width], width), default=0)
    full = (place for place, row in enumerate(rows[:_MOST_BEFORE]) if _count_filled(row) >= usual)
    return next(full, 0) if usual > 1 else 0


def _data(
    header: Sequence[str], rows: Iterator[list[str]], aside: dict[str, list[str]]
) -> Iterator[list[str]]:
    """The rows of the table alone; what else stands among them goes to ``aside``."""
    for row in rows:
        where = _non_row_kind(row, header)
        if not where:
            yield row
        elif words := _words(row):
            aside.setdefault(where, []).append(words)


def _non_row_kind(row: Sequence[str], header: Sequence[str]) -> str | None:
    """Kind of a row that is not part of the table, or None; no words of a row make it one."""
    if len(row) == 1 < len(header) and row[0].lstrip().startswith("#"):
        return "of comments"
    if row[0].strip() == header[0] and len(header) > 1 and [cell.strip() for cell in row] == list(header):
        return "with the names of the columns again"
    if len(header) > 1 and (_RULE.match(row[0]) if len(row) == 1 else all(_RULE.match(cell) for cell in row)):
        return "of dashes"
    return None


def sniff_delimiter(text: str) -> str:
    """Return the delimiter under which most of the first rows have as many fields as most rows have.

    "\\\\x00", which no text holds, where the rows have one field.
    """

    def fitness(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in _first_rows(sample, delimiter)[:_SNIFFED_ROWS]]
        if not widths:
            return 0.0, 0
        width, count = max(Counter(widths).items(), key=lambda one: (one[1], one[0]))
        return (count / len(widths), width) if width > 1 else (0.0, 0)

    csv.field_size_limit(_FIELD_LIMIT)
    sample = _LINE_ENDS.sub("\n", text[:_SNIFFED_CHARACTERS])
    best = max(_DELIMITERS, key=fitness)
    return best if fitness(best)[1] > 1 else _NONE


def _rows(header: Sequence[str], parsed: Iterable[Sequence[str]], ragged: RecordPlaces) -> Iterator[Row]:
    for number, fields in enumerate(parsed):
        values: dict[str, object] = {
            name: value for name, value in zip(header, fields, strict=False) if value and value != "\\N"
        }
        if len(fields) != len(header):
            ragged.add(number)
        if len(fields) > len(header):
            values[EXTRA_FIELDS] = list(fields[len(header) :])
        yield number, values
