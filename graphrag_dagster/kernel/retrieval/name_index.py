"""Many names by their words, and by near spellings."""

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

# "Brand (play)" is called Brand.
_QUALIFIER = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_LEAST_INITIALS = 3
_LEAST_LETTERS, _MANY_LETTERS = 4, 8
_MOST_WORDS = 30


def unqualified(name: str) -> str:
    """Return a title without what stands in brackets at its end.

    >>> unqualified("Brand (play)")
    'Brand'
    """
    return _QUALIFIER.sub("", name)


def aliases(name: str, whole: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield other spellings of a name, as words: without qualifier, form of address or legal form; initials.

    Args:
        name: as written.
        whole: its words.

    >>> list(aliases("Royal Air Force (UK)", ("royal", "air", "force", "uk")))
    [('royal', 'air', 'force'), ('raf',)]
    """
    if len(whole) < 2:
        return
    short = tuple(words(unqualified(name))) if name.endswith((")", "]")) else whole
    bare = short
    while len(bare) > 1 and bare[0] in FORMS_OF_ADDRESS:
        bare = bare[1:]
    while len(bare) > 1 and bare[-1] in LEGAL_FORMS:
        bare = bare[:-1]
    found = [short, bare]
    if len(short) >= _LEAST_INITIALS:
        capitals = "".join(piece[0] for piece in unqualified(name).split() if piece[0].isupper())
        if len(capitals) >= _LEAST_INITIALS:
            found.append((capitals.lower(),))
    yield from (spelling for spelling in dict.fromkeys(found) if spelling and spelling != whole)


@dataclass(frozen=True, eq=False)
class Spellings:
    """Finds words and names by near spellings: a letter or two, an ending, or where the words are parted.

    Attributes:
        letters: the places of the names of the same letters in a row.
        words: the words of names that may be meant by a slip, the shorter first.
        begins: where the words of each number of letters begin, and the last end.
    """

    letters: NumbersByWord
    words: Texts
    begins: NDArray[np.int64]

    @classmethod
    def of(cls, names: Sequence[tuple[str, ...]]) -> "Spellings":
        """Return what finds names.

        Args:
            names: the words of each.
        """
        letters: dict[str, list[int]] = defaultdict(list)
        by_size: dict[int, list[str]] = defaultdict(list)
        for place, name in enumerate(names):
            if name:
                letters["".join(name)].append(place)
        for word in dict.fromkeys(word for name in names for word in name):
            if len(word) >= _LEAST_LETTERS - 1 and word.isalpha():
                by_size[len(word)].append(word)
        sizes = range(max(by_size, default=0) + 1)
        begins = np.cumsum([0, *(len(by_size[size]) for size in sizes)], dtype=np.int64)
        return cls(
            NumbersByWord.of(letters), Texts.of(word for size in sizes for word in by_size[size]), begins
        )

    def of_letters(self, spelled: Sequence[str]) -> list[int]:
        """Return the places of the names of the same letters, however they are parted into words."""
        return self.letters.of_word("".join(spelled))

    def near(self, word: str) -> list[str]:
        """Return the words of names that a word may be a slip for, the nearest first.

        One letter more, less, other or exchanged with its neighbour; two in words of at least eight letters.
        A word with a digit, or of fewer than four letters, is none.
        """
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if len(word) < _LEAST_LETTERS or not word.isalpha():
            return []
        most = 2 if len(word) >= _MANY_LETTERS else 1
        likely = self._of_sizes(len(word) - most, len(word) + most)
        found = process.extract(
            word, likely, scorer=OSA.distance, score_cutoff=most, limit=_MOST_WORDS, processor=None
        )
        return [known for known, distance, _ in sorted(found, key=lambda one: (one[1], one[0])) if distance]

    def _of_sizes(self, least: int, most: int) -> Sequence[str]:
        """The words of so many letters, the shorter first."""
        last = len(self.begins) - 1
        first, end = (int(self.begins[min(size, last)]) for size in (least, most + 1))
        return self.words[first:end]


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 less the share of letters in which two spellings differ."""
    from rapidfuzz.distance import OSA

    return float(OSA.normalized_similarity(" ".join(one), " ".join(other)))


def is_slip(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two rows of words differ by slips alone: neither in a number nor in a short word.

    >>> is_slip(("selma", "drey"), ("selma", "dray")), is_slip(("henry", "ii"), ("henry", "iii"))
    (True, False)
    """
    return len(one) == len(other) and all(map(_is_slip, one, other))


def _is_slip(one: str, other: str) -> bool:
    from rapidfuzz.distance import OSA

    if one == other or one in plurals(other) or other in plurals(one):
        return True
    size = min(len(one), len(other))
    if size < _LEAST_LETTERS or not (one.isalpha() and other.isalpha()):
        return False
    return bool(OSA.distance(one, other) <= (2 if size >= _MANY_LETTERS else 1))


def plurals(word: str) -> tuple[str, ...]:
    """Return a word of at least three letters without, and with, the endings of a plural.

    >>> plurals("carters")
    ('carterss', 'carterses', 'carter')
    """
    if len(word) < _LEAST_INITIALS or not word.isalpha():
        return ()
    ends = [ending for ending in ("s", "es") if word.endswith(ending) and len(word) > _LEAST_INITIALS]
    return (f"{word}s", f"{word}es", *(word.removesuffix(ending) for ending in ends))


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name that stands in a text: words ``start`` to ``end``, and the places of the names spelled so."""

    start: int
    end: int
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Names, and what finds their places by words; the time for a text hardly depends on their number.

    Attributes:
        written: the names.
        frequency: of each name, how often it occurs.
        spelled: places by all words of a name, with blanks between.
        longest: the most words of a name by its first.
        aliases: places by the words of another spelling that means the same.
        with_word: places of the names of several words by each of these.
        spellings: finds near spellings.
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
        """Return names with what finds them.

        Args:
            names: the names.
            frequency: of each name; None: all alike.
            others: further spellings, as words, and the places of the names that they are spellings of.
        """
        split = [tuple(words(name)) for name in names]
        spelled: dict[str, list[int]] = defaultdict(list)
        longest: dict[str, int] = defaultdict(int)
        also: dict[str, list[int]] = defaultdict(list)
        with_word: dict[str, list[int]] = defaultdict(list)
        for place, (name, whole) in enumerate(zip(names, split, strict=True)):
            if whole:
                spelled[" ".join(whole)].append(place)
                longest[whole[0]] = max(longest[whole[0]], len(whole))
            for alias in aliases(name, whole):
                also[" ".join(alias)].append(place)
            for word in dict.fromkeys(whole) if len(whole) > 1 else ():
                with_word[word].append(place)
        for other, places in (others or {}).items():
            spelled[" ".join(other)] += places
            longest[other[0]] = max(longest[other[0]], len(other))
        return cls(
            Texts.of(names),
            np.ones(len(names), dtype=np.int64) if frequency is None else np.maximum(frequency, 1),
            NumbersByWord.of(spelled),
            NumbersByWord.of({first: [most] for first, most in longest.items()}),
            NumbersByWord.of(also),
            NumbersByWord.of(with_word),
            Spellings.of(split),
        )

    @cached_property
    def most_words(self) -> int:
        """The most words of a name."""
        return self.longest.most

    def words(self, place: int) -> tuple[str, ...]:
        """Return the words of a name."""
        return tuple(words(self.written[place]))

    def mentions(self, folded: Sequence[str]) -> Iterator[NameMatch]:
        """Yield the names in folded words from left to right, at each word the longest, without overlap."""
        start = 0
        while start < len(folded):
            most = max(self.longest.of_word(folded[start]), default=0)
            for length in range(min(most, len(folded) - start), 0, -1):
                places = self.spelled_so(folded[start : start + length])
                if places:
                    yield NameMatch(start, start + length, tuple(places))
                    start += length
                    break
            else:
                start += 1

    def spelled_so(self, folded: Sequence[str]) -> list[int]:
        """Return the places of the names of just these words."""
        return self.spelled.of_word(" ".join(folded))

    def also_spelled(self, folded: Sequence[str]) -> list[int]:
        """Return the places of the names of which these words are another spelling that means the same."""
        return self.aliases.of_word(" ".join(folded))

    def parted_otherwise(self, folded: Sequence[str]) -> list[int]:
        """Return the places of the names of the same letters in other words: "Jean Luc" for "Jeanluc"."""
        own = tuple(folded)
        return [place for place in self.spellings.of_letters(own) if self.words(place) != own]

    def knows(self, word: str) -> bool:
        """Return whether any name has the word."""
        return word in self.with_word or word in self.spelled
