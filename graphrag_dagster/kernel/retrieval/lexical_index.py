"""Lexical index: BM25 scores, and the rarity of words."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import WordsInOrder, expand_ranges
from graphrag_dagster.kernel.retrieval.search_words import stems_of, words
from graphrag_dagster.kernel.storage.index_cache import Shelf, load_or_build
from graphrag_dagster.kernel.text.languages import ENGLISH, main_language


@dataclass(frozen=True, eq=False)
class Postings:
    """An inverted index; texts and scores of stem i are at ``begins[i]`` to ``begins[i + 1]``.

    Attributes:
        stems: all stems.
        begins: where the texts of each stem begin, and where the last end [stems + 1].
        texts: positions of texts, ascending per stem.
        scores: one per entry of ``texts``.
    """

    stems: WordsInOrder
    begins: NDArray[np.int64]
    texts: NDArray[np.int32]
    scores: NDArray[np.float32]

    def of(self, stem: str) -> slice:
        """Return the slice with the texts of a stem; empty for an unknown stem."""
        number = self.stems.number(stem)
        if number is None:
            return slice(0, 0)
        return slice(int(self.begins[number]), int(self.begins[number + 1]))


def postings_of(texts: Sequence[str], language: str = ENGLISH) -> Postings:
    """Return BM25 scores of texts (Robertson & Zaragoza 2009, Lucene's variant: k1 = 1.5, b = 0.75)."""
    stems = stems_of(texts, language)
    if not any(stems):
        empty = np.zeros(0)
        return Postings(
            WordsInOrder.of(()), np.zeros(1, np.int64), empty.astype(np.int32), empty.astype(np.float32)
        )
    import bm25s

    # Importing it turns on its debug messages.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index = bm25s.BM25(backend="numpy", csc_backend="numpy", auto_compile=False)
    index.index(stems, show_progress=False)
    begins = index.scores["indptr"].astype(np.int64)
    # Numbers without texts are for unknown words; the order of the others varies from run to run.
    numbered = {stem: number for stem, number in index.vocab_dict.items() if number < len(begins) - 1}
    table = WordsInOrder.of(numbered)
    numbers = np.array([numbered[stem] for stem in table], dtype=np.int64)
    positions = expand_ranges(begins, numbers)
    ends = np.zeros(len(numbers) + 1, dtype=np.int64)
    np.cumsum(np.diff(begins)[numbers], out=ends[1:])
    return Postings(table, ends, index.scores["indices"][positions], index.scores["data"][positions])


@dataclass(frozen=True, slots=True)
class Terms:
    """The stems of a question, each with the positions of the ``texts`` that have it and its ``scores``."""

    stems: tuple[str, ...]
    texts: tuple[NDArray[np.int64], ...]
    scores: tuple[NDArray[np.float64], ...]
    size: int

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each stem: BM25's inverse document frequency."""
        frequency = np.array([len(positions) for positions in self.texts], dtype=np.float64)
        return np.log(1 + (self.size - frequency + 0.5) / (frequency + 0.5))

    def present(self) -> NDArray[np.bool_]:
        """Return which stem occurs in which text [stems, texts]."""
        occurs = np.zeros((len(self.stems), self.size), dtype=np.bool_)
        for row, texts in enumerate(self.texts):
            occurs[row, texts] = True
        return occurs

    def sums(self, counted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the BM25 score of each text over the selected stems."""
        totals = np.zeros(self.size)
        for row in np.flatnonzero(counted).tolist():
            totals[self.texts[row]] += self.scores[row]
        return totals


class LexicalIndex:
    """BM25 over texts; see :func:`postings_of`. Words that occur in no text are ignored.

    Args:
        texts: the texts.
        shelf: stores the index; None: it is built for the first question.
        name: of the texts on the shelf.
    """

    def __init__(self, texts: Sequence[str], shelf: Shelf | None = None, name: str = "") -> None:
        self._texts = texts
        self._shelf = shelf
        self._name = name

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return one score ≥ 0 per text, higher if it has more of the question's rare words."""
        return self.scores_of(self.stems(question))

    def scores_of(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """Return :meth:`scores` for the stems of a question."""
        totals = np.zeros(len(self._texts), dtype=np.float32)
        for stem in stems:
            inside = self.postings.of(stem)
            totals[self.postings.texts[inside]] += self.postings.scores[inside]
        return totals.astype(np.float64)

    def terms(self, question: str) -> "Terms":
        """Return the distinct stems of a question with the texts that have them."""
        return self.terms_of(self.stems(question))

    def terms_of(self, stems: Sequence[str]) -> "Terms":
        """Return the distinct given stems with the texts that have them."""
        stems = list(dict.fromkeys(stems))
        slices = [self.postings.of(stem) for stem in stems]
        return Terms(
            tuple(stems),
            tuple(self.postings.texts[inside].astype(np.int64) for inside in slices),
            tuple(self.postings.scores[inside].astype(np.float64) for inside in slices),
            len(self._texts),
        )

    def stems(self, text: str) -> list[str]:
        """Return the stems of a text's words without stop words."""
        return self.stems_of([text])[0]

    def stems_of(self, texts: Sequence[str]) -> list[list[str]]:
        """Return :meth:`stems` of each text."""
        return stems_of(texts, self.language)

    @cached_property
    def language(self) -> str:
        """ISO 639 code of the language whose endings and stop words the texts have."""
        return main_language(self._texts)

    @cached_property
    def postings(self) -> Postings:
        """The inverted index, from the shelf if there is one."""
        return load_or_build(
            self._shelf, self._name, lambda: postings_of(self._texts, self.language), Postings
        )


# A word, with a possessive ending if there is one.
_PIECE = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*")


@dataclass(frozen=True, eq=False)
class WordRarity:
    """Rarity of words among texts, from 0 (in every text) to 1 (in none).

    It is ``log((n + 1) / (d + 1)) / log(n + 1)`` for a word that d of n texts contain.

    Attributes:
        table: the folded words.
        counts: number of texts with each.
        plain: number of texts with each in lower case.
        size: number of texts.
    """

    table: WordsInOrder
    counts: NDArray[np.int64]
    plain: NDArray[np.int64]
    size: int

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> "WordRarity":
        """Build from texts."""
        counts: dict[str, int] = {}
        plain: dict[str, int] = {}
        folds: dict[str, tuple[str, ...]] = {}
        size = 0
        for text in texts:
            size += 1
            lower_case: dict[str, bool] = {}
            for piece in set(_PIECE.findall(text)):
                if piece not in folds:
                    folds[piece] = tuple(words(piece))
                for word in folds[piece]:
                    lower_case[word] = lower_case.get(word, False) or piece[0].islower()
            for word, lower in lower_case.items():
                counts[word] = counts.get(word, 0) + 1
                if lower:
                    plain[word] = plain.get(word, 0) + 1
        table = WordsInOrder.of(counts)
        return cls(
            table,
            np.array([counts[word] for word in table], dtype=np.int64),
            np.array([plain.get(word, 0) for word in table], dtype=np.int64),
            size,
        )

    def of(self, word: str) -> float:
        """Return the rarity of a folded word."""
        if not self.size:
            return 1.0
        number = self.table.number(word)
        texts = 0 if number is None else int(self.counts[number])
        return log((self.size + 1) / (texts + 1)) / log(self.size + 1)

    def has_word(self, word: str) -> bool:
        """Return whether any text has the folded word."""
        return self.table.number(word) is not None

    def is_plain(self, word: str) -> bool:
        """Return whether at least half of the texts with a folded word have it in lower case."""
        number = self.table.number(word)
        return number is not None and bool(2 * self.plain[number] >= self.counts[number])
