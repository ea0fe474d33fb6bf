"""What a statement has in common with the words it cites."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.models.embedder import Embedder
from graphrag_dagster.kernel.questions.support.names import (
    KnownWords,
    Name,
    missing_from,
    names_of,
    share_found,
)
from graphrag_dagster.kernel.questions.support.numbers import Number, is_among
from graphrag_dagster.kernel.questions.support.reading import REMEMBERED, Sentence, read
from graphrag_dagster.kernel.text.tokens import get_tokenizer

#: Rarity of words, and its sum over a statement, from which more makes no difference.
_RARE, _MUCH = 12.0, 60.0


@dataclass(frozen=True, slots=True)
class Measures:
    """What speaks for support, each 0–1 and more the better.

    Attributes:
        found: share of the statement's words that the cited words have, rare ones counting more; of a word
            that they lack, the cosine of the nearest that they have.
        rarest: 1 less the rarity of the rarest word that is lacking.
        lacking: 1 less the rarity of all words that are lacking together.
        near: cosine of the statement and the nearest sentence.
        numbers: share of its numbers that the cited words have.
        names: share of its names' words that they have.
    """

    found: float
    rarest: float
    lacking: float
    near: float
    numbers: float
    names: float

    def values(self) -> tuple[float, ...]:
        """Return them in the order of :data:`MEASURES`."""
        return tuple(getattr(self, name) for name in MEASURES)


MEASURES = tuple(one.name for one in fields(Measures))


class Comparison:
    """A statement beside the words it cites.

    Args:
        statement: what is said.
        words: all it cites.
        embedder: tells near words; None compares words alone.
        about: names of what the cited words are about; pronouns among them may stand for these.
    """

    def __init__(self, statement: str, words: str, embedder: Embedder | None = None, about: str = "") -> None:
        self.said, self.cited = read(statement), read(words)
        self._statement, self._words = statement, words
        self._about = about
        self._embedder = embedder
        self.rarities = {one: _rarity(word) for one, word in self.said.surfaces.items()}

    @cached_property
    def measures(self) -> Measures:
        """What speaks for support."""
        nearness, near = self._near()
        lacking = {one: weight * (1 - nearness[one]) for one, weight in self.rarities.items()}
        total = sum(self.rarities.values())
        numbers = self.said.numbers
        return Measures(
            found=1 - sum(lacking.values()) / total if total else 0.0,
            rarest=1 - min(max(lacking.values(), default=_RARE) / _RARE, 1.0),
            lacking=1 - min(sum(lacking.values()) / _MUCH, 1.0),
            near=near,
            numbers=1 - len(self.missing_numbers) / len(numbers) if numbers else 1.0,
            names=share_found(self.names, self.known),
        )

    def share(self, known: Collection[str]) -> float:
        """Return the share, 0–1, of the statement's stems among those known, rare ones counting more."""
        total = sum(self.rarities.values())
        return sum(weight for one, weight in self.rarities.items() if one in known) / total if total else 0.0

    @cached_property
    def closest(self) -> Sentence | None:
        """The cited sentence that has most of the statement; the first of several, None without one."""
        return max(self.cited.sentences, key=lambda one: self.share(frozenset(one.stems)), default=None)

    @cached_property
    def missing_numbers(self) -> tuple[Number, ...]:
        """Numbers of the statement that the cited words do not have."""
        return tuple(one for one in self.said.numbers if not is_among(one, self.cited.numbers))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """The names of the statement."""
        return tuple(names_of(self._statement, self._common))

    @cached_property
    def missing_names(self) -> tuple[Name, ...]:
        """Those of them that the cited words do not have."""
        others = _names_in(self._words)
        return tuple(one for one in self.names if missing_from(one, self.known, others))

    @cached_property
    def missing_words(self) -> tuple[str, ...]:
        """Words of the statement that the cited words do not have, rare ones first."""
        missing = [one for one in self.rarities if one not in self.cited.surfaces]
        return tuple(self.said.surfaces[one] for one in sorted(missing, key=lambda one: -self.rarities[one]))

    def _common(self, word: str) -> bool:
        """Whether a word is written small elsewhere: in the cited words, or more often than not."""
        return word.lower() in self.cited.lower or _written_small(word)

    @cached_property
    def known(self) -> KnownWords:
        """What its names may be found by."""
        known = self.cited.known
        return known.with_those_of(self._about) if self._about and self.cited.pronouns else known

    def _near(self) -> tuple[dict[str, float], float]:
        """How near the nearest cited word is to each stem, and the nearest sentence to the statement."""
        exact = {one: float(one in self.cited.surfaces) for one in self.rarities}
        if self._embedder is None or not exact or not self.cited.surfaces:
            return exact, self.share(self.cited.surfaces)
        sentences = [one.text for one in self.cited.sentences]
        said, cited = list(self.said.surfaces.values()), list(self.cited.surfaces.values())
        vectors = self._embedder.embed([self._statement, *sentences, *said, *cited])
        near = _likest(vectors[:1], vectors[1 : 1 + len(sentences)])[0]
        words = vectors[1 + len(sentences) :]
        likest = _likest(words[: len(said)], words[len(said) :])
        return {one: max(exact[one], like) for one, like in zip(exact, likest, strict=True)}, near


def _likest(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> list[float]:
    """The largest cosine, 0–1, of each vector to one of the others."""
    cosines = (vectors.astype(np.float64) @ others.astype(np.float64).T).max(axis=1)
    return [min(max(float(one), 0.0), 1.0) for one in cosines.round(9)]


@lru_cache(maxsize=REMEMBERED)
def _names_in(words: str) -> tuple[Name, ...]:
    return tuple(names_of(words, _written_small))


def _written_small(word: str) -> bool:
    """Whether a word is more frequent without a capital."""
    return _rarity(word.lower()) < _rarity(word)


@lru_cache(maxsize=200_000)
def _rarity(word: str) -> float:
    """How rare a word is, always by the same vocabulary: the weights were fitted with it."""
    return get_tokenizer("cl100k_base").rarity(word)
