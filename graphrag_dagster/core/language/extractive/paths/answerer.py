"""Answering by rule: where the paths end."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.language.path_selection import UNKNOWN, GraphAnswer
from graphrag_dagster.core.language.tasks import Engine
from graphrag_dagster.core.ranks import Scores, comparable
from graphrag_dagster.core.text.verbalised import NO_PIECE, Verbalised

Flags = NDArray[np.bool_]

#: What a node counts between the ends of a path.
_INNER = 0.5
#: What a node that reports name counts beside, for each of what it counts.
_REPORTED = 0.5
#: Share of the largest weight from which a node is named.
_NAMED = 0.5


class ExtractivePathAnswerer:
    """Names the nodes that the best paths lead to, each on a line, with the first path that ends there.

    A path counts e^score of its score over the sum of all, for its end whole, for the nodes between by half.
    What reports of communities name counts half as much again. Named is what has half of the largest sum or
    more. Where paths begin is what was asked about, and is no answer.
    """

    engine: Final[Engine] = "extractive"

    def answer(
        self, question: str, paths: Verbalised, scores: Scores, reports: Sequence[str] = ()
    ) -> GraphAnswer:
        """Return the nodes, weightiest first, equal ones by name; see the port."""
        del question
        nodes = paths.rows[:, 0::2]
        lengths = (nodes != NO_PIECE).sum(axis=1)
        place = np.arange(nodes.shape[1])
        is_end = place == lengths[:, None] - 1
        open_ = (nodes != NO_PIECE) & ~np.isin(nodes, nodes[:, 0])
        if not open_.any():
            return GraphAnswer(UNKNOWN, self.engine, named=())
        shares = softmax(scores)[:, None] * np.where(is_end, 1.0, _INNER)
        found, of = np.unique(nodes[open_], return_inverse=True)
        summed: Scores = np.bincount(of, weights=shares[open_]).astype(np.float64)
        names = [paths.vocabulary.piece(one) for one in found]
        weights = comparable(summed * (1 + _REPORTED * _named_in(reports, names)))
        # The first path that ends there; else the first that leads through it.
        rank = (np.arange(len(nodes))[:, None] + np.where(is_end, 0, len(nodes)))[open_]
        first = np.full(len(found), 2 * len(nodes))
        np.minimum.at(first, of, rank)
        named = [one for one in range(len(found)) if weights[one] >= _NAMED * weights.max()]
        named.sort(key=lambda one: (-weights[one], names[one]))
        return GraphAnswer(
            "\n".join(names[one] for one in named),
            self.engine,
            tuple(names[one] for one in named),
            tuple(int(first[one]) % len(nodes) for one in named),
        )


def _named_in(reports: Sequence[str], names: Sequence[str]) -> Flags:
    """Return which names stand in reports as words [n]; in whatever capitals."""
    text = "\n".join(reports).casefold()
    parts = [rf"(?<!\w){re.escape(name.casefold())}(?!\w)" for name in names]
    return np.array([bool(text) and re.search(part, text) is not None for part in parts], dtype=np.bool_)


def softmax(scores: Scores) -> Scores:
    """Return e^score of each over the sum of all [n]; they add up to 1."""
    powers = np.exp(scores - scores.max()) if len(scores) else scores
    found: Scores = powers / powers.sum() if len(scores) else scores
    return found
