"""Reads the days and periods that documents are about from their metadata and text."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

import polars as pl

from graphrag_dagster.kernel.documents.metadata import LONGEST_VALUE, values_in
from graphrag_dagster.kernel.tables import DOCUMENT_PERIODS
from graphrag_dagster.kernel.text.period_reading import Named, month_first_in, periods_in

#: Words of keys whose values are dates of the document, and of those that add the year to them.
_DATES = frozenset(
    {
        *("date", "dated", "day", "month", "quarter", "period", "fiscal", "year", "week", "season"),
        *("published", "publication", "issued", "recorded", "meeting", "held"),
    }
)
_YEARS = frozenset({"year", "fy"})
_PARTS = frozenset({"month", "quarter", "week", "season", "half"})
#: Dates of other things than the document.
_OTHERS = frozenset(
    ("birth", "born", "death", "died", "updated", "modified", "accessed", "retrieved", "deadline", "due")
)
_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN_WORDS = re.compile(r"(?<!\d)[-_]+|[-_]+(?!\d)")
_MOST_PERIODS, _LINES, _BEGINNING = 8, 5, 600
#: A year alone among the first lines is seldom the document's.
_TOO_WIDE = ("year", "years")
#: As many years are rather the span of a life than that of a document.
_MANY_YEARS = 5


class _Told(NamedTuple):
    document_id: str
    path: str
    row: int | None
    title: str
    date: str | None
    metadata: str
    beginning: str


def periods_of(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ``corpus.document_periods`` for rows of ``corpus.documents``.

    Looked at are, in this order, the date that the file gives, its other values whose key speaks of a date,
    the title, the path, and the first five lines of a text that is no row of a table; what spans years comes
    last. Each period counts once, and eight at most. Where day and month of a file's dates may stand in
    either order, the others of the file decide, and where none does, the day is first.
    """
    told = [
        _Told(*row)
        for row in documents.select(
            *("document_id", "path", "row", "title", "date", "metadata"),
            pl.col("text").str.slice(0, _BEGINNING),
        ).iter_rows()
    ]
    orders = _orders(told)
    return DOCUMENT_PERIODS.frame(row for one in told for row in _rows(one, orders[one.path]))


def _rows(told: _Told, month_first: bool) -> Iterator[dict[str, object]]:
    found: dict[object, tuple[str, Named]] = {}
    for found_in, text in _looked_at(told):
        periods = periods_in(text, month_first=month_first)
        if found_in == "beginning":
            # What stands further on is what the document speaks of.
            periods = [named for named in periods if named.form not in _TOO_WIDE][:1]
        for named in periods:
            found.setdefault(named.period, (found_in, named))
    ordered = sorted(found.values(), key=lambda one: one[1].period.years >= _MANY_YEARS)
    for position, (found_in, named) in enumerate(ordered[:_MOST_PERIODS]):
        yield {
            "document_id": told.document_id,
            "position": position,
            "period_start": named.period.start,
            "period_end": named.period.end,
            "form": named.form,
            "found_in": found_in,
            "words": named.words,
            "ambiguous": named.ambiguous,
        }


def _looked_at(told: _Told) -> Iterator[tuple[str, str]]:
    if told.date:
        yield "date", told.date
    yield from (("metadata", text) for text in _dates_of(told.metadata))
    yield "title", spaced(told.title)
    yield "path", spaced(path_without_extension(told.path).replace("/", "-"))
    if told.row is None:
        lines = filter(None, map(str.strip, told.beginning.splitlines()))
        yield "beginning", "\n".join(islice(lines, _LINES))


def _dates_of(metadata: str) -> Iterator[str]:
    """Values whose key speaks of a date; a quarter or month beside a year is joined with it."""
    dates = []
    for key, value in values_in(metadata):
        words = {word.casefold() for word in _WORD.findall(key)}
        if words & (_DATES | _YEARS) and not words & _OTHERS and len(text := str(value)) <= LONGEST_VALUE:
            dates.append((words, text))
    year = next((text for words, text in dates if words & _YEARS), None)
    for words, text in dates:
        yield f"{text} {year}" if year and words & _PARTS and not words & _YEARS else text


def _orders(told: list[_Told]) -> dict[str, bool]:
    texts: dict[str, list[str]] = defaultdict(list)
    for one in told:
        texts[one.path] += [text for _, text in _looked_at(one)]
    return {path: month_first_in(found) for path, found in texts.items()}


def path_without_extension(path: str) -> str:
    """Return a path without the extension of its file."""
    return str(PurePosixPath(path).with_suffix(""))


def spaced(name: str) -> str:
    """Return a name with blanks for the hyphens and underscores that stand between words.

    >>> spaced("annual-report_2023-04-12")
    'annual report 2023-04-12'
    """
    return _BETWEEN_WORDS.sub(" ", name)
