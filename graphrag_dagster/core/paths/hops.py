"""How many steps a question asks for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.errors import EngineError

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

#: Words that hang one thing on another, and questions inside a question.
_LINK = re.compile(
    r"\b(?:of|by|in|with|that|whose|whom|for|same)\b|(?<=\w)['’]s?\b|(?<=\w\s)(?:who|which)\b", re.IGNORECASE
)
_MOST = 4
_FOLDS = 5


class HopPredictor(Protocol):
    """Says how many steps a question asks for."""

    def hops(self, question: str) -> int:
        """Return the number of steps, 1 or more."""


class WordyHops:
    """Without examples: as many steps as words that hang one thing on another, at least 1 and at most 4."""

    def hops(self, question: str) -> int:
        """Return the number of steps, 1 to 4."""
        return min(max(len(_LINK.findall(question)), 1), _MOST)


@dataclass(frozen=True)
class LearntHops:
    """Logistic regression on the vectors of questions.

    Attributes:
        embedder: makes the vectors.
        model: fitted.
        accuracy: share of questions that it was right about while their topic entities were kept from it;
            None where there were too few of them to try.
    """

    embedder: Embedder
    model: "LogisticRegression"
    accuracy: float | None

    @classmethod
    def fitted(
        cls, embedder: Embedder, questions: Sequence[str], hops: Sequence[int], topics: Sequence[str]
    ) -> "LearntHops":
        """Return a predictor that has learnt from questions.

        Args:
            embedder: makes the vectors.
            questions: with known hops.
            hops: of each.
            topics: topic entity of each; no topic is both learnt from and tried.

        Raises:
            EngineError: all questions ask for the same number of steps, or there are none.
        """
        from sklearn.model_selection import GroupKFold, cross_val_predict

        known = np.asarray(hops)
        if len(np.unique(known)) < 2:
            raise EngineError("the hops of questions can be learnt only where they differ")
        vectors = embedder.embed(questions)
        folds = min(_FOLDS, len(set(topics)))
        accuracy = None
        if folds > 1 and _all_seen(known, topics, folds):
            told = cross_val_predict(_regression(), vectors, known, groups=topics, cv=GroupKFold(folds))
            accuracy = float((told == known).mean())
        return cls(embedder, _regression().fit(vectors, known), accuracy)

    def hops(self, question: str) -> int:
        """Return the number of steps."""
        return int(self.model.predict(self.embedder.embed([question]))[0])


def _regression() -> "LogisticRegression":
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _all_seen(hops: np.ndarray, topics: Sequence[str], folds: int) -> bool:
    """Whether each fold is learnt from more than one number of hops."""
    from sklearn.model_selection import GroupKFold

    return all(len(np.unique(hops[learnt])) > 1 for learnt, _ in GroupKFold(folds).split(hops, groups=topics))
