"""Scorers of nodes, relations, triples and paths: BM25, static vectors, and chance."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import expand_ranges
from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs
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


@dataclass(frozen=True, slots=True)
class PieceTokens:
    """The distinct pieces of candidates, each in a slot; slot 0 is that of no piece and has no tokens.

    Attributes:
        slots: of the pieces of each candidate [n, width].
        texts: of the pieces in slots 1…
        tokens: of all pieces, one after the other.
        starts: where those of each slot begin, and where the last ends.
    """

    slots: Longs
    texts: Sequence[str]
    tokens: Longs
    starts: Longs

    @classmethod
    def of(
        cls, candidates: VerbalizedRows, tokenize: Callable[[Sequence[str]], Sequence[Sequence[int]]]
    ) -> Self:
        """Tokenize each distinct piece once."""
        rows = candidates.rows
        places, slots = np.unique(rows, return_inverse=True)
        padded = int((places[:1] == NO_PIECE).sum())
        texts = [candidates.vocabulary.piece(place) for place in places[padded:]]
        tokens = tokenize(texts)
        starts = np.cumsum([0, 0, *map(len, tokens)], dtype=np.int64)
        flat = np.fromiter(chain.from_iterable(tokens), dtype=np.int64)
        return cls(slots.reshape(rows.shape) + (not padded), texts, flat, starts)

    @property
    def lengths(self) -> Longs:
        """Tokens of the piece in each slot."""
        return np.diff(self.starts)

    @property
    def arrows(self) -> Longs:
        """Arrows in each candidate [n]."""
        arrows: Longs = np.maximum((self.slots != 0).sum(axis=1) - 1, 0)
        return arrows

    def spread(self) -> tuple[Longs, Longs]:
        """Return the candidate of each token, and the token, candidate after candidate."""
        of = np.repeat(np.arange(len(self.slots)), self.lengths[self.slots].sum(axis=1))
        return of, self.tokens[expand_ranges(self.starts, self.slots.ravel())]


#: Saturation of a word's frequency, how much the length counts, and the share of the mean rarity that a word
#: in more than half of the texts is given.
K1, B, EPSILON = 1.5, 0.75, 0.25


class Bm25Scorer:
    """Okapi BM25 with the candidates as its texts; relations such as ``directed_by`` are read as their words.

    The rarity of a word is ln(N − n + ½) − ln(n + ½) of N texts, n of which have it; one below 0 is replaced
    by a quarter of the mean of all, and never makes a text worse.
    """

    name = f"bm25/k1={K1} b={B} epsilon={EPSILON}"

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return the weight of the question's words in each candidate [n]; see the port."""
        count, numbers = len(candidates), dict[str, int]()

        def numbered(texts: Sequence[str]) -> list[list[int]]:
            return [[numbers.setdefault(word, len(numbers)) for word in words(text)] for text in texts]

        found = np.zeros(count)
        of, terms = PieceTokens.of(candidates, numbered).spread()
        if not len(terms):
            return found
        lengths, known = np.bincount(of, minlength=count), len(numbers)
        pairs, frequency = np.unique(of * known + terms, return_counts=True)
        of, terms = pairs // known, pairs % known
        texts_with = np.bincount(terms, minlength=known)
        rarity = np.log(count - texts_with + 0.5) - np.log(texts_with + 0.5)
        common = EPSILON * max(float(rarity[texts_with > 0].mean()), 0.0)
        rarity = np.where(rarity < 0, common, rarity)
        longer = K1 * (1 - B + B * lengths / lengths.mean())
        for word in words(question):
            number = numbers.get(word)
            if number is not None:
                (here,) = np.nonzero(terms == number)
                times, texts = frequency[here], of[here]
                found[texts] += rarity[number] * times * (K1 + 1) / (times + longer[texts])
        return round_for_comparison(found)

    def tokens(self, candidates: VerbalizedRows) -> int:  # noqa: ARG002 - no model reads them.
        """Return 0."""
        return 0


_BLANK = "\u2581"
#: Candidates whose vectors are made at a time: few enough to stay in a processor's cache.
_AT_ONCE = 512
_MOST = 100_000

Vectors = NDArray[np.float32]


