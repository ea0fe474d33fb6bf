"""Estimated model calls of one question, by search method."""

from dataclasses import replace

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.search_methods import GLOBAL
from graphrag_dagster.kernel.models.call_estimates import MethodSize, Range, exactly
from graphrag_dagster.kernel.questions.question import Basis
from graphrag_dagster.kernel.questions.searcher import top_level, with_method
from graphrag_dagster.systems.graphrag.search.dynamic_search import most_rated
from graphrag_dagster.systems.graphrag.search.global_search import chunks_of
from graphrag_dagster.systems.graphrag.settings import ReportSettings

#: Tokens of a prompt without its material.
PROMPT = 700
#: Tokens of a prompt that tells the columns of the tables.
TABLES = 2500
#: Tokens of a report.
_REPORT = Range(200.0, 500.0, 2000.0)


def one_call(basis: Basis) -> MethodSize:
    """One call with a context of its own."""
    window = float(basis.options.context_tokens)
    return MethodSize(exactly(1), Range(window / 2, window, window))


def whole(basis: Basis) -> MethodSize:
    """All chunks of a level or of the text units, and the joining of their answers."""
    try:
        chunks = chunks_of(basis)
    except QuestionError:
        return MethodSize(exactly(0), exactly(0))
    tokens = sum(sum(chunk.row_tokens) for chunk in chunks) + PROMPT * (len(chunks) + 1)
    calls, input_tokens = exactly(len(chunks) + 1), exactly(tokens) + Range(0.0, 1500.0, 8000.0)
    if missing := _deferred_reports(basis):
        # They are written for the question, and read by it.
        window = float(basis.settings.section(ReportSettings).context_tokens)
        read = _REPORT * missing
        more = read * (1 / basis.options.context_tokens)
        calls += exactly(missing) + Range(float(not chunks), 1 + more.expected, 1 + more.high)
        input_tokens += (exactly(PROMPT) + Range(0.0, window / 2, window)) * missing + read
    return MethodSize(calls, input_tokens)


def _deferred_reports(basis: Basis) -> int:
    """How many reports of a level are not written yet."""
    deepest = basis.settings.section(ReportSettings).levels
    if deepest is None or basis.level is None or basis.level <= deepest:
        return 0
    index = basis.index
    of_level = index.community_levels.filter(pl.col("level") == basis.level).select("community_id").unique()
    return of_level.join(index.reports, left_on="community_id", right_on="report_id", how="anti").height


def rated(basis: Basis) -> MethodSize:
    """Ratings, and chunks of what they choose."""
    top, most = basis.index.once(top_level), most_rated(basis)
    if most is not None:
        # Each level costs at most what the roots do.
        roots = whole(replace(basis, level=top))
        levels = float((basis.level or 0) - top + 2)
        return MethodSize(
            Range(2.0, levels, 2 * levels * roots.calls.high), roots.input_tokens * Range(1.0, 2.0, levels)
        )
    every = whole(basis)
    # Ratings read what they spare the answer, and more where little is relevant.
    return MethodSize(Range(2.0, every.calls.expected, 2 * every.calls.high), every.input_tokens * 1.5)


def followed_up(basis: Basis) -> MethodSize:
    """A first answer, follow-up questions, and the joining of all answers."""
    steps = basis.options.steps * basis.options.follow_ups
    calls = Range(3.0, steps + 2.0, 2.0 * steps + 2)
    return MethodSize(calls, one_call(basis).input_tokens * (steps + 2.0))


def chosen(basis: Basis) -> MethodSize:
    """One call, or as many as all chunks of a level take, and one before them where a model chooses."""
    window = basis.options.context_tokens
    every = whole(with_method(basis, GLOBAL))
    calls, tokens = Range(1.0, 1.0, every.calls.high), Range(window / 2, window, every.input_tokens.high)
    if basis.options.routing == "rules":
        return MethodSize(calls, tokens)
    return MethodSize(calls + Range(0.0, 1.0, 1.0), tokens + Range(0.0, PROMPT, PROMPT))


def queried(basis: Basis) -> MethodSize:
    """No call, or where a model writes queries one that reads the tables' columns, and repaired ones."""
    if basis.options.sql == "templates":
        return MethodSize(exactly(0), exactly(0))
    return MethodSize(Range(0.0, 1.0, 3.0), Range(0.0, float(TABLES), 3.0 * TABLES))
