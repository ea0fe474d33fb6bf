"""Sentences of a text, and what of a question each of them has."""

import re
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_BETWEEN = re.compile(r"(?<=[a-z0-9)\]\"”’][.!?])\s+|\n+")
_LONGEST_ENDING = 5


def sentence_starts(text: str) -> list[int]:
    """Return where the sentences of a text begin, by its full stops and line breaks."""
    return [0, *(between.end() for between in _BETWEEN.finditer(text))]


class TermFinder:
    """Finds a question's stems in texts, by what words begin with.

    Args:
        stems: the stems.
    """

    def __init__(self, stems: Sequence[str]) -> None:
        # Of two stems of which one begins with the other, the longer is found first.
        self._order = sorted(range(len(stems)), key=lambda place: (-len(stems[place]), place))
        likely = "|".join(f"({_ending_open(stems[place])})" for place in self._order)
        self._pattern = re.compile(rf"\b(?:{likely})\w{{0,{_LONGEST_ENDING}}}\b") if stems else None

    def found(self, text: str, starts: Sequence[int]) -> NDArray[np.bool_]:
        """Return which sentence has which stem [sentences, stems]."""
        found = np.zeros((len(starts), len(self._order)), dtype=np.bool_)
        if self._pattern is not None:
            for word in self._pattern.finditer(text.lower()):
                found[bisect_right(starts, word.start()) - 1, self._order[(word.lastindex or 1) - 1]] = True
        return found


def _ending_open(stem: str) -> str:
    """A stem of "happy" is "happi"."""
    return f"{re.escape(stem[:-1])}[iy]" if len(stem) > 2 and stem.endswith("i") else re.escape(stem)