class StaticScorer:
    """Cosine of question and text by :class:`StaticEmbedder`, without making the text.

    Its tokens never reach over a blank into the word before, so that those of ``label -> relation`` are those
    of its pieces and of the arrows. A piece that begins or ends with a blank, or holds a mark of the
    tokenizer itself, is the exception: texts with one are embedded as they are. The sums of the vectors of
    tokens are of single precision: scores are those of the texts to about 1e-6.
    """

    @property
    def name(self) -> str:
        """That of the embedder."""
        return shared_static().name

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return the cosine of each candidate [n]; see the port."""
        pieces = PieceTokens.of(candidates, _static_tokens)
        asked = shared_static().embed([question])[0].astype(np.float64)
        found = _cosines(pieces, asked)
        irregular = np.array([False, *map(_is_irregular, pieces.texts)])
        (whole,) = np.nonzero(irregular[pieces.slots].any(axis=1))
        if len(whole):
            texts = candidates.at(whole).texts
            found[whole] = shared_static().embed(texts).astype(np.float64) @ asked
        return round_for_comparison(found)

    def tokens(self, candidates: VerbalizedRows) -> int:
        """Return the tokens of all candidates."""
        pieces = PieceTokens.of(candidates, _static_tokens)
        return int(pieces.lengths[pieces.slots].sum() + pieces.arrows.sum() * len(_arrow()))


def _static_tokens(texts: Sequence[str]) -> list[tuple[int, ...]]:
    return list(map(_tokens_of_piece, texts))


@lru_cache(maxsize=_MOST)
def _tokens_of_piece(text: str) -> tuple[int, ...]:
    tokenizer, _ = StaticEmbedder().model
    return tuple(tokenizer.encode(text, add_special_tokens=False).ids)


def _arrow() -> tuple[int, ...]:
    return _tokens_of_piece(ARROW.strip())


@cache
def _marks() -> tuple[str, ...] | None:
    """What a piece may not hold if its tokens are to stand alone; None: no piece is safe."""
    tokenizer, _ = StaticEmbedder().model
    if any(_BLANK in token.lstrip(_BLANK) for token in tokenizer.get_vocab()):
        return None
    return (_BLANK, *(one.content for one in tokenizer.get_added_tokens_decoder().values()))


def _is_irregular(text: str) -> bool:
    marks = _marks()
    return marks is None or not text or text != text.strip() or any(one in text for one in marks)


def _cosines(pieces: PieceTokens, asked: NDArray[np.float64]) -> Scores:
    """Return the cosine of each candidate [n] with a unit vector."""
    sums, arrows = _added(pieces.slots, _summed(pieces)), pieces.arrows
    _, table = StaticEmbedder().model
    arrow = table[list(_arrow())].sum(axis=0, dtype=np.float64)
    found = np.zeros(len(sums))
    for start in range(0, len(sums), _AT_ONCE):
        block = sums[start : start + _AT_ONCE].astype(np.float64)
        block += arrows[start : start + _AT_ONCE, None] * arrow
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        found[start : start + _AT_ONCE] = (block @ asked) / np.where(lengths > 0, lengths, 1.0)
    return found


def _summed(pieces: PieceTokens) -> Vectors:
    """Return the sum of the vectors of the tokens of each slot."""
    _, table = StaticEmbedder().model
    found = np.zeros((len(pieces.lengths), table.shape[1]), dtype=np.float32)
    (filled,) = np.nonzero(pieces.lengths)
    for start in range(0, len(filled), _AT_ONCE):
        some = filled[start : start + _AT_ONCE]
        begins = pieces.starts[some]
        tokens = pieces.tokens[begins[0] : pieces.starts[some[-1] + 1]]
        found[some] = np.add.reduceat(table[tokens], begins - begins[0], axis=0, dtype=np.float64)
    return found


def _added(slots: Longs, sums_of: Vectors) -> Vectors:
    """Add the sums of each row of slots; what a row shares with the one before it is added once.

    Always from left to right, so that it does not matter what is shared.
    """
    sums, group = np.zeros((1, sums_of.shape[1]), dtype=np.float32), np.zeros(len(slots), dtype=np.int64)
    if not len(slots):
        return sums[:0]
    differs = np.ones(slots.shape, dtype=np.bool_)
    differs[1:] = np.logical_or.accumulate(slots[1:] != slots[:-1], axis=1)
    for column in range(slots.shape[1]):
        (first,) = np.nonzero(differs[:, column])
        grown = sums if len(first) == len(sums) else sums[group[first]]
        grown += sums_of[slots[first, column]]
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
        relations = list(map(in_words, vocabulary.relations))
        return VerbalizedRows(Vocabulary(vocabulary.labels, relations), candidates.rows)


@lru_cache(maxsize=_MOST)
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
