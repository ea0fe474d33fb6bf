"""Calendar periods, and the days and periods named in a text."""

import calendar
import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
#: Two-digit years from here on belong to the last century.
_LAST_CENTURY = 70
#: Most years in a range that counts as a period.
_LONGEST = 100


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """Days from ``start`` to ``end``, both inclusive."""

    start: datetime.date
    end: datetime.date

    @property
    def years(self) -> int:
        """Difference between the years of the last and the first day."""
        return self.end.year - self.start.year

    def within(self, other: "Period") -> bool:
        """Whether all days are in the other period."""
        return other.start <= self.start and self.end <= other.end


def day(year: int, month: int, day_of_month: int) -> Period | None:
    """Return a day as a period; None if the date does not exist."""
    try:
        date = datetime.date(year, month, day_of_month)
    except ValueError:
        return None
    return Period(date, date)


def months(year: int, first: int, last: int) -> Period | None:
    """Return the months ``first`` to ``last`` of a year; months beyond 12 are in the next year."""
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
    """Return an ISO 8601 week, or a day of it, 1 for Monday."""
    try:
        start = datetime.date.fromisocalendar(year, number, weekday or 1)
        return Period(start, start + datetime.timedelta(days=0 if weekday else 6))
    except (ValueError, OverflowError):
        return None


def season(name: str, year: int) -> Period | None:
    """Return the three months of a season; winter begins in December of the year."""
    first = _SEASONS[name]
    return months(year, first, first + 2)


def whole_year(figures: str) -> int:
    """Return the year of two or four digits; 70 to 99 belong to the last century.

    >>> whole_year("24"), whole_year("99"), whole_year("1911")
    (2024, 1999, 1911)
    """
    number = int(figures)
    if len(figures) > 2:
        return number
    return number + (1900 if number >= _LAST_CENTURY else 2000)


def last_year(first: int, figures: str) -> int:
    """Return the last year of a range such as ``2016-17`` or ``1998-2001``.

    >>> last_year(2016, "17"), last_year(1999, "00"), last_year(1998, "2001")
    (2017, 2000, 2001)
    """
    if len(figures) > 2:
        return int(figures)
    year = first - first % 100 + int(figures)
    return year if year >= first else year + 100


Parts = Mapping[str, str]

