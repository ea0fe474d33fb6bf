"""A period of the calendar, and those that are made of its parts; a part that does not exist makes none."""

import calendar
import datetime
from dataclasses import dataclass

_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
#: Two figures of a year from this on are of the last century.
_LAST_CENTURY = 70
#: Years from a first to a last that are taken for a period.
_LONGEST = 100


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """Days from ``start`` to ``end``, both of them in it."""

    start: datetime.date
    end: datetime.date

    @property
    def years(self) -> int:
        """From the year of the first day to that of the last."""
        return self.end.year - self.start.year

    def overlaps(self, other: "Period") -> bool:
        """Whether a day is in both."""
        return self.start <= other.end and other.start <= self.end

    def within(self, other: "Period") -> bool:
        """Whether all days are in the other one."""
        return other.start <= self.start and self.end <= other.end


def day(year: int, month: int, day_of_month: int) -> Period | None:
    """Return a day."""
    try:
        found = datetime.date(year, month, day_of_month)
    except ValueError:
        return None
    return Period(found, found)


def months(year: int, first: int, last: int) -> Period | None:
    """Return the months ``first`` to ``last`` of a year; months beyond 12 are of the year after."""
    if not (1 <= first <= 12 and first <= last <= 24 and 1 <= year < datetime.MAXYEAR):
        return None
    end_year, end_month = year + (last - 1) // 12, (last - 1) % 12 + 1
    end = datetime.date(end_year, end_month, calendar.monthrange(end_year, end_month)[1])
    return Period(datetime.date(year, first, 1), end)


def quarter(year: int, number: int) -> Period | None:
    """Return a quarter of the calendar year, 1–4."""
    return months(year, 3 * number - 2, 3 * number) if 1 <= number <= 4 else None


def half(year: int, number: int) -> Period | None:
    """Return a half of the calendar year, 1 or 2."""
    return months(year, 6 * number - 5, 6 * number) if number in (1, 2) else None


def years(first: int, last: int) -> Period | None:
    """Return whole years, at most a hundred."""
    if not 0 <= last - first < _LONGEST or not 1 <= first <= last <= datetime.MAXYEAR:
        return None
    return Period(datetime.date(first, 1, 1), datetime.date(last, 12, 31))


def week(year: int, number: int, weekday: int | None = None) -> Period | None:
    """Return a week of ISO 8601, or a day of it, 1 for Monday."""
    try:
        start = datetime.date.fromisocalendar(year, number, weekday or 1)
        return Period(start, start + datetime.timedelta(days=0 if weekday else 6))
    except (ValueError, OverflowError):
        return None


def season(name: str, year: int) -> Period | None:
    """Return three whole months; winter begins in December of the year."""
    first = _SEASONS[name]
    return months(year, first, first + 2)


def whole_year(figures: str) -> int:
    """Return the year of four figures, or of two: 70 to 99 are of the last century.

    >>> whole_year("24"), whole_year("99"), whole_year("1911")
    (2024, 1999, 1911)
    """
    number = int(figures)
    if len(figures) > 2:
        return number
    return number + (1900 if number >= _LAST_CENTURY else 2000)


def last_year(first: int, figures: str) -> int:
    """Return the last year of ``2016-17`` or ``1998-2001``, the first year given.

    >>> last_year(2016, "17"), last_year(1999, "00"), last_year(1998, "2001")
    (2017, 2000, 2001)
    """
    if len(figures) > 2:
        return int(figures)
    found = first - first % 100 + int(figures)
    return found if found >= first else found + 100
