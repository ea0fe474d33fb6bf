"""What the documents of a corpus are called by, to be found in questions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from graphrag_dagster.core.paths.graph_texts import Texts
from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays, write_parts
from graphrag_dagster.core.search.retrieval.lists import WeightedLists
from graphrag_dagster.core.search.retrieval.words_in_order import NumbersByWord
from graphrag_dagster.core.text.english_words import STOP_WORDS

T = TypeVar("T")
Key = tuple[str, ...]


class Called:
    """Names as folded words, each with the places of what is called so."""

    def __init__(self, places: NumbersByWord, longest: int) -> None:
        self._places = places
        self._longest = longest

    @classmethod
    def of(cls, places: Mapping[Key, Collection[int]]) -> "Called":
        """Return names with the places of what is called so."""
        named = {key: some for key, some in places.items() if key}
        return cls(numbers_by(named, " ".join), max(map(len, named), default=0))

    def __getitem__(self, key: Sequence[str]) -> list[int]:
        """Return the places of what is called so, ascending."""
        return self._places.of_word(" ".join(key))

    def runs(self, folded: Sequence[str]) -> Iterator[tuple[int, int, Key]]:
        """Yield start, end and name of those that stand in words: at each the longest, without overlap."""
        start = 0
        while start < len(folded):
            for end in range(min(len(folded), start + self._longest), start, -1):
                if " ".join(key := tuple(folded[start:end])) in self._places:
                    yield start, end, key
                    start = end - 1
                    break
            start += 1

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        self._places.write(folder)
        write_arrays(folder, {"longest": np.array([self._longest])})

    @classmethod
    def opened(cls, folder: Path) -> "Called":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        (longest,) = mapped_arrays(folder, ("longest",)).values()
        return cls(NumbersByWord.opened(folder), int(longest[0]))


@dataclass(frozen=True, eq=False)
class Known:
    """What the documents of a snapshot are called by, each with their places among its names.

    Attributes:
        files: paths and file names, case folded.
        titles: titles and their parts, as between colons, file names without extension and ids in files, with
            and without an article before.
        numbered: nouns with a number that tell documents apart, from titles, file names and metadata.
        folders: paths and names of folders; places are those of all folders, sorted.
        located: names of places that metadata gives.
        meanings: the words of meaning of titles that have several, with blanks between.
        by_rarest: places of these, by the word that fewest of them have.
        meant: the documents of each, by its place among them.
    """

    files: NumbersByWord
    titles: Called
    numbered: NumbersByWord
    folders: Called
    located: Called
    meanings: Texts
    by_rarest: NumbersByWord
    meant: WeightedLists

    def with_all_words(self, every: frozenset[str]) -> Iterator[tuple[frozenset[str], list[int]]]:
        """Yield the words of meaning of each title that are all among some words, with its places."""
        for word in sorted(every):
            for place in self.by_rarest.of_word(word):
                if (some := frozenset(self.meanings[place].split(" "))) <= every:
                    yield some, self.meant.of(place).tolist()

    def numbered_so(self, noun: str, number: int) -> list[int]:
        """Return the places of the documents with a number, as episode 12."""
        return self.numbered.of_word(f"{noun} {number}")

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        write_parts(folder, {name: getattr(self, name) for name in _PARTS})
        write_arrays(folder, {"block": self.meanings.block, "starts": self.meanings.starts})

    @classmethod
    def opened(cls, folder: Path) -> "Known":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        parts = {name: kind.opened(folder / name) for name, kind in _PARTS.items()}
        return cls(meanings=Texts(*mapped_arrays(folder, ("block", "starts")).values()), **parts)


_PARTS: Mapping[str, Any] = MappingProxyType(
    {
        "files": NumbersByWord,
        "titles": Called,
        "numbered": NumbersByWord,
        "folders": Called,
        "located": Called,
        "by_rarest": NumbersByWord,
        "meant": WeightedLists,
    }
)


def of_meaning(found: Iterable[str]) -> Iterator[str]:
    """Yield the folded words that are no figures and carry a meaning of their own."""
    return (word for word in found if word not in STOP_WORDS and not word.isdigit())


def without_article(key: Key) -> Key:
    """Return the words of a name without an article before."""
    return key[1:] if len(key) > 1 and key[0] in ("the", "a", "an") else key


def numbers_by(places: Mapping[T, Collection[int]], spelled: Callable[[T], str]) -> NumbersByWord:
    """Return the numbers of keys by words, ascending."""
    return NumbersByWord.of({spelled(key): sorted(some) for key, some in places.items()})