#: Numbers of months by their names and abbreviations.
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("january jan", "february feb", "march mar", "april apr", "may", "june jun"),
            *("july jul", "august aug", "september sept sep", "october oct", "november nov", "december dec"),
        ),
        start=1,
    )
    for name in names.split()
}
_ORDINALS = {
    name: number
    for number, names in enumerate(("first 1st", "second 2nd", "third 3rd", "fourth 4th"), start=1)
    for name in names.split()
}
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_TO_MONTH = _MONTH.replace("month", "last_month")
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})"
_GAP, _NO_GAP = r"[\s_,-]{1,3}", r"[\s_,-]{0,3}"
#: Digits after a letter and a hyphen belong to a code, such as INC-2017-04.
_NO_CODE = r"(?<![^\W\d_]-)"
#: Most years in a range with a two-digit last year: 2021-13 is neither a month nor a range.
_LONGEST_SHORT = 50
_DASH = r"\s?[-–—/]\s?"
_FISCAL_YEAR = r"(?:FY|fiscal(?:\s+year)?|financial\s+year)[\s_-]?'?(?P<year>\d{4}|\d{2})"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A notation of periods: its form, its regular expression, and how to parse a match."""

    form: str
    looks: re.Pattern[str]
    made: Callable[[Parts], Period | None]


def _pattern(form: str, looks: str, made: Callable[[Parts], Period | None]) -> Pattern:
    return Pattern(form, re.compile(rf"(?<![^\W_]){looks}(?![^\W_])", re.IGNORECASE), made)


def month_number(parts: Parts, name: str = "month") -> int:
    """Return the number of a month written as a word."""
    return MONTHS[parts[name].casefold()]


def _day(parts: Parts) -> Period | None:
    return day(int(parts["year"]), int(parts["month"]), int(parts["day"]))


def _named_day(parts: Parts) -> Period | None:
    return day(int(parts["year"]), month_number(parts), int(parts["day"]))


def _numbered(parts: Parts) -> int:
    name = (parts.get("number") or parts["ordinal"]).casefold()
    return _ORDINALS.get(name) or int(name)


def _month(parts: Parts) -> Period | None:
    month = int(parts["month"])
    return months(int(parts["year"]), month, month)


def _named_months(parts: Parts) -> Period | None:
    first = month_number(parts)
    last = month_number(parts, "last_month") if parts.get("last_month") else first
    return months(int(parts["year"]), first, last)


def _quarter(parts: Parts) -> Period | None:
    return quarter(whole_year(parts["year"]), _numbered(parts))


def _half(parts: Parts) -> Period | None:
    return half(whole_year(parts["year"]), _numbered(parts))


def _week(parts: Parts) -> Period | None:
    weekday = parts.get("weekday")
    return week(int(parts["year"]), int(parts["number"]), int(weekday) if weekday else None)


def _season(parts: Parts) -> Period | None:
    first = int(parts["year"])
    if (last := parts.get("last")) and last_year(first, last) != first + 1:
        return None
    return season(parts["season"].casefold(), first)


def _fiscal(parts: Parts) -> Period | None:
    first = whole_year(parts["year"])
    return years(first, last_year(first, parts["last"]) if parts.get("last") else first)


def _years(parts: Parts) -> Period | None:
    first = int(parts["year"])
    last = last_year(first, parts["last"])
    too_far = len(parts["last"]) == 2 and last - first > _LONGEST_SHORT
    return years(first, last) if last > first and not too_far else None


def _year(parts: Parts) -> Period | None:
    return years(int(parts["year"]), int(parts["year"]))


_NUMBER_WORDS = rf"(?P<number>{'|'.join(_ORDINALS)})"
_QUARTER = rf"(?:(?:Q|quarter\s)(?P<number>\d)|(?P<ordinal>{'|'.join(_ORDINALS)})[\s_-]quarter)"
_HALF = r"(?:H(?P<number>[12])|(?P<ordinal>first|1st|second|2nd)[\s_-]half)"
_OF = r"(?:,?\s+(?:of\s+)?(?:the\s+)?)"

#: Numeric dates whose order of day and month is not known.
EITHER_ORDER = _pattern(
    "day", rf"(?P<first>\d{{1,2}})(?P<mark>[-/])(?P<second>\d{{1,2}})(?P=mark){_YEAR}", lambda _: None
)

#: Among matches at the same position the longest wins, among equally long ones the first pattern.
PATTERNS: tuple[Pattern, ...] = (
    _pattern("day", rf"{_YEAR}(?P<mark>[-_./])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})", _day),
    _pattern("day", rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)T[\d:.+Z-]+", _day),
    _pattern("day", r"(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)", _day),
    _pattern("day", rf"(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}", _day),
    _pattern("day", rf"{_DAY}{_GAP}(?:of\s+)?{_MONTH}{_GAP}{_YEAR}", _named_day),
    _pattern("day", rf"{_MONTH}{_GAP}(?:the\s+)?{_DAY}{_GAP}{_YEAR}", _named_day),
    _pattern("day", rf"{_YEAR}{_GAP}{_MONTH}{_GAP}{_DAY}", _named_day),
    _pattern("week", rf"{_YEAR}-?W(?P<number>\d\d)(?:-?(?P<weekday>\d))?", _week),
    _pattern("week", rf"(?:week\s+|W)(?P<number>\d{{1,2}})(?:\s+of)?{_GAP}{_YEAR}", _week),
    _pattern("week", rf"{_YEAR}{_GAP}week{_GAP}(?P<number>\d{{1,2}})", _week),
    _pattern("fiscal", rf"{_FISCAL_YEAR}{_NO_GAP}{_QUARTER}", _quarter),
    _pattern("fiscal", rf"{_QUARTER}(?:{_NO_GAP}|{_OF}){_FISCAL_YEAR}", _quarter),
    _pattern("fiscal", rf"(?:fiscal|financial)\s+{_QUARTER}{_OF}{_YEAR}", _quarter),
    _pattern("fiscal", rf"{_NUMBER_WORDS}\s+(?:fiscal|financial)\s+quarter{_OF}{_YEAR}", _quarter),
    _pattern("fiscal", rf"{_FISCAL_YEAR}{_NO_GAP}{_HALF}", _half),
    _pattern("fiscal", rf"{_HALF}(?:{_NO_GAP}|{_OF}){_FISCAL_YEAR}", _half),
    _pattern("fiscal", rf"{_FISCAL_YEAR}(?:{_DASH}(?P<last>\d{{4}}|\d\d))?", _fiscal),
    _pattern("quarter", rf"{_QUARTER}(?:{_NO_GAP}|{_OF}|'){_YEAR}", _quarter),
    _pattern("quarter", r"Q(?P<number>\d)\s?'(?P<year>\d\d)", _quarter),
    _pattern("quarter", rf"{_YEAR}{_NO_GAP}{_QUARTER}", _quarter),
    _pattern("quarter", r"(?P<number>[1-4])Q(?P<year>\d{4}|\d\d)", _quarter),
    _pattern("half", rf"{_HALF}(?:{_NO_GAP}|{_OF}){_YEAR}", _half),
    _pattern("half", rf"{_YEAR}{_NO_GAP}{_HALF}", _half),
    _pattern("half", r"(?P<number>[12])H(?P<year>\d{4}|\d\d)", _half),
    _pattern(
        "season",
        rf"(?P<season>spring|summer|autumn|fall|winter){_GAP}(?:of\s+)?{_YEAR}"
        rf"(?:{_DASH}(?P<last>\d{{4}}|\d\d))?",
        _season,
    ),
    _pattern("month", rf"{_MONTH}{_GAP}(?:of\s+)?{_YEAR}", _named_months),
    _pattern("month", rf"{_MONTH}(?:{_DASH}|\s+to\s+|\s+and\s+){_TO_MONTH}{_GAP}{_YEAR}", _named_months),
    _pattern("month", rf"{_YEAR}{_GAP}{_MONTH}", _named_months),
    _pattern("month", rf"{_NO_CODE}{_YEAR}[-_](?P<month>0[1-9]|1[0-2])", _month),
    _pattern("month", rf"(?P<month>0?[1-9]|1[0-2])/{_YEAR}", _month),
    _pattern("years", rf"{_NO_CODE}{_YEAR}(?:{_DASH}|\s+to\s+)(?P<last>[12]\d{{3}}|\d\d)(?!-\d)", _years),
    _pattern("year", rf"(?<![$€£#.,/-]){_YEAR}(?!\s?%|[.,/]\d|-\w)", _year),
)


#: A text without any of these names no period.
_SIGNS = re.compile(r"\d{4}|Q\d|\d[QH]\d|FY|fiscal|financial", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedPeriod:
    """A period named in a text.

    Attributes:
        period: its days.
        form: its notation.
        start: first character in the text.
        end: one past the last character.
        words: the text in between.
        ambiguous: whether the digits give a day in either order, as in 03/04/2019.
    """

    period: Period
    form: str
    start: int
    end: int
    words: str
    ambiguous: bool = False

    @property
    def either(self) -> str:
        """The two possible days of an ambiguous date."""
        start = self.period.start
        return f"{start.isoformat()} or {start.replace(month=start.day, day=start.month).isoformat()}"


def periods_in(text: str, *, month_first: bool = False) -> list[NamedPeriod]:
    """Return the periods that a text names, in order.

    Invalid dates such as 2019-02-30 name nothing, nor do their parts. Fiscal years count as the calendar
    years of the same number. ``2011-12`` is a month, as in ISO 8601; ``2016-17``, ``2011–12`` and ``2011/12``
    are years. Winter begins in December of its year.

    Args:
        text: any text.
        month_first: whether 03/04/2019 is in March instead of April. If only one order gives a valid day,
            that one is used.

    >>> [(found.words, found.form) for found in periods_in("Minutes of 12 Mar 2014, for FY24 Q2")]
    [('12 Mar 2014', 'day'), ('FY24 Q2', 'fiscal')]
    """
    return [named for _, _, named in _written_periods(text, month_first) if named]


def impossible_in(text: str) -> list[tuple[int, int]]:
    """Return the spans of invalid days and periods, such as 2019-02-30."""
    return [(start, end) for start, end, named in _written_periods(text, False) if not named]


def _written_periods(text: str, month_first: bool) -> list[tuple[int, int, NamedPeriod | None]]:
    """Return the spans that look like a day or period, without overlaps, and the periods they name."""
    if not _SIGNS.search(text):
        return []
    matches: list[tuple[int, int, NamedPeriod | None]] = []
    for pattern in PATTERNS:
        for match in pattern.looks.finditer(text):
            period = pattern.made({key: part for key, part in match.groupdict().items() if part})
            named = (
                NamedPeriod(period, pattern.form, match.start(), match.end(), match[0]) if period else None
            )
            matches.append((match.start(), match.end(), named))
    for match in EITHER_ORDER.looks.finditer(text):
        first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
        candidates = [day(year, second, first), day(year, first, second)]
        valid = [candidate for candidate in (candidates[::-1] if month_first else candidates) if candidate]
        ambiguous = len(set(valid)) > 1
        named = (
            NamedPeriod(valid[0], "day", match.start(), match.end(), match[0], ambiguous) if valid else None
        )
        matches.append((match.start(), match.end(), named))
    chosen: list[tuple[int, int, NamedPeriod | None]] = []
    free_from = 0
    # The sort is stable: among equally long matches the first pattern wins.
    for start, end, named in sorted(matches, key=lambda candidate: (candidate[0], -candidate[1])):
        if start >= free_from:
            free_from = end
            chosen.append((start, end, named))
    return chosen


def only_period(text: str, *, month_first: bool = False) -> NamedPeriod | None:
    """Return the period that makes up the whole text; None if there is any other text."""
    stripped = text.strip()
    periods = periods_in(stripped, month_first=month_first)
    return periods[0] if len(periods) == 1 and periods[0].words == stripped else None


def month_first_in(texts: Iterable[str]) -> bool:
    """Return whether days are written month first: some dates require it, and none rules it out."""
    evidence = {
        first > second
        for text in texts
        for match in EITHER_ORDER.looks.finditer(text)
        for first, second in [(int(match["first"]), int(match["second"]))]
        if max(first, second) > 12
    }
    return evidence == {False}
