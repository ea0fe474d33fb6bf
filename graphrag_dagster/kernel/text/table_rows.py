"""Rows of tables in a text, in whatever form they stand: bars, tabs, columns, signs, labels."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from graphrag_dagster.kernel.text.markup_spans import Span

_RULE = re.compile(r"[\s|:+=-]*[-=]{2,}[\s|:+=-]*\Z")
_BARS = re.compile(r"\s*\|.*\|\s*\Z|.*\S \| \S")
_COLUMNS = re.compile(r"\S(?: {2,}|\t)\S")
_SIGNS = {"commas": ",", "semicolons": ";"}
_LABEL = re.compile(r"\s*(?:[-*+•] )?(?P<label>[^\W_][^:|\n]{0,60}?)\s*:\s+(?P<value>\S.{0,60}(?<![.?!]))\Z")
_MOST_LEADING = 2
#: Fewest lines of a table of a form, where the text goes on before and after it.
_FEWEST = {"bars": 2, "columns": 3, "commas": 3, "semicolons": 3, "labels": 2}


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells of a row without the white space around them, and the span of its words in the text."""

    cells: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table in a text: its rows, whether a rule stands below the first, and where its lines are.

    ``form``: bars, columns, commas, semicolons or labels.
    """

    form: str
    rows: tuple[TableRow, ...]
    ruled: bool
    span: Span

    @property
    def header(self) -> tuple[TableRow, ...]:
        """The rows that name the columns: at most two without figures above rows that all have some; else the
        first of a table with bars, or with a rule below it.
        """
        if self.form == "labels" or len(self.rows) < 2:
            return ()
        figures = [any(map(_has_digit, row.cells)) for row in self.rows]
        lead = figures.index(True) if True in figures else 0
        if not self.ruled and 0 < lead <= _MOST_LEADING and all(figures[lead:]):
            return self.rows[:lead]
        return self.rows[:1] if self.ruled or self.form == "bars" else ()


def _has_digit(cell: str) -> bool:
    return any(map(str.isdigit, cell))


def is_row(line: str) -> bool:
    """Return whether a line looks like a row of a table."""
    return bool(_form(line))


def tables_of(text: str) -> Iterator[TextTable]:
    """Yield the tables of a text in order; at its ends one may be a part of one, down to a single row."""
    lines = list(_lines(text))
    place = 0
    for form, group in groupby(lines, key=lambda line: _form(line[1])):
        block = list(group)
        at_end = place == 0 or place + len(block) == len(lines)
        place += len(block)
        if form:
            rows = [
                row for start, line in block if not _RULE.match(line) and (row := _row(form, start, line))
            ]
            if len(rows) >= (1 if at_end else _FEWEST[form]) and _is_table(form, rows):
                ruled = len(block) > 1 and _RULE.match(block[1][1]) is not None
                yield TextTable(form, tuple(rows), ruled, Span(block[0][0], block[-1][0] + len(block[-1][1])))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, and where they begin; of several blank ones one stays, which ends a table."""
    start, blank = 0, True
    for line in text.split("\n"):
        if line.strip() or not blank:
            yield start, line
        blank = not line.strip()
        start += len(line) + 1


def _form(line: str) -> str:
    if _RULE.match(line) or _BARS.match(line):
        return "bars"
    if _COLUMNS.search(line.strip()):
        return "columns"
    if _LABEL.match(line):
        return "labels"
    if line.rstrip().endswith((".", "?", "!", ":")):
        return ""
    return next((form for form, sign in _SIGNS.items() if sign in line), "")


def _row(form: str, start: int, line: str) -> TableRow | None:
    bare = line.strip().strip("|").strip() if form == "bars" else line.strip()
    if not bare:
        return None
    if form == "bars":
        cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    elif form == "columns":
        cells = re.split(r" {2,}|\t", bare)
    elif form == "labels":
        label = _LABEL.match(line)
        cells = [label["label"], label["value"]] if label else []
    else:
        cells = next(csv.reader([bare], delimiter=_SIGNS[form], skipinitialspace=True), [])
    begin = start + line.index(bare)
    return TableRow(tuple(" ".join(cell.split()) for cell in cells), Span(begin, begin + len(bare)))


def _is_table(form: str, rows: list[TableRow]) -> bool:
    """Whether lines are rows: those with commas have equally many, those with labels are no conversation."""
    if form == "labels":
        return len({row.cells[0] for row in rows}) == len(rows)
    return form not in _SIGNS or len({len(row.cells) for row in rows}) == 1
