"""Many names by their words."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from graphrag_dagster.core.search.retrieval.spellings import Spellings, aliases
from graphrag_dagster.core.search.retrieval.words import words


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that stands in a text: words ``start`` to ``end``, and the places of the names spelled so."""

    start: int
    end: int
    places: tuple[int, ...]


class NameIndex:
    """Dictionaries from words to the places of names; the time for a text does not depend on their number.

    Args:
        names: the names.
        frequency: of each name; None: all alike.
        others: further spellings, as words, and the places of the names that they are spellings of.
    """

    def __init__(
        self,
        names: Sequence[str],
        frequency: Sequence[int] | None = None,
        others: Mapping[tuple[str, ...], Sequence[int]] | None = None,
    ) -> None:
        self.written = names
        self.names = [tuple(words(name)) for name in names]
        self._frequency = frequency
        self._by_words: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._longest: dict[str, int] = defaultdict(int)
        for place, name in enumerate(self.names):
            if name:
                self._by_words[name].append(place)
                self._longest[name[0]] = max(self._longest[name[0]], len(name))
        for spelled, places in (others or {}).items():
            self._by_words[spelled] += places
            self._longest[spelled[0]] = max(self._longest[spelled[0]], len(spelled))
        self.most_words = max(self._longest.values(), default=0)

    def frequency(self, place: int) -> int:
        """Return how often a name occurs."""
        return 1 if self._frequency is None else max(int(self._frequency[place]), 1)

    def mentions(self, folded: Sequence[str]) -> Iterator[Mention]:
        """Yield the names in folded words from left to right, at each word the longest, without overlap."""
        start = 0
        while start < len(folded):
            for length in range(min(self._longest.get(folded[start], 0), len(folded) - start), 0, -1):
                places = self._by_words.get(tuple(folded[start : start + length]))
                if places:
                    yield Mention(start, start + length, tuple(places))
                    start += length
                    break
            else:
                start += 1

    def spelled(self, folded: Sequence[str]) -> list[int]:
        """Return the places of the names of just these words."""
        return self._by_words.get(tuple(folded), [])

    def also_spelled(self, folded: Sequence[str]) -> list[int]:
        """Return the places of the names of which these words are another spelling that means the same."""
        return self._by_alias.get(tuple(folded), [])

    def with_word(self, word: str) -> list[int]:
        """Return the places of the names of several words of which one is this."""
        return self._with_word.get(word, [])

    def knows(self, word: str) -> bool:
        """Return whether any name has the word."""
        return word in self._with_word or (word,) in self._by_words

    @cached_property
    def spellings(self) -> Spellings:
        """What finds the names by near spellings."""
        return Spellings(self.names)

    @cached_property
    def _with_word(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(self.names):
            if len(name) > 1:
                for word in dict.fromkeys(name):
                    found[word].append(place)
        return dict(found)

    @cached_property
    def _by_alias(self) -> dict[tuple[str, ...], list[int]]:
        found: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, name in enumerate(self.written):
            for alias in aliases(name, self.names[place]):
                found[alias].append(place)
        return dict(found)
