"""Labels of relations, and nodes, triples and paths as texts composed of labels.

A path is ``label -> relation -> label -> …``, a triple is a path of one edge, and a node or a
relation is a single piece. A relation followed against its direction is written ``~relation``. As arrays of
pieces, thousands of paths are cheap; texts are only made for those that are read.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.text.text_similarity import clean

#: A relation without a known label.
RELATED_TO: Final = "related_to"
#: Two entities occur in one sentence without a grammatical relation.
CO_OCCURS: Final = "co_occurs"

#: Range of non-zero weights for which sums and products of many neither overflow nor underflow.
LIGHTEST, HEAVIEST = 1e-30, 1e30

_MOST_WORDS, _MOST_CHARACTERS = 8, 80
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOTHING = frozenset({"n_a", "na", "nan", "none", "null", "unknown", "unspecified", "not_specified"})


def relation_label(words: str) -> str | None:
    """Return a label: the words in lower case, joined by ``_``; None if they do not make one.

    A label has a letter, and at most 8 words and 80 characters. The function is idempotent.

    >>> relation_label(" Was born-in ")
    'was_born_in'
    >>> relation_label("worksFor")
    'works_for'
    """
    # Normalise other kinds of blanks before unprintable characters are dropped.
    spaced = _CAMEL.sub(" ", _fold(clean(_fold(words))))
    parts = "".join(map(_label_character, _fold(spaced.lower()))).split()
    label = "_".join(parts)
    fits = len(parts) <= _MOST_WORDS and len(label) <= _MOST_CHARACTERS
    return label if fits and label not in _NOTHING and any(map(str.isalpha, label)) else None


def is_weight(number: float) -> bool:
    """Whether a number can be the weight of a relation: 0, or from 1e-30 to 1e30.

    >>> [is_weight(number) for number in (0, 2.5, -1, 1e308, 5e-324, float("nan"))]
    [True, True, False, False, False, False]
    """
    return number == 0 or LIGHTEST <= number <= HEAVIEST


def _fold(words: str) -> str:
    return unicodedata.normalize("NFKC", words)


def _label_character(char: str) -> str:
    if char in "'’":
        return ""
    # Vowel signs of Indic scripts are marks, and part of their words.
    return char if char.isalnum() or unicodedata.category(char).startswith("M") else " "


#: Separator of two pieces.
ARROW = " -> "
#: Prefix of a relation followed against its direction.
INVERSE = "~"
#: Padding of rows with fewer pieces than others.
NO_PIECE = -1

Places = NDArray[np.int64]
Rows = NDArray[np.int32]


@dataclass(frozen=True)
class Vocabulary:
    """The pieces: first the labels, then the relations, then the inverse relations.

    Attributes:
        labels: distinct node labels; several nodes may share one.
        relations: distinct relations.
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
        """Return the pieces [n] of relations, followed against their direction where ``inverse``."""
        return (relations + len(self.labels) + inverse * len(self.relations)).astype(np.int32)


@dataclass(frozen=True)
class VerbalizedRows:
    """Texts as rows of pieces.

    Attributes:
        vocabulary: the pieces.
        rows: [n, width] indices of pieces, padded with :data:`NO_PIECE`.
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
        pieces: dict[int, str] = {}
        for piece in np.unique(self.rows).tolist():
            if piece != NO_PIECE:
                pieces[piece] = self.vocabulary.piece(piece)
        return [ARROW.join(pieces[piece] for piece in row if piece != NO_PIECE) for row in self.rows.tolist()]

    def at(self, places: Places | Sequence[int]) -> "VerbalizedRows":
        """Return a selection, in the given order."""
        return VerbalizedRows(self.vocabulary, self.rows[np.asarray(places, dtype=np.int64)])

    def distinct(self) -> Places:
        """Return the index of the first occurrence of each text, ascending. Nodes with equal labels have
        equal texts.
        """
        if not len(self.rows):
            return np.zeros(0, dtype=np.int64)
        _, first = np.unique(self.rows, axis=0, return_index=True)
        return np.sort(first).astype(np.int64)


def first_by_score(scores: Scores, candidates: VerbalizedRows, most: int = -1) -> Places:
    """Return indices by descending score; ties are ordered by text.

    Args:
        scores: scores of the candidates [n].
        candidates: the candidates.
        most: number of results; negative: all.
    """
    rounded = round_for_comparison(scores)
    order = np.argsort(-rounded, kind="stable")
    if 0 <= most < len(order):
        # Candidates that tie with the last one may precede it by text.
        order = order[rounded[order] >= rounded[order[most - 1]]] if most else order[:0]
    borders = [*np.flatnonzero(np.diff(rounded[order], prepend=np.inf)).tolist(), len(order)]
    for start, end in pairwise(borders):
        if end - start > 1:
            tied = order[start:end]
            texts = candidates.at(tied).texts
            order[start:end] = tied[sorted(range(len(tied)), key=lambda at: (texts[at], tied[at]))]
    return order if most < 0 else order[:most]
