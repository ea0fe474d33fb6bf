"""Periods that a question names, and the documents of them.

A period is *exact* where the documents are told apart by it, so that those of that very period are meant and
no others: where the question speaks of documents of the period ("the July 2019 meeting"), where it is
fiscal, and where most documents have such a period in their names, as monthly reports do. A year alone is
never exact: what happened in a year is told in others too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.document_names import BEYOND, IN_TIME, singular
from graphrag_dagster.kernel.questions.scope.favoured_documents import LIKELY, NAMED, Clue
from graphrag_dagster.kernel.questions.scope.question_words import QuestionWords
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.text.english_words import COUNTED, DOCUMENTS, FILED
from graphrag_dagster.kernel.text.periods import NamedPeriod, Period, periods_in

#: Words beside a period among which a noun for a document makes it that of documents.
_NEAR = 3
#: Most days in a document's period that may contain the shorter period of a question.
_WIDEST = 366
#: Most days of a day, week, month, quarter and half year; only these can be exact.
_LENGTHS = (1, 7, 31, 92, 184)
#: Least share of the documents, and least number of periods, that make a series.
_IN_A_SERIES, _LEAST_PERIODS = 0.5, 3
_RANGE_BEGINS = frozenset({"between", "from"})
_RANGE_GOES_ON = re.compile(r"\s*(?:\band\b|\bto\b|\bthrough\b|\buntil\b|[-–—])\s*(?:the\s+)?")
#: "the minutes of July 2019"
_NOUN_BEFORE = re.compile(r"\b(?P<noun>[^\W\d_]+)\s+(?:(?:of|from|for|dated)\s+)?(?:the\s+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _AskedPeriod:
    """A period as asked for: ``length`` is the class of its length, or of its parts if it is a range."""

    named: NamedPeriod
    length: int | None
    is_range: bool = False


@dataclass(frozen=True)
class _Series:
    """The periods of a snapshot's documents; ``lengths`` are those that the names of most documents have."""

    periods: pl.DataFrame
    lengths: frozenset[int]


def period_clues(asked: QuestionWords, index: IndexSnapshot) -> tuple[list[Clue], list[str]]:
    """Return clues for the periods that a question names, and notes on those that no document has.

    Args:
        asked: the question.
        index: with the periods of its documents.
    """
    clues: list[Clue] = []
    notes: list[str] = []
    named_periods = periods_in(asked.text)
    if not named_periods or index.periods.is_empty():
        return clues, notes
    series = index.once(_series_of)
    for one in _with_ranges(named_periods, asked.text):
        named = one.named
        before = words(asked.text[: named.start])[-_NEAR:]
        if BEYOND.intersection(before[-2:]) or not _is_time(asked, named, before):
            continue
        if named.ambiguous:
            notes.append(f"{named.words} was read as {named.period.start.isoformat()}")
        exact = _documents_exactly_of(asked, one, series)
        document_ids = exact or _documents_around(named, series)
        if document_ids:
            weight = NAMED if exact or _is_document_period(asked, named, before) else LIKELY
            clues.append(
                Clue(
                    "period",
                    named.words,
                    document_ids,
                    weight,
                    exact=bool(exact),
                    span=(named.start, named.end),
                )
            )
        else:
            notes.append(f"no document is of {named.words}{_nearest(one, series)}")
    return clues, notes


def ranges_in(question: str) -> list[NamedPeriod]:
    """Return the periods from one to another that a question names: "from 2006 to 2010"."""
    return [
        one.named
        for one in _with_ranges(periods_in(question), question)
        if one.is_range or _RANGE_BEGINS.intersection(words(question[: one.named.start])[-1:])
    ]


def _series_of(index: IndexSnapshot) -> _Series:
    days = (pl.col("period_end") - pl.col("period_start")).dt.total_days() + 1
    periods = index.periods.with_columns(
        length=_length_classes(days),
        own=pl.col("found_in") != "first_lines",
        fiscal=pl.col("form") == "fiscal",
    )
    in_names = periods.filter(pl.col("found_in").is_in(("title", "path")), pl.col("length").is_not_null())
    counts = in_names.group_by("length").agg(
        documents=pl.col("document_id").n_unique(),
        distinct=pl.struct("period_start", "period_end").n_unique(),
    )
    is_common = pl.col("documents") >= _IN_A_SERIES * len(index.documents)
    common = counts.filter(is_common, pl.col("distinct") >= _LEAST_PERIODS)
    return _Series(periods, frozenset(common["length"]))


def _length_classes(days: pl.Expr) -> pl.Expr:
    """Return the class of each number of days: the most days in it; null beyond a half year."""
    classes = pl.lit(None, dtype=pl.Int64)
    for most in reversed(_LENGTHS):
        classes = pl.when(days <= most).then(most).otherwise(classes)
    return classes


