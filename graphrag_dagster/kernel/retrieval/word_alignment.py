"""Alignment of the words of a question with sentences, by stem or by the similarity of words."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores, cosines
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.kernel.text.text_similarity import stem, words

#: Cosine at which one word may match another.
_LEAST = 0.35


@dataclass(frozen=True, slots=True)
class Aligned:
    """Alignment of the words [w] of a question with sentences [n].

    ``held`` [n, w]: 1 for the same stem, else the cosine of the best match, 0 to 1. ``same`` [n, w]: whether
    the stem itself occurs. ``weight`` [w]: rarity of each word among the sentences.
    """

    held: Scores
    same: NDArray[np.bool_]
    weight: Scores


def align_words(
    asked: Sequence[str], sentences: Sequence[str], embedder: Embedder, names: Collection[str] = ()
) -> Aligned:
    """Align the words of a question with those of sentences.

    Args:
        asked: meaningful words in lower case, in any order.
        sentences: the candidates, which also serve as the background for rarity.
        embedder: embeds single words.
        names: stems that, like numbers, only match exactly.
    """
    tokens = [
        [word for word in words(text) if word not in STOP_WORDS and len(word) > 1] for text in sentences
    ]
    vocabulary = sorted({*asked, *chain.from_iterable(tokens)})
    position = {word: number for number, word in enumerate(vocabulary)}
    vectors = embedder.embed(vocabulary)
    stems = np.array([stem(word) for word in vocabulary], dtype=object)
    # The last column is for sentences without a meaningful word.
    similarity = np.zeros((len(asked), len(vocabulary) + 1))
    equal = np.zeros((len(asked), len(vocabulary) + 1), dtype=np.bool_)
    for row, word in enumerate(asked):
        if stem(word) not in names and word.isalpha():
            cosine = cosines(vectors, vectors[position[word]])
            similarity[row, :-1] = np.where(cosine >= _LEAST, cosine, 0.0)
        equal[row, :-1] = stems == stem(word)
    similarity[equal] = 1.0
    flat, starts = _flatten_rows([[position[word] for word in row] or [len(vocabulary)] for row in tokens])
    frequency = Counter(chain.from_iterable({stem(word) for word in row} for row in tokens))
    weight = [math.log(1 + len(sentences) / (1 + frequency[stem(word)])) for word in asked]
    return Aligned(
        np.maximum.reduceat(similarity[:, flat], starts, axis=1).T,
        np.logical_or.reduceat(equal[:, flat], starts, axis=1).T,
        np.array(weight),
    )


def _flatten_rows(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    lengths = np.array([len(row) for row in rows], dtype=np.intp)
    starts = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)[:-1]])
    return np.fromiter(chain.from_iterable(rows), dtype=np.intp, count=int(lengths.sum())), starts
