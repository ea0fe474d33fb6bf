"""Rating reports by the sentences they hold (spec_graphrag §12)."""

from collections.abc import Sequence
from itertools import count
from math import fsum
from typing import Final

from graphrag_dagster.core.language.exploring import HIGHEST_RATING, BatchRatings, Rating
from graphrag_dagster.core.language.extractive.parsing.quotable import readability
from graphrag_dagster.core.language.tasks import ContextUnit, Engine
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.lines import Line
from graphrag_dagster.core.text.relevance import relevance

_TOP = 3


class ExtractiveReportRater:
    """Rates a report by its sentences that are related to the question.

    Without a related sentence the rating is 0; else 1 plus four times the mean percentile of its three most
    relevant sentences among the related sentences of all reports that are rated together, rounded.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def rate(
        self,
        question: str,
        batches: Sequence[Sequence[ContextUnit]],
        rendered: Sequence[str],  # noqa: ARG002 - only a model reads what a prompt shows.
    ) -> list[BatchRatings]:
        """Return the ratings of each batch; how reports are divided into batches does not matter."""
        numbered = enumerate(unit for batch in batches for unit in batch)
        lines = [
            Line(text, place, len(unit.sentences), number, unit.title)
            for number, unit in numbered
            for place, (text, _) in enumerate(unit.sentences)
        ]
        found = relevance(question, lines, self._embedder)
        related: dict[int, list[float]] = {}
        for line, percentile, is_related in zip(lines, found.percentile, found.related, strict=True):
            if is_related and readability(line.text) > 0:
                related.setdefault(line.row, []).append(float(percentile))
        rows = count()
        return [
            BatchRatings(tuple(Rating(_score(related.get(next(rows), []))) for _ in batch))
            for batch in batches
        ]


def _score(percentiles: Sequence[float]) -> int:
    best = sorted(percentiles, reverse=True)[:_TOP]
    return 1 + round((HIGHEST_RATING - 1) * fsum(best) / len(best)) if best else 0
