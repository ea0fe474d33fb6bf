"""A scorer for several threads."""

from threading import Lock

from graphrag_dagster.core.paths.scoring.port import PathScorer
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.text.verbalised import Verbalised


class LockedScorer:
    """Another scorer, asked by one thread at a time: what scorers remember of a graph changes as they score.

    Args:
        scorer: which.
    """

    def __init__(self, scorer: PathScorer) -> None:
        self._scorer, self._lock = scorer, Lock()

    @property
    def name(self) -> str:
        """That of the scorer."""
        return self._scorer.name

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return one score per candidate [n]; see the port."""
        with self._lock:
            return self._scorer.scores(question, candidates)

    def tokens(self, candidates: Verbalised) -> int:
        """Return the tokens of all candidates."""
        with self._lock:
            return self._scorer.tokens(candidates)
