"""Global search over reports or all text units (paper §3.1.6)."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.context_chunks import (
    Chunk,
    Count,
    Packing,
    fill_chunks,
)
from graphrag_dagster.kernel.questions.context.context_rows import ReportUnits
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, SourceUnits
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import without_favour
from graphrag_dagster.kernel.questions.question import Basis, Search
from graphrag_dagster.kernel.storage.index_cache import load_or_build
from graphrag_dagster.kernel.text.tokenization import encoding_of
from graphrag_dagster.systems.graphrag.search.deferred_reports import deferred_reports
from graphrag_dagster.systems.graphrag.search.map_reduce import map_reduce
from graphrag_dagster.systems.graphrag.tasks import ANSWERER

_DIGITS = 12


def global_search(search: Search) -> Answer:
    """Answer a question from all reports of its level, or from all text units where it has none (TS).

    Rows are shuffled with the seed and packed into chunks; each chunk gives a partial answer with a score;
    see :func:`~graphrag_dagster.systems.graphrag.search.map_reduce.map_reduce`.

    Raises:
        QuestionError: there is no such level, or there are no reports.
        EngineError: the answerer did not give one partial answer per chunk.
    """
    answerer, level = search.engines.task(ANSWERER), search.level
    written = Usage()
    if level is not None and (deferred := deferred_reports(search, level)):
        of_level = search.index.community_levels.filter(pl.col("level") == level)
        written = deferred.write(of_level["community_id"].unique(maintain_order=True).to_list(), search)
        search = replace(search, index=deferred.index)
    method = search.method.name if level is None else f"C{level}"
    units = context_of(search.index, level)
    made = map_reduce(search, answerer, units, chunks_of(search), method=method)
    made = replace(made, usage=written + made.usage)
    read = "text units" if level is None else f"reports of {method}"
    return without_favour(search, made, f"all {read} are read alike")


def context_of(index: IndexSnapshot, level: int | None) -> ContextUnits:
    """Return the reports of ``C<level>``, or all text units, as context rows; made once per snapshot.

    Raises:
        QuestionError: there is no such level, or there are no reports.
    """
    return sources_of(index) if level is None else index.once(_report_units, level)


def sources_of(index: IndexSnapshot) -> SourceUnits:
    """Return all text units as context rows; made once per snapshot."""
    return index.once(SourceUnits)


def chunks_of(basis: Basis) -> Sequence[Chunk]:
    """Return the chunks of a level or of all text units; packed once per snapshot, size and seed.

    Raises:
        QuestionError: as :func:`context_of`, or the context cannot hold the beginning of a row.
    """
    options = basis.options
    return basis.index.once(_pack_chunks, basis.level, basis.count, options.context_tokens, options.seed)


def reports_of(index: IndexSnapshot, level: int) -> pl.DataFrame:
    """Return the reports of ``C<level>``.

    Raises:
        QuestionError: there is no such level, or there are no reports.
    """
    known = levels_of(index)
    if level in known and index.restricted:
        return _report_units_inside(index, level)
    if not known or index.reports.is_empty():
        raise QuestionError(
            "this corpus has no community reports, for example because no two entities are related; index "
            "it again with more documents (graphrag-dagster index NAME), or inspect the index "
            "(graphrag-dagster show NAME); basic and local search need no reports (--method local)"
        )
    if level not in known:
        levels = ", ".join(f"C{k}" for k in known)
        raise QuestionError(f"there is no level C{level}; there are {levels}")
    return _reports_of_level(index, level)


def _reports_of_level(index: IndexSnapshot, level: int) -> pl.DataFrame:
    chosen = index.community_levels.filter(pl.col("level") == level).select("community_id").unique()
    return index.reports.join(chosen, left_on="report_id", right_on="community_id", how="semi")


def _report_units_inside(index: IndexSnapshot, level: int) -> pl.DataFrame:
    found = _reports_of_level(index, level)
    if found.is_empty():
        there = [one for one in levels_of(index) if not _reports_of_level(index, one).is_empty()]
        others = f"; C{there[0]} has some (--level {there[0]})" if there else ""
        raise QuestionError(
            f"no report of C{level} was written from the filtered documents alone{others}; use a search "
            "method that reads their text units: local, basic, or TS for all of them (--method TS)"
        )
    return found


def levels_of(index: IndexSnapshot) -> list[int]:
    """Return the community levels there are."""
    return sorted(index.community_levels["level"].unique())


def _report_units(index: IndexSnapshot, level: int) -> ReportUnits:
    return ReportUnits(index, reports_of(index, level))


def _pack_chunks(
    index: IndexSnapshot, level: int | None, count: Count, limit: int, seed: int
) -> Sequence[Chunk]:
    units = context_of(index, level).all
    encoding = encoding_of(count)
    if encoding is None:
        return fill_chunks(units, count=count, limit=limit, seed=seed)
    name = "chunks" + stable_id(encoding, level, limit, seed)[:_DIGITS]
    packing = load_or_build(
        index.shelf,
        name,
        lambda: Packing.of(fill_chunks(units, count=count, limit=limit, seed=seed)),
        Packing,
    )
    return packing.chunks(units)
