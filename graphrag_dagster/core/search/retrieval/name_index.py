"""Many names by their words."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.paths.graph_texts import Texts
from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays, write_parts
from graphrag_dagster.core.search.retrieval.spellings import Spellings, aliases
from graphrag_dagster.core.search.retrieval.words import words
from graphrag_dagster.core.search.retrieval.words_in_order import NumbersByWord

_LISTS = ("spelled", "longest", "aliases", "with_word")
_ARRAYS = ("block", "starts", "frequency")


@dataclass(frozen=True, slots=True)
class Mention:
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

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        write_parts(folder, {name: getattr(self, name) for name in (*_LISTS, "spellings")})
        names = (self.written.block, self.written.starts)
        write_arrays(folder, dict(zip(_ARRAYS, (*names, self.frequency), strict=True)))

    @classmethod
    def opened(cls, folder: Path) -> "NameIndex":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        block, starts, frequency = mapped_arrays(folder, _ARRAYS).values()
        spelled, longest, also, with_word = (NumbersByWord.opened(folder / name) for name in _LISTS)
        spellings = Spellings.opened(folder / "spellings")
        return cls(Texts(block, starts), frequency, spelled, longest, also, with_word, spellings)

    @cached_property
    def most_words(self) -> int:
        """The most words of a name."""
        return self.longest.most

    def words(self, place: int) -> tuple[str, ...]:
        """Return the words of a name."""
        return tuple(words(self.written[place]))

    def mentions(self, folded: Sequence[str]) -> Iterator[Mention]:
        """Yield the names in folded words from left to right, at each word the longest, without overlap."""
        start = 0
        while start < len(folded):
            most = max(self.longest.of_word(folded[start]), default=0)
            for length in range(min(most, len(folded) - start), 0, -1):
                places = self.spelled_so(folded[start : start + length])
                if places:
                    yield Mention(start, start + length, tuple(places))
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
