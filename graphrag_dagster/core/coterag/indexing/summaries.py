"""Summaries of communities as tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.core.language.coterag import CommunitySummary, SummaryRequest
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.tables import COTERAG_QUOTES, COTERAG_SUMMARIES


@dataclass(frozen=True, slots=True)
class SummaryFrames:
    """Rows of ``coterag.summaries`` and of ``coterag.summary_quotes``."""

    summaries: pl.DataFrame
    quotes: pl.DataFrame


def summary_frames(
    requests: Sequence[SummaryRequest], summaries: Iterable[CommunitySummary]
) -> SummaryFrames:
    """Return summaries as rows.

    Args:
        requests: what was asked for.
        summaries: one for each, in their order.

    Raises:
        GraphragError: not one for each.
    """
    made = list(summaries)
    if len(made) != len(requests):
        raise GraphragError(
            f"the summariser gave {len(made)} summaries of {len(requests)} communities: it must give one for "
            "each, in their order"
        )
    both = list(zip(requests, made, strict=True))
    return SummaryFrames(
        COTERAG_SUMMARIES.rows(
            {
                "community_id": request.community_id,
                "title": summary.title,
                "text": summary.text,
                "engine": summary.engine,
                "problem": summary.problem,
            }
            for request, summary in both
        ),
        COTERAG_QUOTES.rows(
            {
                "community_id": request.community_id,
                "position": position,
                "text_unit_id": quote.unit_id,
                "start_char": quote.span.start,
                "end_char": quote.span.end,
            }
            for request, summary in both
            for position, quote in enumerate(summary.quotes)
        ),
    )
