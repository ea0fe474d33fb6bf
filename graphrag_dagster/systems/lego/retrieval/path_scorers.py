"""Scorers of nodes, relations, triples and paths: BM25, static vectors, and chance (spec_lego §2)."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, expand_ranges
from graphrag_dagster.kernel.graph.graph_labels import ARROW, NO_PIECE, VerbalizedRows, Vocabulary
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder, shared_static
from graphrag_dagster.kernel.text.text_similarity import words
from graphrag_dagster.kernel.text.tokenization import get_tokenizer


class PathScorer(Protocol):
    """Says how well nodes, relations, triples or paths fit a question."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a score: kind, model and version."""

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return one finite score per candidate [n], higher is better; of any scale.

        A score may depend on the other candidates, but not on their order.
        """

    def tokens(self, candidates: VerbalizedRows) -> int:
        """Return how many tokens of the candidates a model reads; 0 where there is none."""


_ENCODING = "cl100k_base"


def tokens_of(candidates: VerbalizedRows) -> int:
    """Return the tokens of all candidates by the encoding that is counted by elsewhere, too."""
    return sum(get_tokenizer(_ENCODING).counts(candidates.texts))


#: Slot of no piece; it has no tokens.
NO_SLOT = 0
_UNMET = -1


class PieceTokens(ABC):
    """The tokens of the pieces that were met, each in a slot of its own.

    Args:
        most: pieces that are cached; when there are more, all are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._labels: object = None
        self._relations: object = None
        self._slot_of = np.zeros(0, dtype=np.int32)
        self._forget()

    @abstractmethod
    def _learnt(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """Take note of pieces that get the next slots, and return the tokens of each."""

    def _forget(self) -> None:
        """Begin anew, with the slot of no piece alone."""
        self.starts: Longs = np.zeros(2, dtype=np.int64)
        self.tokens: Longs = np.zeros(0, dtype=np.int64)
        self._slot_of.fill(_UNMET)
        self._slot_of[-1:] = NO_SLOT

    @property
    def lengths(self) -> Longs:
        """Tokens of the piece in each slot."""
        return np.diff(self.starts)

    def slots(self, candidates: VerbalizedRows) -> NDArray[np.int32]:
        """Return the slots of the pieces of candidates [n, width]; :data:`NO_SLOT` where there is none."""
        vocabulary, rows = candidates.vocabulary, candidates.rows
        if vocabulary.labels is not self._labels or vocabulary.relations is not self._relations:
            self._labels, self._relations = vocabulary.labels, vocabulary.relations
            self._slot_of = np.empty(len(vocabulary) + 1, dtype=np.int32)
            self._forget()
        found = self._slot_of[rows]
        if (found == _UNMET).any():
            met = len(self.starts) - 1
            fresh = np.unique(rows[found == _UNMET])
            if met + len(fresh) > self._most:
                self._forget()
                met, fresh = 1, np.unique(rows)
                fresh = fresh[fresh != NO_PIECE]
            texts = [vocabulary.piece(place) for place in fresh]
            tokens = self._learnt(texts)
            ends = self.starts[-1] + np.cumsum([len(one) for one in tokens], dtype=np.int64)
            self.starts = np.concatenate([self.starts, ends])
            more = np.fromiter(chain.from_iterable(tokens), dtype=np.int64)
            self.tokens = np.concatenate([self.tokens, more])
            self._slot_of[fresh] = np.arange(met, met + len(fresh), dtype=np.int32)
            found = self._slot_of[rows]
        return found

    def spread(self, slots: NDArray[np.int32]) -> tuple[Longs, Longs]:
        """Return the candidate of each token, and the token, candidate after candidate."""
        flat = slots.ravel()
        of = np.repeat(np.arange(len(slots), dtype=np.int64), self.lengths[slots].sum(axis=1))
        return of, self.tokens[expand_ranges(self.starts, flat)]


#: Saturation of a word's frequency, how much the length counts, and the share of the mean rarity that a word
#: in more than half of the texts is given (spec_lego §2).
K1, B, EPSILON = 1.5, 0.75, 0.25
_MOST = 1_000_000


class Bm25Scorer:
    """Okapi BM25 with the candidates as its texts; relations such as ``directed_by`` are read as their words.

    The rarity of a word is ln(N − n + ½) − ln(n + ½) of N texts, n of which have it; one below 0 is replaced
    by a quarter of the mean of all, and never makes a text worse.

    Args:
        most: pieces whose words are cached.
    """

    name = f"bm25/k1={K1} b={B} epsilon={EPSILON}"

    def __init__(self, most: int = _MOST) -> None:
        self._pieces = _PieceWords(most)

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return the weight of the question's words in each candidate [n]; see the port."""
        count = len(candidates)
        found = np.zeros(count)
        of, terms = self._pieces.spread(self._pieces.slots(candidates))
        if not len(terms):
            return found
        lengths = np.bincount(of, minlength=count)
        known = len(self._pieces.numbers)
        pairs, frequency = np.unique(of * known + terms, return_counts=True)
        of, terms = pairs // known, pairs % known
        texts_with = np.bincount(terms, minlength=known)
        rarity = np.log(count - texts_with + 0.5) - np.log(texts_with + 0.5)
        common = EPSILON * max(float(rarity[texts_with > 0].mean()), 0.0)
        rarity = np.where(rarity < 0, common, rarity)
        longer = K1 * (1 - B + B * lengths / lengths.mean())
        for word in words(question):
            number = self._pieces.numbers.get(word)
            if number is not None and number < known and texts_with[number]:
                (here,) = np.nonzero(terms == number)
                times, texts = frequency[here], of[here]
                found[texts] += rarity[number] * times * (K1 + 1) / (times + longer[texts])
        return round_for_comparison(found)

    def tokens(self, candidates: VerbalizedRows) -> int:  # noqa: ARG002 - no model reads them.
        """Return 0."""
        return 0


class _PieceWords(PieceTokens):
    """The words of each piece, as numbers."""

    def _forget(self) -> None:
        super()._forget()
        self.numbers: dict[str, int] = {}

    def _learnt(self, texts: Sequence[str]) -> list[Sequence[int]]:
        numbers = self.numbers
        return [[numbers.setdefault(word, len(numbers)) for word in words(text)] for text in texts]


_MOST_VECTORS = 200_000
_BLANK = "\u2581"
#: Candidates whose vectors are made at a time: few enough to stay in a processor's cache.
_AT_ONCE = 512

Vectors = NDArray[np.float32]


class StaticScorer:
    """Cosine of question and text by :class:`StaticEmbedder`, without making the text.

    Its tokens never reach over a blank into the word before, so that those of ``label -> relation`` are those
    of its pieces and of the arrows. A piece that begins or ends with a blank, or holds a mark of the
    tokenizer itself, is the exception: texts with one are embedded as they are. The sums of the vectors of
    tokens are of single precision: scores are those of the texts to about 1e-6.

    Args:
        most: pieces whose sums are cached.
    """

    def __init__(self, most: int = _MOST_VECTORS) -> None:
        self._pieces = _PieceSums(most)

    @property
    def name(self) -> str:
        """That of the embedder."""
        return shared_static().name

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return the cosine of each candidate [n]; see the port."""
        slots = self._pieces.slots(candidates)
        asked = shared_static().embed([question])[0].astype(np.float64)
        found = self._pieces.cosines(slots, asked)
        (whole,) = np.nonzero(self._pieces.irregular[slots].any(axis=1))
        if len(whole):
            texts = candidates.at(whole).texts
            found[whole] = shared_static().embed(texts).astype(np.float64) @ asked
        return round_for_comparison(found)

    def tokens(self, candidates: VerbalizedRows) -> int:
        """Return the tokens of all candidates."""
        slots = self._pieces.slots(candidates)
        arrows = np.maximum((slots != 0).sum(axis=1) - 1, 0)
        return int(self._pieces.lengths[slots].sum() + arrows.sum() * self._pieces.arrow_tokens)


class _PieceSums(PieceTokens):
    """The sum of the vectors of each piece's tokens."""

    def __init__(self, most: int) -> None:
        self._tokenizer, self._table = StaticEmbedder().model
        self._reaching = any(_BLANK in token.lstrip(_BLANK) for token in self._tokenizer.get_vocab())
        self._marks = tuple(one.content for one in self._tokenizer.get_added_tokens_decoder().values())
        arrow = self._encoded([ARROW.strip()])[0]
        self.arrow_tokens = len(arrow)
        self._arrow = self._summed([arrow])[0].astype(np.float64)
        super().__init__(most)

    def _forget(self) -> None:
        super()._forget()
        self._sums: Vectors = np.zeros((1, self._table.shape[1]), dtype=np.float32)
        self.irregular: NDArray[np.bool_] = np.zeros(1, dtype=np.bool_)

    def _learnt(self, texts: Sequence[str]) -> list[Sequence[int]]:
        tokens = self._encoded(texts)
        met = len(self.irregular)
        self.irregular = np.append(self.irregular, [self._is_irregular(text) for text in texts])
        if len(self.irregular) > len(self._sums):
            wide = np.zeros((2 * len(self.irregular), self._sums.shape[1]), dtype=np.float32)
            wide[:met] = self._sums[:met]
            self._sums = wide
        for start in range(0, len(tokens), _AT_ONCE):
            some = tokens[start : start + _AT_ONCE]
            self._sums[met + start : met + start + len(some)] = self._summed(some)
        return tokens

    def _is_irregular(self, text: str) -> bool:
        blank = not text or text != text.strip() or _BLANK in text
        return self._reaching or blank or any(one in text for one in self._marks)

    def _encoded(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return [one.ids for one in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def _summed(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        """The sum of the vectors of each list of tokens."""
        lengths = np.array([len(one) for one in tokens])
        found = np.zeros((len(tokens), self._table.shape[1]), dtype=np.float32)
        flat = np.fromiter(chain.from_iterable(tokens), dtype=np.int64)
        if len(flat):
            begins = (np.cumsum(lengths) - lengths)[lengths > 0]
            found[lengths > 0] = np.add.reduceat(self._table[flat], begins, axis=0, dtype=np.float64)
        return found

    def cosines(self, slots: NDArray[np.int32], asked: NDArray[np.float64]) -> Scores:
        """Return the cosine of each row of slots [n, width] with a unit vector."""
        sums = self._added(slots)
        arrows = np.maximum((slots != 0).sum(axis=1) - 1, 0)
        found = np.zeros(len(slots))
        for start in range(0, len(slots), _AT_ONCE):
            block = sums[start : start + _AT_ONCE].astype(np.float64)
            block += arrows[start : start + _AT_ONCE, None] * self._arrow
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
            found[start : start + _AT_ONCE] = (block @ asked) / np.where(lengths > 0, lengths, 1.0)
        return found

    def _added(self, slots: NDArray[np.int32]) -> Vectors:
        """The sums of rows of slots; what a row shares with the one before it is added once.

        Always from left to right, so that it does not matter what is shared.
        """
        if not len(slots):
            return np.zeros((0, self._sums.shape[1]), dtype=np.float32)
        differs = np.ones(slots.shape, dtype=np.bool_)
        differs[1:] = np.logical_or.accumulate(slots[1:] != slots[:-1], axis=1)
        sums, group = (
            np.zeros((1, self._sums.shape[1]), dtype=np.float32),
            np.zeros(len(slots), dtype=np.int64),
        )
        for column in range(slots.shape[1]):
            (first,) = np.nonzero(differs[:, column])
            grown = sums if len(first) == len(sums) else sums[group[first]]
            grown += self._sums[slots[first, column]]
            sums, group = grown, np.cumsum(differs[:, column]) - 1
        return sums if len(sums) == len(slots) else sums[group]


_BETWEEN = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


class WordedScorer:
    """Scores texts as another scorer does, once their relations are written as words.

    Args:
        scorer: that scores.
    """

    def __init__(self, scorer: PathScorer) -> None:
        self._scorer = scorer
        self._known: tuple[Sequence[str], Sequence[str]] = ((), ())

    @property
    def name(self) -> str:
        """That of the other, and that relations are words."""
        return f"{self._scorer.name}, relations as words"

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return one score per candidate [n]; see the port."""
        return self._scorer.scores(question, self._worded(candidates))

    def tokens(self, candidates: VerbalizedRows) -> int:
        """Return the tokens of all candidates."""
        return self._scorer.tokens(self._worded(candidates))

    def _worded(self, candidates: VerbalizedRows) -> VerbalizedRows:
        vocabulary = candidates.vocabulary
        relations, words = self._known
        if vocabulary.relations is not relations:
            words = list(map(in_words, vocabulary.relations))
            self._known = (vocabulary.relations, words)
        return VerbalizedRows(Vocabulary(vocabulary.labels, words), candidates.rows)


def in_words(relation: str) -> str:
    """Return a relation as words; as it is where it has none.

    >>> in_words("directed_by"), in_words("film.film.releaseYear"), in_words("->")
    ('directed by', 'film film release Year', '->')
    """
    return " ".join(_BETWEEN.sub(" ", relation).split()) or relation


class ShuffledScorer:
    """A number from 0 to 1 for question and text, the same in whatever order and company they come.

    Args:
        seed: other seeds give other numbers.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    @property
    def name(self) -> str:
        """``random/<seed>``."""
        return f"random/{self._seed}"

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return a number for each candidate [n]."""
        begun = blake2b(f"{self._seed}\n{question}\n".encode("utf-8", "surrogatepass"), digest_size=6)
        found = np.zeros(len(candidates))
        for place, text in enumerate(candidates.texts):
            drawn = begun.copy()
            drawn.update(text.encode("utf-8", "surrogatepass"))
            found[place] = int.from_bytes(drawn.digest(), "big") / 2**48
        return found

    def tokens(self, candidates: VerbalizedRows) -> int:  # noqa: ARG002 - no model reads them.
        """Return 0."""
        return 0
