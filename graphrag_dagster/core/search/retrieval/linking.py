"""Linking: which of many names occur in a question."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from graphrag_dagster.core.search.retrieval.words import WordForms, WordRarity, words, words_with_case

_LOWER_CASE = 0.3
_PARTIAL = 0.5
_MOST_NAMES_PER_WORD = 30
_LEAST_RARITY = 0.35


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that stands in a text: words ``start`` to ``end``, and the places of the names spelled so."""

    start: int
    end: int
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A name that a question means: place among the names, weight in (0, 1], and whether it is whole."""

    place: int
    weight: float
    whole: bool


class NameLinker:
    """Finds names in texts: case, accents and punctuation aside, at word boundaries, the longest first.

    A dictionary from the words of a name to the places of the names that are spelled so; the time for a text
    does not depend on the number of names.

    Args:
        names: the names.
        rarity: how rare words are; a name of frequent words only weighs little.
    """

    def __init__(self, names: Sequence[str], rarity: WordRarity) -> None:
        self._rarity = rarity
        self._names = [tuple(words(name)) for name in names]
        self._by_words: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._with_word: dict[str, list[int]] = defaultdict(list)
        self._longest: dict[str, int] = defaultdict(int)
        for place, name in enumerate(self._names):
            if not name:
                continue
            self._by_words[name].append(place)
            self._longest[name[0]] = max(self._longest[name[0]], len(name))
            if len(name) > 1:
                for word in dict.fromkeys(name):
                    self._with_word[word].append(place)

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

    def link(self, question: str) -> list[Link]:
        """Return the names that the question means, the heaviest first, equal ones by place.

        A whole name weighs by the rarity of its words; written in lower case in a question that has capitals,
        less. A rare word that stands in no whole name links, with less weight, the longer names that contain
        it, by the share of the name that the question covers.
        """
        found = words_with_case(question)
        links: dict[int, Link] = {}
        free = set(range(len(found.folded)))
        for mention in self._longest_first(found.folded):
            weight = self._weight(found, mention)
            if weight >= _LEAST_RARITY:
                free -= set(range(mention.start, mention.end))
            for place in mention.places:
                if weight > 0 and (place not in links or links[place].weight < weight):
                    links[place] = Link(place, weight, whole=True)
        for link in self._partial(found, free):
            links.setdefault(link.place, link)
        return sorted(links.values(), key=lambda link: (-link.weight, link.place))

    def _longest_first(self, folded: Sequence[str]) -> list[Mention]:
        every = []
        for start, word in enumerate(folded):
            for length in range(1, min(self._longest.get(word, 0), len(folded) - start) + 1):
                places = self._by_words.get(tuple(folded[start : start + length]))
                if places:
                    every.append(Mention(start, start + length, tuple(places)))
        taken: set[int] = set()
        kept = []
        for mention in sorted(every, key=lambda m: (m.start - m.end, m.start)):
            span = set(range(mention.start, mention.end))
            if not span & taken:
                taken |= span
                kept.append(mention)
        return kept

    def _weight(self, found: WordForms, mention: Mention) -> float:
        rarity = fsum(self._rarity.of(word) for word in found.folded[mention.start : mention.end])
        capitals = sum(word[:1].isupper() or word[:1].isdigit() for word in found.written)
        written = found.written[mention.start : mention.end]
        lower = capitals > 1 and not any(word[:1].isupper() or word[:1].isdigit() for word in written)
        return min(1.0, rarity) * (_LOWER_CASE if lower else 1.0)

    def _partial(self, found: WordForms, free: set[int]) -> Iterator[Link]:
        asked = {found.folded[place] for place in free}
        rare = [
            found.folded[place]
            for place in sorted(free)
            if found.written[place][:1].isupper() and self._rarity.of(found.folded[place]) > _LEAST_RARITY
        ]
        seen: set[int] = set()
        for word in rare:
            places = self._with_word.get(word, [])
            if len(places) > _MOST_NAMES_PER_WORD:
                continue
            for place in places:
                if place not in seen:
                    seen.add(place)
                    yield Link(place, _PARTIAL * self._covered(place, asked), whole=False)

    def _covered(self, place: int, asked: set[str]) -> float:
        rarities = {word: self._rarity.of(word) for word in self._names[place]}
        whole = fsum(rarities.values())
        return fsum(value for word, value in rarities.items() if word in asked) / whole if whole else 0.0
