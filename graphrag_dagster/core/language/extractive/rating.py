"""Rating reports by the sentences they hold (spec_graphrag §12)."""

from collections.abc import Sequence
from math import fsum
from typing import Final

from graphrag_dagster.core.language.exploring import HIGHEST_RATING, BatchRatings, Rating
from graphrag_dagster.core.language.extractive.parsing.quotable import readability
from graphrag_dagster.core.language.tasks import ContextUnit, Engine
from graphrag_dagster.core.text.embedder import Embedder
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
        sentences = [
            (text, place, len(unit.sentences), (number, row))
            for number, batch in enumerate(batches)
            for row, unit in enumerate(batch)
            for place, (text, _) in enumerate(unit.sentences)
            if readability(text) > 0
        ]
        found = relevance(
            question,
            [text for text, _, _, _ in sentences],
            [place for _, place, _, _ in sentences],
            [size for _, _, size, _ in sentences],
            self._embedder,
        )
        related: dict[tuple[int, int], list[float]] = {}
        for (_, _, _, report), percentile, is_related in zip(
            sentences, found.percentile, found.related, strict=True
        ):
            if is_related:
                related.setdefault(report, []).append(float(percentile))
        return [
            BatchRatings(tuple(Rating(_score(related.get((number, row), []))) for row in range(len(batch))))
            for number, batch in enumerate(batches)
        ]


def _score(percentiles: Sequence[float]) -> int:
    best = sorted(percentiles, reverse=True)[:_TOP]
    return 1 + round((HIGHEST_RATING - 1) * fsum(best) / len(best)) if best else 0
