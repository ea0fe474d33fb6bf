"""Dates as programs store them: counts of seconds or days, and the formats of ISO 8601 and mail."""

import datetime
import re

_UTC = datetime.UTC
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
#: Day 0 of spreadsheets.
_SHEET_EPOCH = datetime.date(1899, 12, 30)
#: Seconds since 1970 of 1973 and of 2100; fewer and more are numbers of something else.
_FIRST_SECOND, _LAST_SECOND = 10**8, 4_102_444_800
#: Units of a count: seconds, and thousandths, millionths, billionths of them.
_UNITS = (1, 10**3, 10**6, 10**9)
_FIRST_DAY, _LAST_DAY = 20_000, 73_050
_NUMBER = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,12})?(?:[eE]\+?\d{1,2})?")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_OF_DATES = frozenset({
    "date", "dates", "datetime", "timestamp", "ts", "utc", "created", "updated", "modified", "published",
    "posted", "sent", "received", "edited", "epoch", "pubdate", "createdat", "updatedat", "at",
})  # fmt: skip
_LONGEST = 100


def holds_dates(name: str) -> bool:
    """Return whether the name of a column says that its values are dates.

    >>> holds_dates("lastModified"), holds_dates("posted_at"), holds_dates("update_count")
    (True, True, False)
    """
    words = [word.casefold() for word in _WORD.findall(name[:_LONGEST])]
    return bool(words) and (words[-1] in _OF_DATES or words[-2:] in (["create", "time"], ["update", "time"]))


def iso_date(value: object, column: str) -> str | None:
    """Return a stored date as ISO 8601 writes it, in UTC; None for what is none or is readable as it is.

    Known are seconds since 1970, also in thousandths, millionths or billionths, from 1973 to 2100, and in
    columns called a date days since 1899, as spreadsheets count them.

    >>> iso_date(1614852000, "created_at"), iso_date("44259", "date"), iso_date("1999", "date")
    ('2021-03-04T10:00:00Z', '2021-03-04', None)
    """
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip() if not isinstance(value, str) or len(value) <= _LONGEST else ""
    if not _NUMBER.fullmatch(text):
        return None
    moment = _parse_epoch(float(text))
    if moment:
        return _format_moment(moment)
    days = float(text)
    if _FIRST_DAY <= days <= _LAST_DAY and "date" in {word.casefold() for word in _WORD.findall(column)}:
        return (_SHEET_EPOCH + datetime.timedelta(days=int(days))).isoformat()
    return None


def iso_of_milliseconds(count: int) -> str | None:
    """Return as ISO 8601 writes it what is that many thousandths of a second after 1970 began, in UTC."""
    try:
        return _format_moment(_EPOCH + datetime.timedelta(milliseconds=count))
    except OverflowError:
        return None


def moment_of(value: object) -> datetime.datetime | None:
    """Return the day and time that a stored date says, as written there and without a time zone.

    Counts of seconds are in UTC. None for what is no day with a time.
    """
    if isinstance(value, str):
        text = value.strip()[:_LONGEST]
        if not _NUMBER.fullmatch(text):
            return _parse(text)
    written = iso_date(value, "")
    return _parse(written) if written else None


def _parse(text: str) -> datetime.datetime | None:
    from email.utils import parsedate_to_datetime

    for read in (datetime.datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return found.replace(tzinfo=None)
    return None


def _parse_epoch(number: float) -> datetime.datetime | None:
    for unit in _UNITS:
        if _FIRST_SECOND <= number / unit < _LAST_SECOND:
            return _EPOCH + datetime.timedelta(seconds=int(number / unit))
    return None


def _format_moment(moment: datetime.datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