def _with_ranges(named_periods: Sequence[NamedPeriod], text: str) -> Iterator[_AskedPeriod]:
    """Yield the periods; two that a question speaks of from one to the other are one."""
    place = 0
    while place < len(named_periods):
        first, last = named_periods[place], (*named_periods, None)[place + 1]
        days = (first.period.end - first.period.start).days + 1
        length = next((most for most in _LENGTHS if days <= most), None)
        if last and _is_range(first, last, text):
            period = Period(first.period.start, last.period.end)
            ambiguous = first.ambiguous or last.ambiguous
            spelled = text[first.start : last.end]
            whole = replace(first, period=period, end=last.end, words=spelled, ambiguous=ambiguous)
            yield _AskedPeriod(whole, length, is_range=True)
            place += 1
        else:
            yield _AskedPeriod(first, length)
        place += 1


def _is_range(first: NamedPeriod, last: NamedPeriod, text: str) -> bool:
    begins = _RANGE_BEGINS.intersection(words(text[: first.start])[-1:])
    goes_on = _RANGE_GOES_ON.fullmatch(text, first.end, last.start)
    return bool(begins and goes_on) and first.period.start <= last.period.end


def _documents_exactly_of(asked: QuestionWords, one: _AskedPeriod, series: _Series) -> frozenset[str]:
    """Return the documents of a period if the question means them and no others."""
    if one.length is None or one.named.ambiguous:
        return frozenset()
    first, last = one.named.period.start, one.named.period.end
    inside = (pl.col("period_start") >= first) & (pl.col("period_end") <= last)
    equal = (pl.col("period_start") == first) & (pl.col("period_end") == last)
    found = series.periods.clear()
    if one.named.form == "fiscal" or one.length in series.lengths:
        is_fiscal = one.named.form == "fiscal"
        # A first line tells the fiscal quarter of a call; any other period in it may be what it speaks of.
        fits = (
            (inside if one.is_range else equal)
            & (pl.col("fiscal") == is_fiscal)
            & (pl.col("own") | is_fiscal)
        )
        found = series.periods.filter(fits)
    if found.is_empty() and _speaks_of_documents(asked, one.named):
        found = series.periods.filter(inside, pl.col("own") | equal)
    return frozenset(found["document_id"])


def _documents_around(named: NamedPeriod, series: _Series) -> frozenset[str]:
    """Return the documents of days inside a period, else those of a longer one around it, of at most a year.

    Periods that are fiscal, or not, as the question's is come first: a fiscal year may begin in any month.
    """
    first, last = named.period.start, named.period.end
    start, end = pl.col("period_start"), pl.col("period_end")
    inside = series.periods.filter((start >= first) & (end <= last))
    is_around = (start <= first) & (end >= last) & ((end - start).dt.total_days() <= _WIDEST)
    same_kind = pl.col("fiscal") == (named.form == "fiscal")
    around = series.periods.filter(is_around)
    found = (inside.filter(same_kind), inside, around.filter(same_kind), around)
    return next((frozenset(rows["document_id"]) for rows in found if len(rows)), frozenset())


def _nearest(one: _AskedPeriod, series: _Series) -> str:
    """Return which periods of documents come before and after one, in words; blank without any."""
    alike = series.periods.filter("own", pl.col("length").eq_missing(one.length)).sort(
        "period_start", "words"
    )
    before = alike.filter(pl.col("period_end") < one.named.period.start).tail(1)["words"]
    after = alike.filter(pl.col("period_start") > one.named.period.end).head(1)["words"]
    nearest = [*before, *after]
    return f"; the nearest are of {' and '.join(nearest)}" if nearest else ""


def _is_time(asked: QuestionWords, named: NamedPeriod, before: Sequence[str]) -> bool:
    """Whether a number is a year: "2000" may count anything, but not in "in 2000"."""
    after = words(asked.text[named.end :])[:1]
    if named.form != "year":
        return True
    if COUNTED.intersection(after):
        return False
    return bool((IN_TIME | DOCUMENTS).intersection(before[-1:]) or DOCUMENTS.intersection(after))


def _is_document_period(asked: QuestionWords, named: NamedPeriod, before: Sequence[str]) -> bool:
    """Whether a period is that of documents: it is fiscal, or a document noun is near."""
    after = words(asked.text[named.end :])[:_NEAR]
    return named.form == "fiscal" or bool(DOCUMENTS.intersection((*before, *after)))


def _speaks_of_documents(asked: QuestionWords, named: NamedPeriod) -> bool:
    """Whether a noun for a document has a period: "the minutes of July 2019", "the July 2019 meeting"."""
    noun = _NOUN_BEFORE.search(asked.text[: named.start])
    after = words(asked.text[named.end :])[:2]
    return bool(FILED.intersection(after) or (noun and singular(noun["noun"].casefold()) in FILED))
