"""Days to which a question limits documents, as in: since May 2019, between 2019 and 2021."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from graphrag_dagster.core.text.periods.reading import Named, impossible_in, periods_in

_DAY = timedelta(days=1)
_BEFORE = re.compile(
    r"\b(?:dated )?(?P<word>between|from|since|after|before|until|till|up to|dated|in|during|of|on|for)"
    r"(?: the)?(?: year| in)? $",
    re.IGNORECASE,
)
_AND = re.compile(r" (?:and|to|until|till|through|-|–) ", re.IGNORECASE)
_LIMITING = re.compile(rf"{_BEFORE.pattern}|{_AND.pattern}$", re.IGNORECASE)
_ONWARDS = re.compile(r" on(?:wards?)?\b", re.IGNORECASE)
_FROM_TO = re.compile(r"\s(?:to|and)\s|[–—]")


class DaysError(ValueError):
    """What is written as a day or period is none, may be two, or ends before it begins."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days from ``first`` to ``last``, both included; None is open."""

    first: date | None
    last: date | None

    def __str__(self) -> str:
        """As it stands in a sentence after *dated*."""
        if self.first and self.last:
            return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.first} or later" if self.first else f"{self.last} or earlier"


def days_in(text: str) -> tuple[Days | None, str]:
    """Return the days that a text is limited to, None where it names none, and the text without them.

    >>> days_in("documents between 2019 and May 2020")
    (Days(first=datetime.date(2019, 1, 1), last=datetime.date(2020, 5, 31)), 'documents')

    Raises:
        DaysError: there is no such day, it may be two, or the period ends before it begins.
    """
    for start, end in impossible_in(text):
        if _LIMITING.search(text[:start]):
            raise DaysError(f"there is no {text[start:end]} in the calendar")
    found = periods_in(text)
    for place, named in enumerate(found):
        if before := _BEFORE.search(text[: named.start]):
            word = before["word"].lower()
            last = _last(word, found[place : place + 2], text)
            if word == "between" and last is named and not _spans(named):
                continue
            days = _days(word, named, last)
            end = last.end
            if onwards := days.last is None and _ONWARDS.match(text, end):
                end = onwards.end()
            return days, " ".join(f"{text[: before.start()]} {text[end:]}".split())
    return None, text


def _last(word: str, named: list[Named], text: str) -> Named:
    """The second of two periods where a question speaks of the days from one to the other, else the first."""
    first, last = named[0], named[-1]
    between = _AND.fullmatch(text, first.end, last.start) if word in ("between", "from") else None
    return last if between else first


def _spans(named: Named) -> bool:
    """Whether a period says itself from when to when it lasts."""
    return named.form == "years" or bool(_FROM_TO.search(named.words))


def _days(word: str, named: Named, last: Named) -> Days:
    for one in (named, last):
        if one.ambiguous:
            raise DaysError(f"{one.words} may be {one.either}; write the year first")
    start, end = named.period.start, last.period.end
    if last is named:
        match word:
            case "since":
                return Days(start, None)
            case "from" if not _spans(named):
                return Days(start, None)
            case "after":
                return Days(end + _DAY, None)
            case "before":
                return Days(None, start - _DAY)
            case "until" | "till" | "up to":
                return Days(None, end)
    if end < start:
        raise DaysError(f"from {named.words} to {last.words}: the period ends before it begins")
    return Days(start, end)
