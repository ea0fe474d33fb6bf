"""Dates that a sentence states plainly, as ISO 8601."""

import re
from datetime import date

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",),
            ("june", "jun"), ("july", "jul"), ("august", "aug"), ("september", "sept", "sep"),
            ("october", "oct"), ("november", "nov"), ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?:1[0-9]|20)\d\d"
_DATE = re.compile(
    rf"""\b(?:
        (?P<iso>{_YEAR}-\d\d(?:-\d\d)?)
        |(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<month>{_MONTH})\.?,?\ (?P<year>{_YEAR})
        |(?P<us_month>{_MONTH})\.?\ (?P<us_day>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<us_year>{_YEAR})
        |(?P<of_month>{_MONTH})\.?,?\ (?P<month_year>{_YEAR})
        |(?P<only>(?<!\d[.,])(?<![-/$£€])(?<!%)\b{_YEAR})(?![.,]\d|[-/]\d\d\b|\s?(?:%|percent|people|crowns|tonnes))
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_YEAR_BEFORE = re.compile(
    r"\b(?:in|since|from|until|till|by|of|during|before|after|between|and|to|early|late|mid|year|around|about|"
    r"circa|c\.|for|the)\s*[-–]?\s*\Z|[(–-]\Z|\A\W*\Z",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:to|until|till|and|through|[-–—])\s*\Z", re.IGNORECASE)


def stated_period(sentence: str) -> tuple[str | None, str | None]:
    """Return the first and last date of the one period that a sentence names; None for what it leaves open.

    A single date is both. Days, months and years give ``2021-09-27``, ``2021-09`` and ``2021``. Two dates
    that are no range leave the period open, and so do numbers that may be no years.

    >>> stated_period("The plan was signed on 29 September 2021.")
    ('2021-09-29', '2021-09-29')
    >>> stated_period("She has been a member since 1997.")
    ('1997', None)
    """
    found = [(match, iso) for match in _DATE.finditer(sentence) if (iso := _iso(sentence, match))]
    if len(found) == 1:
        match, iso = found[0]
        before = sentence[: match.start()].rstrip().casefold()
        if before.endswith(("since", "from")):
            return iso, None
        if before.endswith(("until", "till")):
            return None, iso
        return iso, iso
    if len(found) == 2:
        (first, start), (second, end) = found
        if _RANGE.match(sentence[first.end() : second.start()]) and start <= end:
            return start, end
    return None, None


def _iso(sentence: str, match: re.Match[str]) -> str | None:
    parts = match.groupdict()
    if parts["only"]:
        return parts["only"] if _YEAR_BEFORE.search(sentence[: match.start()]) else None
    if parts["iso"]:
        numbers = [int(part) for part in parts["iso"].split("-")]
        return parts["iso"] if _exists(*numbers) else None
    if parts["of_month"]:
        return f"{parts['month_year']}-{_MONTHS[parts['of_month'].casefold()]:02d}"
    year = int(parts["year"] or parts["us_year"])
    month = _MONTHS[(parts["month"] or parts["us_month"]).casefold()]
    day = int(parts["day"] or parts["us_day"])
    return f"{year}-{month:02d}-{day:02d}" if _exists(year, month, day) else None


def _exists(year: int, month: int, day: int = 1) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
