"""Dates and periods of days as questions name them, in English or ISO 8601."""

import re
from calendar import month_name, monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = {
    name.lower()[:length]: number for number, name in enumerate(month_name) for length in (3, 9) if name
}
_MONTH = "|".join(sorted(map(str.lower, filter(None, month_name)), key=len, reverse=True))
_DATE = (
    rf"(?:\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH}),? \d{{4}}"
    rf"|(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|(?:{_MONTH}),? (?:of )?\d{{4}}|[12]\d{{3}})"
)
_END = r"(?=$|[\s,.;:?!)])"
#: The longest first: "from 2019 to 2021" is not "from 2019".
_PERIODS = tuple(
    (kind, re.compile(rf"\b{words}{_END}", re.IGNORECASE))
    for kind, words in (
        (
            "between",
            rf"(?:dated )?(?:between|from) (?P<a>{_DATE}) (?:and|to|until|till|through|-|–) (?P<b>{_DATE})",
        ),
        ("since", rf"(?:dated )?(?:since|from) (?P<a>{_DATE})(?: on(?:wards?)?)?"),
        ("after", rf"(?:dated )?after (?P<a>{_DATE})"),
        ("before", rf"(?:dated )?before (?P<a>{_DATE})"),
        ("until", rf"(?:dated )?(?:until|till|up to) (?P<a>{_DATE})"),
        ("in", rf"(?:dated|from|in|during|of|on|for)(?: the year| in)? (?P<a>{_DATE})"),
    )
)


class DateError(ValueError):
    """What is written as a date is none of the calendar, or a period ends before it begins."""


@dataclass(frozen=True, slots=True)
class Period:
    """Days from ``first`` to ``last``, both included; None is open."""

    first: date | None
    last: date | None

    def __str__(self) -> str:
        """As it stands in a sentence after *dated*."""
        if self.first and self.last:
            return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.first} or later" if self.first else f"{self.last} or earlier"


def period_in(text: str) -> tuple[Period | None, str]:
    """Return the period that a text names, None where it names none, and the text without it.

    >>> period_in("documents between 2019 and May 2020")
    (Period(first=datetime.date(2019, 1, 1), last=datetime.date(2020, 5, 31)), 'documents')

    Raises:
        DateError: there is no such day, or the period ends before it begins.
    """
    for kind, pattern in _PERIODS:
        if found := pattern.search(text):
            rest = " ".join((text[: found.start()] + " " + text[found.end() :]).split())
            days = [_days(one) for one in found.groupdict().values()]
            return _period(kind, days[0][0], days[-1][1], found[0]), rest
    return None, text


def _period(kind: str, first: date, last: date, said: str) -> Period:
    try:
        match kind:
            case "since":
                return Period(first, None)
            case "after":
                return Period(last + timedelta(days=1), None)
            case "before":
                return Period(None, first - timedelta(days=1))
            case "until":
                return Period(None, last)
    except OverflowError:
        raise DateError(f"{said}: there is no such day") from None
    if last < first:
        raise DateError(f"{said}: the period ends before it begins")
    return Period(first, last)


def _days(text: str) -> tuple[date, date]:
    """The first and the last day of a year, a month or a day."""
    numbers = list(_numbers(text))
    year = next(one for one in numbers if one > 999)
    named = next((_MONTHS[word] for word in re.findall("[a-z]+", text.lower()) if word in _MONTHS), None)
    small = [one for one in numbers if one <= 999]
    month, day = ((named, *small, None) if named else (*small, None, None))[:2]
    try:
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            return date(year, month, 1), date(year, month, monthrange(year, month)[1])
        return date(year, month, day), date(year, month, day)
    except ValueError:
        raise DateError(f"there is no {text.strip()} in the calendar") from None


def _numbers(text: str) -> Iterator[int]:
    yield from map(int, re.findall(r"\d+", text))
