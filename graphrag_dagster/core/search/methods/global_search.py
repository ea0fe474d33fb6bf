"""Global search: map-reduce over the reports of a level, or over all text units (paper §3.1.6)."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.core.language.tasks import Answerer
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.context.chunks import Chunk, Count, fill
from graphrag_dagster.core.search.context.context_units import ContextUnits
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.question import checked
from graphrag_dagster.core.search.context.report_units import ReportUnits
from graphrag_dagster.core.search.context.source_units import SourceUnits
from graphrag_dagster.core.search.context.support import Support
from graphrag_dagster.core.search.methods.map_reduce import map_reduce
from graphrag_dagster.errors import QuestionError


def global_search(
    index: IndexSnapshot,
    question: str,
    *,
    level: int | None,
    answerer: Answerer,
    count: Count,
    context_tokens: int = 8000,
    seed: int = 86,
    support: Support | None = None,
) -> Answer:
    """Answer a question from all reports of ``C<level>``, or from all text units (condition TS).

    Rows are shuffled with the seed and packed into chunks; each chunk gives a partial answer with a score;
    see :func:`~graphrag_dagster.core.search.methods.map_reduce.map_reduce`.

    Args:
        index: the tables of the corpus.
        question: at most 4,000 characters.
        level: k of Ck; None reads the text units instead.
        answerer: makes partial answers and joins them.
        count: tokens of a text.
        context_tokens: most tokens of a chunk, and of the partial answers that are joined.
        seed: seed of the shuffle.
        support: compares statements with the words they rest on.

    Raises:
        QuestionError: the question is blank or too long, there is no such level, or there are no reports.
        EngineError: the answerer did not give one partial answer per chunk.
    """
    asked = checked(question)
    units = context_of(index, level)
    return map_reduce(
        asked,
        units,
        chunks_of(index, level, count=count, limit=context_tokens, seed=seed),
        method="TS" if level is None else f"C{level}",
        level=level,
        answerer=answerer,
        count=count,
        context_tokens=context_tokens,
        support=support,
    )


def context_of(index: IndexSnapshot, level: int | None) -> ContextUnits:
    """Return the reports of ``C<level>``, or all text units, as context rows; made once per snapshot.

    Raises:
        QuestionError: there is no such level, or there are no reports.
    """
    if level is None:
        return sources_of(index)
    return index.once(("reports", level), lambda: ReportUnits(index, reports_of(index, level)))


def sources_of(index: IndexSnapshot) -> SourceUnits:
    """Return all text units as context rows; made once per snapshot."""
    return index.once(("sources",), lambda: SourceUnits(index))


def chunks_of(
    index: IndexSnapshot, level: int | None, *, count: Count, limit: int, seed: int
) -> Sequence[Chunk]:
    """Return the chunks of a level or of all text units; packed once per snapshot, size and seed."""
    return index.once(
        ("chunks", level, limit, seed),
        lambda: fill(context_of(index, level).all, count=count, limit=limit, seed=seed),
    )


def reports_of(index: IndexSnapshot, level: int) -> pl.DataFrame:
    """Return the reports of ``C<level>``.

    Raises:
        QuestionError: there is no such level, or there are no reports.
    """
    known = levels_of(index)
    if not known or index.reports.is_empty():
        raise QuestionError(
            "this corpus has no community reports, for instance because no two entities are related; "
            "index it again with more documents (graphrag-dagster index NAME), or look at what was found "
            "(graphrag-dagster show NAME); basic and local search need none (--method local)"
        )
    if level not in known:
        levels = ", ".join(f"C{k}" for k in known)
        raise QuestionError(f"there is no level C{level}; there are {levels}")
    chosen = index.community_levels.filter(pl.col("level") == level).select("community_id").unique()
    return index.reports.join(chosen, left_on="report_id", right_on="community_id", how="semi")


def levels_of(index: IndexSnapshot) -> list[int]:
    """Return the community levels there are."""
    return sorted(index.community_levels["level"].unique())
