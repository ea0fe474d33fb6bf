"""Names that are spelled nearly alike, and other spellings of one name."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from graphrag_dagster.core.search.retrieval.words import words
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
        names: the words of each name.
    """

    def __init__(self, names: Sequence[tuple[str, ...]]) -> None:
        self._names = names

    def parted_otherwise(self, spelled: Sequence[str]) -> list[int]:
        """Return the places of the names of the same letters in other words: "Jean Luc" for "Jeanluc"."""
        own = tuple(spelled)
        found = self._by_letters.get("".join(spelled), [])
        return [place for place in found if self._names[place] != own]

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
        sizes = range(len(word) - most, len(word) + most + 1)
        likely = [known for size in sizes for known in self._by_size.get(size, [])]
        found = process.extract(
            word, likely, scorer=OSA.distance, score_cutoff=most, limit=_MOST_WORDS, processor=None
        )
        return [known for known, distance, _ in sorted(found, key=lambda one: (one[1], one[0])) if distance]

    @cached_property
    def _by_letters(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(self._names):
            if name:
                found["".join(name)].append(place)
        return dict(found)

    @cached_property
    def _by_size(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = defaultdict(list)
        for word in dict.fromkeys(word for name in self._names for word in name):
            if len(word) >= _LEAST_LETTERS - 1 and word.isalpha():
                found[len(word)].append(word)
        return dict(found)


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
