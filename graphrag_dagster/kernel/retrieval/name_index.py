"""An index of names by their words and by similar spellings."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import NumbersByWord, Texts
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.text.english_words import FORMS_OF_ADDRESS, LEGAL_FORMS

# "Brand (play)" is also called Brand.
_QUALIFIER = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_LEAST_INITIALS = 3
_LEAST_LETTERS, _MANY_LETTERS = 4, 8
_MOST_WORDS = 30


def unqualified(name: str) -> str:
    """Return a title without a trailing qualifier in brackets.

    >>> unqualified("Brand (play)")
    'Brand'
    """
    return _QUALIFIER.sub("", name)


def aliases(name: str, whole: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield aliases of a name as words: without qualifier, form of address or legal form; initials.

    Args:
        name: as written.
        whole: its words.

    >>> list(aliases("Royal Air Force (UK)", ("royal", "air", "force", "uk")))
    [('royal', 'air', 'force'), ('raf',)]
    """
    if len(whole) < 2:
        return
    short = tuple(words(unqualified(name))) if name.endswith((")", "]")) else whole
    base_name = short
    while len(base_name) > 1 and base_name[0] in FORMS_OF_ADDRESS:
        base_name = base_name[1:]
    while len(base_name) > 1 and base_name[-1] in LEGAL_FORMS:
        base_name = base_name[:-1]
    spellings = [short, base_name]
    if len(short) >= _LEAST_INITIALS:
        capitals = "".join(piece[0] for piece in unqualified(name).split() if piece[0].isupper())
        if len(capitals) >= _LEAST_INITIALS:
            spellings.append((capitals.lower(),))
    yield from (spelling for spelling in dict.fromkeys(spellings) if spelling and spelling != whole)


@dataclass(frozen=True, eq=False)
class Spellings:
    """Finds words and names by similar spelling: a letter or two, an ending, or split words.

    Attributes:
        letters: the positions of names by their letters without blanks.
        words: the words of names that may be misspelt, shortest first.
        begins: where the words of each length begin, and where the last end.
    """

    letters: NumbersByWord
    words: Texts
    begins: NDArray[np.int64]

    @classmethod
    def of(cls, names: Sequence[tuple[str, ...]]) -> "Spellings":
        """Build from names.

        Args:
            names: the words of each name.
        """
        letters: dict[str, list[int]] = defaultdict(list)
        by_size: dict[int, list[str]] = defaultdict(list)
        for position, name in enumerate(names):
            if name:
                letters["".join(name)].append(position)
        for word in dict.fromkeys(word for name in names for word in name):
            if len(word) >= _LEAST_LETTERS - 1 and word.isalpha():
                by_size[len(word)].append(word)
        sizes = range(max(by_size, default=0) + 1)
        begins = np.cumsum([0, *(len(by_size[size]) for size in sizes)], dtype=np.int64)
        return cls(
            NumbersByWord.of(letters), Texts.of(word for size in sizes for word in by_size[size]), begins
        )

    def of_letters(self, spelled: Sequence[str]) -> list[int]:
        """Return the positions of the names with the same letters, however they are split into words."""
        return self.letters.of_word("".join(spelled))

    def near(self, word: str) -> list[str]:
        """Return the words of names that a word may misspell, nearest first.

        Allowed are one insertion, deletion, substitution or transposition; two in words of at least eight
        letters. Words with a digit or of fewer than four letters never match.
        """
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if len(word) < _LEAST_LETTERS or not word.isalpha():
            return []
        most_edits = 2 if len(word) >= _MANY_LETTERS else 1
        candidates = self._words_of_lengths(len(word) - most_edits, len(word) + most_edits)
        matches = process.extract(
            word, candidates, scorer=OSA.distance, score_cutoff=most_edits, limit=_MOST_WORDS, processor=None
        )
        return [
            known
            for known, distance, _ in sorted(matches, key=lambda match: (match[1], match[0]))
            if distance
        ]

    def _words_of_lengths(self, least: int, most: int) -> Sequence[str]:
        """Return the words with a length from ``least`` to ``most``, shortest first."""
        last = len(self.begins) - 1
        first, end = (int(self.begins[min(size, last)]) for size in (least, most + 1))
        return self.words[first:end]


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 minus the share of letters in which two spellings differ."""
    from rapidfuzz.distance import OSA

    return float(OSA.normalized_similarity(" ".join(one), " ".join(other)))


def is_slip(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names differ only by misspellings, and not in a number or a short word.

    >>> is_slip(("selma", "drey"), ("selma", "dray")), is_slip(("henry", "ii"), ("henry", "iii"))
    (True, False)
    """
    return len(one) == len(other) and all(map(_is_slip, one, other))


