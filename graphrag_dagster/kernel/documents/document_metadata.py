"""Metadata of documents as typed values, and the days and periods that documents are about."""

import datetime
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

import polars as pl

from graphrag_dagster.kernel.documents.readers.data.stored_dates import iso_date
from graphrag_dagster.kernel.tables.core_tables import DOCUMENT_METADATA, DOCUMENT_PERIODS
from graphrag_dagster.kernel.text.periods import NamedPeriod, Period, month_first_in, only_period, periods_in

Type = Literal["text", "number", "boolean", "date"]

#: Zeros in front make a code of figures, not a number.
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_TIME = re.compile(r"(?<=\d)[ T]\d\d:\d\d.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Value:
    """A value: the text as written, and beside it whatever else it can be read as.

    ``2019`` is a number, and a year too. ``type`` is the first that holds of number, boolean, date, text.
    """

    text: str
    number: float | None = None
    boolean: bool | None = None
    period: Period | None = None

    @property
    def type(self) -> Type:
        """What the value reads as first of all."""
        if self.number is not None:
            return "number"
        if self.boolean is not None:
            return "boolean"
        return "text" if self.period is None else "date"

    def columns(self) -> dict[str, object]:
        """Return the value as columns of ``corpus.document_metadata``."""
        return {
            "type": self.type,
            "text": self.text,
            "number": self.number,
            "boolean": self.boolean,
            "date_start": self.period.start if self.period else None,
            "date_end": self.period.end if self.period else None,
        }


def value_of(written: object, *, month_first: bool = False) -> Value:
    """Return what a value reads as.

    Args:
        written: a text, number, boolean, date or anything else, which is taken as its text.
        month_first: order of a date such as 03/04/2019.

    >>> value_of("2,500").number, value_of("007").number, value_of("Yes").boolean
    (2500.0, None, True)
    """
    if isinstance(written, bool):
        return Value("true" if written else "false", boolean=written)
    if isinstance(written, datetime.date):
        written = written.isoformat()
    text = " ".join(str(written).split())
    named = only_period(_TIME.sub("", text), month_first=month_first)
    return Value(text, _number(text), _BOOLEANS.get(text.casefold()), named.period if named else None)


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text.replace(",", ""))
    return number if math.isfinite(number) else None


#: A longer text is no value that anybody filters by.
LONGEST_VALUE = 1_000
#: Values of one document that are taken: a file of rows may hold a thousand columns, and lists in each.
_MOST_VALUES = 2_000


