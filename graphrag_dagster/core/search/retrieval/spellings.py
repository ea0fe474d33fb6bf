"""Names that are spelled nearly alike, and other spellings of one name."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.paths.graph_texts import Texts
from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays, write_parts
from graphrag_dagster.core.search.retrieval.words import words
from graphrag_dagster.core.search.retrieval.words_in_order import NumbersByWord
from graphrag_dagster.core.text.english_words import FORMS_OF_ADDRESS, LEGAL_FORMS

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


class Spellings:
    """Finds words and names by near spellings: a letter or two, an ending, or where the words are parted.

    Args:
        letters: the places of the names of the same letters in a row.
        words: the words of names that may be meant by a slip, the shorter first.
        begins: where the words of each number of letters begin, and the last end.
    """

    def __init__(self, letters: NumbersByWord, words: Texts, begins: NDArray[np.int64]) -> None:
        self._letters = letters
        self._words = words
        self._begins = begins

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

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        write_parts(folder, {"letters": self._letters})
        write_arrays(
            folder, {"block": self._words.block, "starts": self._words.starts, "begins": self._begins}
        )

    @classmethod
    def opened(cls, folder: Path) -> "Spellings":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        arrays = mapped_arrays(folder, ("block", "starts", "begins"))
        words = Texts(arrays["block"], arrays["starts"])
        return cls(NumbersByWord.opened(folder / "letters"), words, arrays["begins"])

    def of_letters(self, spelled: Sequence[str]) -> list[int]:
        """Return the places of the names of the same letters, however they are parted into words."""
        return self._letters.of_word("".join(spelled))

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
        last = len(self._begins) - 1
        first, end = (int(self._begins[min(size, last)]) for size in (least, most + 1))
        return self._words[first:end]


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
