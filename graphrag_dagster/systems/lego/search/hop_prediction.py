"""Predicts how many hops a question needs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from graphrag_dagster.kernel.graph.adjacency_arrays import Longs
from graphrag_dagster.kernel.models.embedders import Embedder

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

#: Words that hang one thing on another, and questions inside a question.
_LINK = re.compile(
    r"\b(?:of|by|in|with|that|whose|whom|for|same)\b|(?<=\w)['’]s?\b|(?<=\w\s)(?:who|which)\b", re.IGNORECASE
)
_MOST = 4
_FOLDS = 5
#: Questions that are learnt from at most: more cost minutes, and tell hardly more.
_MOST_LEARNT = 5000


class HopPredictor(Protocol):
    """Says how many steps a question asks for."""

    def hops(self, question: str) -> int:
        """Return the number of steps, 1 or more."""


class LexicalHops:
    """Without examples: as many steps as words that hang one thing on another, at least 1 and at most 4."""

    def hops(self, question: str) -> int:
        """Return the number of steps, 1 to 4."""
        return min(max(len(_LINK.findall(question)), 1), _MOST)


@dataclass(frozen=True)
class KnownHops:
    """What is known of some questions; of others by their words.

    Attributes:
        known: steps by question.
    """

    known: Mapping[str, int]

    def hops(self, question: str) -> int:
        """Return the number of steps."""
        return self.known.get(question) or LexicalHops().hops(question)


def distinguishable_hops(
    embedder: Embedder, questions: Sequence[str], hops: Sequence[int], topics: Sequence[str]
) -> list[int]:
    """Return the steps of each question as told by what has learnt from those of other topics alone.

    In five parts, or as many as there are topics. Nothing is told where some part would be learnt from
    questions of one number of steps.

    Args:
        embedder: makes the vectors.
        questions: with known hops.
        hops: of each.
        topics: topic entity of each; all questions of one are in the same part.
    """
    from sklearn.model_selection import GroupKFold

    known, folds = np.asarray(hops), min(_FOLDS, len(set(topics)))
    if folds < 2:
        return []
    vectors, told = embedder.embed(questions), np.zeros(len(known), dtype=np.int64)
    for learnt, tried in GroupKFold(folds).split(known, groups=topics):
        some = _sample_places(learnt)
        if len(np.unique(known[some])) < 2:
            return []
        told[tried] = _regression().fit(vectors[some], known[some]).predict(vectors[tried])
    found: list[int] = told.tolist()
    return found


def _sample_places(places: Longs) -> Longs:
    """At most :data:`_MOST_LEARNT` of the places, evenly."""
    return places[:: -(-len(places) // _MOST_LEARNT)]


def _regression() -> "LogisticRegression":
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)
