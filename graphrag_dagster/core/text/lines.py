"""Sentences as they stand: their places in the rows of a context, who says them, what is beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.text.similarity import stem, words
from graphrag_dagster.core.text.turns import asks, speaker_before


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence as it stands: its place in its row 0…, the row's sentences, number and title.

    Lines of one row follow each other.
    """

    text: str
    place: int
    size: int
    row: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """Who says a line, blank where nobody is named, and what; the stems of all its words; whether it asks."""

    speaker: str
    said: str
    stems: tuple[str, ...]
    asks: bool


def turns(lines: Sequence[Line]) -> list[Turn]:
    """Return who says each line, as the last label in its row says."""
    found: list[Turn] = []
    speaker, row = "", None
    for line in lines:
        named, start = speaker_before(line.text)
        if start or line.row != row:
            speaker, row = named, line.row
        said = line.text[start:]
        found.append(Turn(speaker, said, tuple(map(stem, words(said))), asks(said)))
    return found


class Rows:
    """The rows that lines stand in.

    Args:
        lines: at least one.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self._rows = np.array([line.row for line in lines])
        self._starts = np.flatnonzero(np.concatenate([[True], self._rows[1:] != self._rows[:-1]]))
        self._sizes = np.diff(np.append(self._starts, len(lines)))

    def beside(self, held: Scores, distance: int) -> Scores:
        """Return what the line so many places before (after, if negative) in the same row has, else 0."""
        found = np.zeros_like(held)
        ahead = slice(abs(distance), len(held))
        behind = slice(0, max(len(held) - abs(distance), 0))
        own, other = (ahead, behind) if distance > 0 else (behind, ahead)
        found[own] = held[other] * (self._rows[own] == self._rows[other])[:, None]
        return found

    def best(self, held: Scores) -> Scores:
        """Return for each line the most that any line of its row has."""
        return self._of_all(np.maximum.reduceat(held, self._starts, axis=0))

    def sums(self, held: Scores) -> Scores:
        """Return for each line what the lines of its row have together."""
        return self._of_all(np.add.reduceat(held, self._starts, axis=0))

    def _of_all(self, by_row: Scores) -> Scores:
        repeated: Scores = np.repeat(by_row, self._sizes, axis=0)
        return repeated
