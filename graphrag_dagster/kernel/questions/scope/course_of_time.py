"""Questions for the course of something over time: what each period says, in order (English)."""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal, cast

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.question_periods import ranges_in
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words
from graphrag_dagster.kernel.text.periods import Period

Unit = Literal["year", "quarter", "month"]

_OVER_TIME = re.compile(
    r"\s*\b(?:over (?:time|(?:the|these|those) (?:last |past )?(?:\w+ )?(?:years|quarters|months|decades?))"
    r"|through (?:time|the years)|(?:in |for )?(?:each|every) (?P<each>year|quarter|month)(?! of)"
    r"|(?P<by>year|quarter|month)(?:-| )by(?:-| )(?P=by)|from (?P<to>year|quarter|month) to (?P=to))\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\s*\b(?:chang(?:e[ds]?|ing)|develop(?:s|ed|ing|ments?)?|evol(?:ved?|ves|ving|ution)"
    r"|trends?(?: (?:in|of))?|progress(?:ed)?)\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(r"\b(?:compar\w+|differ\w*) ", re.IGNORECASE)
#: Periods from which there is a course.
_LEAST = 3
#: Text units of each period that come before all others.
_OF_EACH = 3


@dataclass(frozen=True, slots=True)
class Course:
    """What a question wants to hear over time.

    ``text`` is the question without the words for time and change, ``unit`` the kind of periods, ``within``
    the days from the first to the last; both are None where it does not say.
    """

    text: str
    unit: Unit | None = None
    within: Period | None = None

    def labels(self, days: Iterable[datetime.date | None]) -> list[str | None]:
        """Return the name of the period of each day: 2009, 2009 Q2 or 2009-04; None for days outside.

        Days of three years or more are told by years, unless the question says otherwise.
        """
        inside = [
            one if one and (self.within is None or Period(one, one).within(self.within)) else None
            for one in days
        ]
        unit = self.unit or ("year" if len({one.year for one in inside if one}) >= _LEAST else "month")
        return [None if one is None else _label(one, unit) for one in inside]


def _label(day: datetime.date, unit: Unit) -> str:
    if unit == "year":
        return f"{day.year}"
    return f"{day.year} Q{(day.month + 2) // 3}" if unit == "quarter" else f"{day:%Y-%m}"


def course_of(question: str) -> Course | None:
    """Return what a question wants to hear over time; None for any other question.

    >>> course_of("How did tourism change over the years?").text
    'How did tourism?'
    >>> course_of("How did lending develop from 2006 to 2010?").within.years
    4
    """
    told = _OVER_TIME.search(question)
    between = next((one for one in ranges_in(question) if one.period.years), None)
    if not told and (not between or _COMPARES.search(question)):
        return None
    unit = next((one.lower() for one in told.groups() if one), None) if told else None
    within = between.period if between else None
    if within and not unit and (within.start, within.end) == _whole_years(within):
        unit = "year"
    rest = question
    if between:
        rest = re.sub(r"\s*\b(?:from|between|in)\s*\Z", "", rest[: between.start]) + rest[between.end :]
    rest = _OVER_TIME.sub("", rest)
    # What changes is looked for, not the word for it.
    of_what = _CHANGES.sub("", rest)
    rest = of_what if asked_words(of_what) else rest
    return Course(rest, cast("Unit | None", unit), within)


def _whole_years(period: Period) -> tuple[datetime.date, datetime.date]:
    return datetime.date(period.start.year, 1, 1), datetime.date(period.end.year, 12, 31)


def own_days(index: IndexSnapshot) -> Mapping[str, datetime.date]:
    """Return the first day of the own period of each document that has one; call it once per snapshot."""
    first = index.periods.sort("document_id", "position").unique("document_id", keep="first")
    return dict(first.select("document_id", "period_start").iter_rows())


def _days_of_units(index: IndexSnapshot) -> Mapping[str, datetime.date]:
    days = index.once(own_days)
    units = index.text_chunks.select("text_unit_id", "document_id").iter_rows()
    return {unit: days[document] for unit, document in units if document in days}


def in_course(course: Course, unit_ids: Sequence[str], index: IndexSnapshot) -> Sequence[str]:
    """Return text units so that periods take turns, in order of time, each with its best first.

    Unchanged where the documents have fewer than three periods.

    Args:
        course: what is asked for.
        unit_ids: best first.
        index: with the periods of documents.
    """
    labels = course.labels(map(index.once(_days_of_units).get, unit_ids))
    of_period: dict[str, list[str]] = {}
    for unit_id, label in zip(unit_ids, labels, strict=True):
        if label is not None:
            of_period.setdefault(label, []).append(unit_id)
    if len(of_period) < _LEAST:
        return unit_ids
    best = [of_period[label][:_OF_EACH] for label in sorted(of_period)]
    turns = (one for one in chain.from_iterable(zip_longest(*best)) if one is not None)
    return list(dict.fromkeys([*turns, *unit_ids]))
