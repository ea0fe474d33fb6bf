"""Finding the days and periods that a text names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from graphrag_dagster.core.text.periods.forms import EITHER_ORDER, PATTERNS
from graphrag_dagster.core.text.periods.period import Period, day

#: Without any of these a text names no period.
_SIGNS = re.compile(r"\d{4}|Q\d|\dQ|FY|fiscal|financial", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Named:
    """A period that a text names.

    Attributes:
        period: its days.
        form: how it is written.
        start: first character in the text.
        end: one past the last.
        words: the text between the two.
        ambiguous: the figures make a day in either order, as in 03/04/2019.
    """

    period: Period
    form: str
    start: int
    end: int
    words: str
    ambiguous: bool = False

    @property
    def either(self) -> str:
        """The two days that ambiguous figures may be."""
        found = self.period.start
        return f"{found.isoformat()} or {found.replace(month=found.day, day=found.month).isoformat()}"


def periods_in(text: str, *, month_first: bool = False) -> list[Named]:
    """Return the periods that a text names, in its order.

    What cannot be, such as 2019-02-30, names nothing, nor do its parts. Fiscal years count as the calendar
    years of the same number. ``2011-12`` is a month, as ISO 8601 has it; ``2016-17``, ``2011–12`` and
    ``2011/12`` are years. Winter begins in December of the year that it names.

    Args:
        text: any text.
        month_first: 03/04/2019 is a day of March; otherwise of April. Where only one of the two orders makes
            a day, that one holds.

    >>> [(found.words, found.form) for found in periods_in("Minutes of 12 Mar 2014, for FY24 Q2")]
    [('12 Mar 2014', 'day'), ('FY24 Q2', 'fiscal')]
    """
    return [named for _, _, named in _written_in(text, month_first) if named]


def impossible_in(text: str) -> list[tuple[int, int]]:
    """Return the spans of what is written like a day or period and is none, such as 2019-02-30."""
    return [(start, end) for start, end, named in _written_in(text, False) if not named]


def _written_in(text: str, month_first: bool) -> list[tuple[int, int, Named | None]]:
    """The spans of what is written like a day or period, without overlap, and which it is."""
    if not _SIGNS.search(text):
        return []
    found: list[tuple[int, int, Named | None]] = []
    for pattern in PATTERNS:
        for match in pattern.looks.finditer(text):
            period = pattern.made({key: part for key, part in match.groupdict().items() if part})
            named = Named(period, pattern.form, match.start(), match.end(), match[0]) if period else None
            found.append((match.start(), match.end(), named))
    for match in EITHER_ORDER.looks.finditer(text):
        first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
        both = [day(year, second, first), day(year, first, second)]
        known = [one for one in (both[::-1] if month_first else both) if one]
        unsure = len(set(known)) > 1
        named = Named(known[0], "day", match.start(), match.end(), match[0], unsure) if known else None
        found.append((match.start(), match.end(), named))
    kept: list[tuple[int, int, Named | None]] = []
    free_from = 0
    # The sort is stable: of what is equally long the first pattern holds.
    for start, end, named in sorted(found, key=lambda one: (one[0], -one[1])):
        if start >= free_from:
            free_from = end
            kept.append((start, end, named))
    return kept


def only_period(text: str, *, month_first: bool = False) -> Named | None:
    """Return the period that a text is nothing else than; None where it is something else."""
    bare = text.strip()
    found = periods_in(bare, month_first=month_first)
    return found[0] if len(found) == 1 and found[0].words == bare else None


def month_first_in(texts: Iterable[str]) -> bool:
    """Whether days are written with the month first: some can only be read so, and none only otherwise."""
    evidence = {
        first > second
        for text in texts
        for match in EITHER_ORDER.looks.finditer(text)
        for first, second in [(int(match["first"]), int(match["second"]))]
        if max(first, second) > 12
    }
    return evidence == {False}