def _is_slip(first: str, second: str) -> bool:
    from rapidfuzz.distance import OSA

    if first == second or first in plurals(second) or second in plurals(first):
        return True
    size = min(len(first), len(second))
    if size < _LEAST_LETTERS or not (first.isalpha() and second.isalpha()):
        return False
    return bool(OSA.distance(first, second) <= (2 if size >= _MANY_LETTERS else 1))


def plurals(word: str) -> tuple[str, ...]:
    """Return a word of at least three letters with plural endings added and removed.

    >>> plurals("carters")
    ('carterss', 'carterses', 'carter')
    """
    if len(word) < _LEAST_INITIALS or not word.isalpha():
        return ()
    endings = [ending for ending in ("s", "es") if word.endswith(ending) and len(word) > _LEAST_INITIALS]
    return (f"{word}s", f"{word}es", *(word.removesuffix(ending) for ending in endings))


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name found in a text: words ``start`` to ``end``, and the positions of the names spelled so."""

    start: int
    end: int
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Names and their positions by words; the lookup time hardly depends on their number.

    Attributes:
        written: the names.
        frequency: of each name.
        spelled: positions by all words of a name, joined by blanks.
        longest: the most words of a name by its first word.
        aliases: positions by the words of an alias.
        with_word: positions of multi-word names by each word.
        spellings: finds similar spellings.
    """

    written: Texts
    frequency: NDArray[np.int64]
    spelled: NumbersByWord
    longest: NumbersByWord
    aliases: NumbersByWord
    with_word: NumbersByWord
    spellings: Spellings

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        frequency: NDArray[np.int64] | None = None,
        others: Mapping[tuple[str, ...], Sequence[int]] | None = None,
    ) -> "NameIndex":
        """Build from names.

        Args:
            names: the names.
            frequency: of each name; None: all equal.
            others: further spellings as words, with the positions of their names.
        """
        split = [tuple(words(name)) for name in names]
        spelled: dict[str, list[int]] = defaultdict(list)
        longest: dict[str, int] = defaultdict(int)
        alias_positions: dict[str, list[int]] = defaultdict(list)
        with_word: dict[str, list[int]] = defaultdict(list)
        for position, (name, name_words) in enumerate(zip(names, split, strict=True)):
            if name_words:
                spelled[" ".join(name_words)].append(position)
                longest[name_words[0]] = max(longest[name_words[0]], len(name_words))
            for alias in aliases(name, name_words):
                alias_positions[" ".join(alias)].append(position)
            for word in dict.fromkeys(name_words) if len(name_words) > 1 else ():
                with_word[word].append(position)
        for spelling, positions in (others or {}).items():
            spelled[" ".join(spelling)] += positions
            longest[spelling[0]] = max(longest[spelling[0]], len(spelling))
        return cls(
            Texts.of(names),
            np.ones(len(names), dtype=np.int64) if frequency is None else np.maximum(frequency, 1),
            NumbersByWord.of(spelled),
            NumbersByWord.of({first: [most] for first, most in longest.items()}),
            NumbersByWord.of(alias_positions),
            NumbersByWord.of(with_word),
            Spellings.of(split),
        )

    @cached_property
    def most_words(self) -> int:
        """The most words of any name."""
        return self.longest.most

    def words(self, place: int) -> tuple[str, ...]:
        """Return the words of a name."""
        return tuple(words(self.written[place]))

    def mentions(self, folded: Sequence[str]) -> Iterator[NameMatch]:
        """Yield the names in folded words from left to right, longest match first, without overlaps."""
        start = 0
        while start < len(folded):
            most = max(self.longest.of_word(folded[start]), default=0)
            for length in range(min(most, len(folded) - start), 0, -1):
                positions = self.entities_spelled(folded[start : start + length])
                if positions:
                    yield NameMatch(start, start + length, tuple(positions))
                    start += length
                    break
            else:
                start += 1

    def entities_spelled(self, folded: Sequence[str]) -> list[int]:
        """Return the positions of the names with exactly these words."""
        return self.spelled.of_word(" ".join(folded))

    def entities_with_alias(self, folded: Sequence[str]) -> list[int]:
        """Return the positions of the names that have these words as an alias."""
        return self.aliases.of_word(" ".join(folded))

    def entities_split_otherwise(self, folded: Sequence[str]) -> list[int]:
        """Return the positions of names with the same letters split differently: "Jean Luc" for "Jeanluc"."""
        spelled = tuple(folded)
        return [
            position for position in self.spellings.of_letters(spelled) if self.words(position) != spelled
        ]

    def has_word(self, word: str) -> bool:
        """Return whether any name has the word."""
        return word in self.with_word or word in self.spelled
