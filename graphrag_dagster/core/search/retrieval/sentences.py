"""Sentences of a text, and how much of a question each of them has."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from math import fsum

from graphrag_dagster.core.ranks import Scores

_BETWEEN = re.compile(r"(?<=[a-z0-9)\]\"”’][.!?])\s+|\n+")
_LONGEST_ENDING = 5


def sentence_starts(text: str) -> list[int]:
    """Return where the sentences of a text begin, by its full stops and line breaks."""
    return [0, *(between.end() for between in _BETWEEN.finditer(text))]


class TermFinder:
    """Finds a question's stems in texts, by what words begin with.

    Args:
        stems: the stems.
        weights: how much each counts.
    """

    def __init__(self, stems: Sequence[str], weights: Scores) -> None:
        whole = float(weights.sum()) or 1.0
        order = sorted(range(len(stems)), key=lambda place: (-len(stems[place]), place))
        self._weights = [float(weights[place]) / whole for place in order]
        likely = "|".join(f"({_ending_open(stems[place])})" for place in order)
        self._pattern = re.compile(rf"\b(?:{likely})\w{{0,{_LONGEST_ENDING}}}\b") if stems else None

    def shares(self, text: str, starts: Sequence[int]) -> list[float]:
        """Return the share of the question, 0–1, that each sentence has."""
        found: list[set[int]] = [set() for _ in starts]
        if self._pattern is not None:
            for word in self._pattern.finditer(text.lower()):
                found[bisect_right(starts, word.start()) - 1].add((word.lastindex or 1) - 1)
        return [fsum(self._weights[place] for place in places) for places in found]


def _ending_open(stem: str) -> str:
    """A stem of "happy" is "happi"."""
    return f"{re.escape(stem[:-1])}[iy]" if len(stem) > 2 and stem.endswith("i") else re.escape(stem)
