"""Nodes, relations, triples and paths of a graph as texts made of pieces: labels joined by arrows.

A path is ``label -> relation -> label -> …`` (spec_lego §1); a triple is a path of one edge, a node or
a relation a single piece. A relation that is followed against its direction is written ``~relation``. As rows
of pieces thousands of paths cost next to nothing; texts are made of those that are read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores, comparable

#: What stands between two pieces.
ARROW = " -> "
#: What stands before a relation that is followed against its direction.
INVERSE = "~"
#: No piece: rows of less pieces than others are filled up with it.
NO_PIECE = -1

Places = NDArray[np.int64]
Rows = NDArray[np.int32]


@dataclass(frozen=True)
class Vocabulary:
    """The pieces: first the labels, then the relations, then the relations against their direction.

    Attributes:
        labels: different labels of nodes; several nodes may have the same.
        relations: different relations.
    """

    labels: Sequence[str]
    relations: Sequence[str]

    def __len__(self) -> int:
        return len(self.labels) + 2 * len(self.relations)

    def piece(self, place: int) -> str:
        """Return the text of a piece."""
        place = int(place)
        if place < len(self.labels):
            return self.labels[place]
        relation = place - len(self.labels)
        if relation < len(self.relations):
            return self.relations[relation]
        return INVERSE + self.relations[relation - len(self.relations)]

    def relation_pieces(self, relations: NDArray[np.integer], inverse: NDArray[np.bool_]) -> Rows:
        """Return the pieces [n] of relations, those against their direction where ``inverse``."""
        return (relations + len(self.labels) + inverse * len(self.relations)).astype(np.int32)


@dataclass(frozen=True)
class Verbalised:
    """Texts as rows of pieces.

    Attributes:
        vocabulary: the pieces.
        rows: [n, width] places in it, :data:`NO_PIECE` behind the last of a row.
    """

    vocabulary: Vocabulary
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @cached_property
    def texts(self) -> list[str]:
        """The texts."""
        known: dict[int, str] = {}
        for place in np.unique(self.rows).tolist():
            if place != NO_PIECE:
                known[place] = self.vocabulary.piece(place)
        return [ARROW.join(known[one] for one in row if one != NO_PIECE) for row in self.rows.tolist()]

    def at(self, places: Places | Sequence[int]) -> "Verbalised":
        """Return some of them, in the order of their places."""
        return Verbalised(self.vocabulary, self.rows[np.asarray(places, dtype=np.int64)])

    def distinct(self) -> Places:
        """Return the place of the first of each text, in order: nodes that are called alike read alike."""
        if not len(self.rows):
            return np.zeros(0, dtype=np.int64)
        _, first = np.unique(self.rows, axis=0, return_index=True)
        return np.sort(first).astype(np.int64)


def first_by_score(scores: Scores, candidates: Verbalised, most: int = -1) -> Places:
    """Return places by score, highest first; equal scores in the order of their texts (spec_lego §2).

    Args:
        scores: of the candidates [n].
        candidates: whose places are returned.
        most: how many; negative: all.
    """
    found = comparable(scores)
    order = np.argsort(-found, kind="stable")
    if 0 <= most < len(order):
        # What ties with the last that is taken may come before it.
        order = order[found[order] >= found[order[most - 1]]] if most else order[:0]
    borders = [*np.flatnonzero(np.diff(found[order], prepend=np.inf)).tolist(), len(order)]
    for start, end in pairwise(borders):
        if end - start > 1:
            tied = order[start:end]
            texts = candidates.at(tied).texts
            order[start:end] = tied[sorted(range(len(tied)), key=lambda at: (texts[at], tied[at]))]
    return order if most < 0 else order[:most]
