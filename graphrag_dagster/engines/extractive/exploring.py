"""Intermediate answers made of quotations, follow-up questions made of titles, and reports rated by words."""

from collections.abc import Sequence
from itertools import count
from math import fsum
from typing import Final

from graphrag_dagster.engines.extractive.answerer import ExtractiveAnswerer
from graphrag_dagster.kernel.common.progress import track
from graphrag_dagster.kernel.models.embedder import Embedder
from graphrag_dagster.kernel.questions.citations import ContextKind
from graphrag_dagster.kernel.tasks.answering import (
    HIGHEST_RATING,
    BatchRatings,
    Exploration,
    FollowUp,
    Rating,
)
from graphrag_dagster.kernel.tasks.ports import ContextUnit, Engine
from graphrag_dagster.kernel.text.lines import Line
from graphrag_dagster.kernel.text.quotable import readability
from graphrag_dagster.kernel.text.relevance import relevance
from graphrag_dagster.kernel.text.similarity import words

#: Rows of these kinds have a subject for a title; the title of a text unit is that of its document.
_SUBJECTS: frozenset[ContextKind] = frozenset({"entity", "report"})

#: What a subject must have of the relevance of the best one.
_OF_BEST = 0.5


def about(question: str, title: str) -> str:
    """Return the follow-up question that asks a question again about one subject.

    >>> about("Who built the quay?", "Orrin Vask")
    'Who built the quay? (about Orrin Vask)'
    """
    return f"{question} (about {title})"


class ExtractiveExplorer:
    """Quotes the relevant sentences of a context, and asks on about the subjects it names.

    It understands no question well enough to make another: a follow-up question is the main question together
    with the title of an entity or a report of the context, the most relevant first (:func:`about`). Subjects
    whose words the questions so far hold already are not asked about.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._answerer = ExtractiveAnswerer(embedder)

    def primer(self, question: str, rows: Sequence[ContextUnit], rendered: str, most: int) -> Exploration:
        """Quote the sentences of the reports that are related to the question."""
        return self._explored([question], FollowUp(question, rows, rendered), most)

    def follow(self, asked: Sequence[str], steps: Sequence[FollowUp], most: int) -> list[Exploration]:
        """Quote for each follow-up question the sentences of its context that are related to it."""
        return [self._explored(asked, step, most) for step in track(steps, "Following up", len(steps))]

    def _explored(self, asked: Sequence[str], step: FollowUp, most: int) -> Exploration:
        [partial] = self._answerer.map(step.question, [step.rows], [step.rendered])
        follow_ups = tuple(about(asked[0], title) for title in self._subjects(asked, step.rows)[:most])
        return Exploration(
            partial.text, partial.score or 0, follow_ups, partial.quotes, points=partial.points
        )

    def _subjects(self, asked: Sequence[str], rows: Sequence[ContextUnit]) -> list[str]:
        """Return titles of rows that are related to the main question, the most relevant first."""
        lines = [
            Line(text, place, len(row.sentences) or 1, number, row.title)
            for number, row in enumerate(rows)
            for place, text in enumerate([sentence for sentence, _ in row.sentences] or [row.text])
        ]
        found = relevance(asked[0], lines, self._embedder)
        best: dict[str, float] = {}
        for line, value in zip(lines, found.value.tolist(), strict=True):
            if found.related.any() and rows[line.row].kind in _SUBJECTS:
                best[line.title] = max(best.get(line.title, 0.0), value)
        least = _OF_BEST * max(best.values(), default=0.0)
        best = {title: value for title, value in best.items() if value > 0 and value >= least}
        known = [frozenset(words(question)) for question in asked]
        new = [
            title for title in best if words(title) and not any(one.issuperset(words(title)) for one in known)
        ]
        return sorted(new, key=lambda title: (-best[title], title))


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