def metadata_of(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ``corpus.document_metadata`` for rows of ``corpus.documents``.

    Everything else of the metadata stays in ``corpus.documents``.
    """
    return DOCUMENT_METADATA.frame(
        row
        for document_id, metadata in documents.select("document_id", "metadata").iter_rows()
        for row in _metadata_rows(document_id, metadata)
    )


def values_in(metadata: str) -> Iterator[tuple[str, object]]:
    """Yield the values of a JSON object with their keys, those inside others under keys with dots."""
    found = json.loads(metadata) if metadata else {}
    yield from _values("", found if isinstance(found, Mapping) else {})


def _metadata_rows(document_id: str, metadata: str) -> Iterator[dict[str, object]]:
    places: Counter[str] = Counter()
    for key, written in values_in(metadata):
        value = value_of(written)
        if not value.text or len(value.text) > LONGEST_VALUE:
            continue
        yield {
            "document_id": document_id,
            "key": key,
            "position": places[key],
            **value.columns(),
        }
        places[key] += 1
        if places.total() == _MOST_VALUES:
            return


def _values(key: str, written: object) -> Iterator[tuple[str, object]]:
    if isinstance(written, Mapping):
        for name, inner in written.items():
            yield from _values(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(written, list):
        for inner in written:
            yield from _values(key, inner)
    elif written is not None:
        yield key, written


#: Words of keys whose values are dates of the document, and of those that add the year to them.
_DATES = frozenset(
    {
        *("date", "dated", "day", "month", "quarter", "period", "fiscal", "year", "week", "season"),
        *("published", "publication", "issued", "recorded", "meeting", "held"),
    }
)
_YEARS = frozenset({"year", "fy"})
#: Keys of messages, whose values may be seconds or milliseconds since 1970.
_STAMPS = frozenset({"timestamp", "ts", "epoch", "sent", "posted"})
_PARTS = frozenset({"month", "quarter", "week", "season", "half"})
#: Dates of other things than the document.
_OTHERS = frozenset(
    ("birth", "born", "death", "died", "updated", "modified", "accessed", "retrieved", "deadline", "due")
)
_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN_WORDS = re.compile(r"(?<!\d)[-_]+|[-_]+(?!\d)")
#: Where a word begins inside a name: at a capital, between small letters and digits, and at a fiscal year.
_WORD_BEGINS = re.compile(
    r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z]?[a-z]{3}|[A-Z][a-z])"
    r"|(?<=[a-z]{3})(?=\d)|(?<=[A-Z])(?=FY\d)"
)
_MOST_PERIODS, _LINES, _HEAD_CHARACTERS = 8, 5, 600
#: A year alone among the first lines is seldom the document's.
_TOO_WIDE = ("year", "years")
#: As many years are rather the span of a life than that of a document.
_MANY_YEARS = 5


class _DocumentRow(NamedTuple):
    document_id: str
    path: str
    row: int | None
    title: str
    date: str | None
    metadata: str
    first_lines: str


def periods_of(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ``corpus.document_periods`` for rows of ``corpus.documents``.

    Looked at are, in this order, the date that the file gives, its other values whose key speaks of a date,
    the title, the path, and the first five lines of a text that is no row of a table; what spans years comes
    last. Each period counts once, and eight at most. Where day and month of a file's dates may stand in
    either order, the others of the file decide, and where none does, the day is first.
    """
    told = [
        _DocumentRow(*row)
        for row in documents.select(
            *("document_id", "path", "row", "title", "date", "metadata"),
            pl.col("text").str.slice(0, _HEAD_CHARACTERS),
        ).iter_rows()
    ]
    orders = _month_first_by_key(told)
    return DOCUMENT_PERIODS.frame(row for one in told for row in _rows(one, orders[one.path]))


def _rows(told: _DocumentRow, month_first: bool) -> Iterator[dict[str, object]]:
    found: dict[object, tuple[str, NamedPeriod]] = {}
    for found_in, text in _period_sources(told):
        periods = periods_in(text, month_first=month_first)
        if found_in == "first_lines":
            # What stands further on is what the document speaks of; a fiscal period has a day beside it.
            narrow = [named for named in periods if named.form not in _TOO_WIDE]
            fiscal = [named for named in narrow if named.form == "fiscal"][:1]
            periods = (
                [*fiscal, *[named for named in narrow if named.form != "fiscal"][:1]]
                if fiscal
                else narrow[:1]
            )
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


def _period_sources(told: _DocumentRow) -> Iterator[tuple[str, str]]:
    if told.date:
        yield "date", told.date
    yield from (("metadata", text) for text in _date_values(told.metadata))
    yield "title", name_parts(told.title)
    yield "path", name_parts(path_without_extension(told.path).replace("/", "-"))
    if told.row is None:
        lines = filter(None, map(str.strip, told.first_lines.splitlines()))
        yield "first_lines", "\n".join(islice(lines, _LINES))


def _date_values(metadata: str) -> Iterator[str]:
    """Values whose key speaks of a date; a quarter or month beside a year is joined with it."""
    dates = []
    for key, value in values_in(metadata):
        words = {word.casefold() for word in _WORD.findall(key)}
        is_date = words & (_DATES | _YEARS | _STAMPS) and not words & _OTHERS
        if is_date and len(text := str(value)) <= LONGEST_VALUE:
            stamp = iso_date(text, key)
            dates.append((words, stamp[:10] if stamp else text))
    year = next((text for words, text in dates if words & _YEARS), None)
    for words, text in dates:
        yield f"{text} {year}" if year and words & _PARTS and not words & _YEARS else text


def _month_first_by_key(told: list[_DocumentRow]) -> dict[str, bool]:
    texts: dict[str, list[str]] = defaultdict(list)
    for one in told:
        texts[one.path] += [text for _, text in _period_sources(one)]
    return {path: month_first_in(found) for path, found in texts.items()}


def path_without_extension(path: str) -> str:
    """Return a path without the extension of its file."""
    return str(PurePosixPath(path).with_suffix(""))


def with_spaces(name: str) -> str:
    """Return a name with blanks for the hyphens and underscores that stand between words.

    >>> with_spaces("annual-report_2023-04-12")
    'annual report 2023-04-12'
    """
    return _BETWEEN_WORDS.sub(" ", name)


def name_parts(name: str) -> str:
    """Return a name with blanks between its words, also where only capitals or digits part them.

    A name with blanks is written in words already and is split at hyphens and underscores alone.

    >>> name_parts("TranscriptFY24Q2"), name_parts("minutes25July2019"), name_parts("2009-04-at")
    ('Transcript FY24Q2', 'minutes 25 July 2019', '2009-04 at')
    """
    spaced = with_spaces(name)
    return spaced if " " in name else _WORD_BEGINS.sub(" ", spaced)
