"""Which words of sentences stand for the words of a question: the same stem, else the nearest meaning."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.ranks import Scores, cosines
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.english_words import STOP_WORDS
from graphrag_dagster.core.text.similarity import stem, words

#: Cosine of two words from which one may stand for the other.
_LEAST = 0.35


@dataclass(frozen=True, slots=True)
class Aligned:
    """How well each sentence [n] holds each word [w] of a question: 1 for its stem, else by meaning, 0…1.

    ``same``: the stem itself is there. ``weight`` [w]: how rare the words are among the sentences.
    """

    held: Scores
    same: NDArray[np.bool_]
    weight: Scores


def aligned(
    asked: Sequence[str], sentences: Sequence[str], embedder: Embedder, names: Collection[str] = ()
) -> Aligned:
    """Compare the words of a question with those of sentences.

    Args:
        asked: meaningful words, lower case, in any order.
        sentences: what may hold them; also the background for what is rare.
        embedder: makes the vectors of single words.
        names: stems for which, as for numbers, nothing else may stand.
    """
    said = [[word for word in words(text) if word not in STOP_WORDS and len(word) > 1] for text in sentences]
    vocabulary = sorted({*asked, *chain.from_iterable(said)})
    place = {word: number for number, word in enumerate(vocabulary)}
    vectors = embedder.embed(vocabulary)
    stems = np.array([stem(word) for word in vocabulary], dtype=object)
    # The last column stands for sentences without a meaningful word.
    near = np.zeros((len(asked), len(vocabulary) + 1))
    equal = np.zeros((len(asked), len(vocabulary) + 1), dtype=np.bool_)
    for row, word in enumerate(asked):
        if stem(word) not in names and word.isalpha():
            cosine = cosines(vectors, vectors[place[word]])
            near[row, :-1] = np.where(cosine >= _LEAST, cosine, 0.0)
        equal[row, :-1] = stems == stem(word)
    near[equal] = 1.0
    flat, starts = _flat([[place[word] for word in own] or [len(vocabulary)] for own in said])
    often = Counter(chain.from_iterable({stem(word) for word in own} for own in said))
    weight = [math.log(1 + len(sentences) / (1 + often[stem(word)])) for word in asked]
    return Aligned(
        np.maximum.reduceat(near[:, flat], starts, axis=1).T,
        np.logical_or.reduceat(equal[:, flat], starts, axis=1).T,
        np.array(weight),
    )


def _flat(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    lengths = np.array([len(row) for row in rows], dtype=np.intp)
    starts = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)[:-1]])
    return np.fromiter(chain.from_iterable(rows), dtype=np.intp, count=int(lengths.sum())), starts
