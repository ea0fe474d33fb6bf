"""Entity linking: which of many names a question or a phrase means."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from graphrag_dagster.kernel.retrieval.lexical_index import WordRarity
from graphrag_dagster.kernel.retrieval.name_index import NameIndex, NameMatch, is_slip, likeness, plurals
from graphrag_dagster.kernel.retrieval.search_words import WordForms, words, words_with_case
from graphrag_dagster.kernel.retrieval.search_words import words as folded_words
from graphrag_dagster.kernel.text.english_words import PLAIN_OR_NAME, STOP_WORDS

_LOWER_CASE, _NO_CASE, _LEAST_LIKELY = 0.3, 0.8, 0.2
_ALIAS, _PARTED, _NEAR, _PART = 0.9, 0.9, 0.9, 0.75
_LEAST_WEIGHT, _LEAST_RARITY = 0.05, 0.2
_MOST_NAMES_PER_WORD = 30
_MOST_PARTED, _LEAST_PARTED = 4, 4
#: In lower case, or at the beginning of a sentence, these are taken for words.
_EVERYDAY = STOP_WORDS | PLAIN_OR_NAME

How = Literal["exact", "alias", "near spelling", "part", "not linked"]

#: How sure a link must be for the question to be said to name what it links.
SURE = 0.5


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A name in a question, and the entity or document that it was taken for.

    ``text`` stands in the question. ``how``: it is the name's spelling; another that means the same (without
    its qualifier, title or legal form, by its initials); a near spelling; a part of the name; or it looks
    like a name and is ``not linked``: then there is no ``title``, and ``reason`` says why. ``entity_id`` is
    None where only a document's title is called so. ``sure``: 0–1, how likely the question means it;
    ``named`` where that is at least 0.5. ``weight``: 0–1, how strongly the question spreads from it, little
    for a name that stands nearly everywhere. ``start``: its word in the question, 0….
    """

    text: str
    title: str | None
    entity_id: str | None
    how: How
    sure: float
    weight: float
    reason: str = ""
    start: int = 0

    @property
    def named(self) -> bool:
        """Whether the question is taken to mean it."""
        return self.sure >= SURE


@dataclass(frozen=True, slots=True)
class EntityLink:
    """A name that words ``start`` to ``end`` of a question may mean.

    ``sure`` in (0, 1] is how likely they do, ``weight`` how strongly the question spreads from it.
    """

    place: int
    weight: float
    sure: float = 1.0
    how: How = "exact"
    start: int = 0
    end: int = 0
    reason: str = ""

    @property
    def named(self) -> bool:
        """Whether the question is taken to mean the name."""
        return self.sure >= SURE


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Words ``start`` to ``end`` of a question that look like a name, and why they were linked to none."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class EntityLinks:
    """The names that a question means, the heaviest first, and what only looks like names in it."""

    found: tuple[EntityLink, ...]
    unlinked: tuple[Unlinked, ...]
    words: WordForms


class NameLinker:
    """Finds names in texts: case, accents and punctuation aside, at word boundaries, the longest first.

    Args:
        index: the names, of which the more frequent of equally good ones comes first.
        rarity: how rare words are; from a name of frequent words a question spreads little.
    """

    def __init__(self, index: NameIndex, rarity: WordRarity) -> None:
        self._index = index
        self._rarity = rarity

    def mentions(self, folded: Sequence[str]) -> Iterator[NameMatch]:
        """Yield the names in folded words from left to right, at each word the longest, without overlap."""
        return self._index.mentions(folded)

    def link(self, question: str) -> EntityLinks:
        """Return the names that the question means, and what looks like a name in it and is none.

        A name that stands in the question is linked, however frequent it is; a word of every day, in lower
        case or at the beginning of a sentence, is not taken for one. Of what is left, words that are written
        like a name, or that no text has, are linked to names of nearly the same spelling, else to the longer
        names that they are a part of.
        """
        return _Reading(self._index, self._rarity, words_with_case(question)).links()

    def spelled(self, name: str) -> Sequence[int]:
        """Return the places of the names of just the words of a name."""
        return self._index.spelled_so(words(name))

    def standing(self, question: str) -> tuple[EntityLink, ...]:
        """Return the names that stand in the question as they are, as :meth:`link` finds them."""
        return _Reading(self._index, self._rarity, words_with_case(question)).standing()


class _Reading:
    """One question, as it is being read: words that are linked are no longer free."""

    def __init__(self, index: NameIndex, rarity: WordRarity, found: WordForms) -> None:
        self._index = index
        self._rarity = rarity
        self._found = found
        self._free = set(range(len(found.folded)))
        self._links: dict[int, EntityLink] = {}
        self._unlinked: list[Unlinked] = []
        self._has_case = any(found.capital(at) and not found.begins[at] for at in self._free)

    def standing(self) -> tuple[EntityLink, ...]:
        """Read names as they are, and nothing else."""
        self._whole("exact", 1.0, self._index.most_words, self._exact)
        return tuple(sorted(self._links.values(), key=lambda link: (link.start, link.place)))

    def links(self) -> EntityLinks:
        """Read the question."""
        self._whole("exact", 1.0, self._index.most_words, self._exact)
        self._whole("alias", _ALIAS, self._index.most_words, self._alias)
        self._whole("near spelling", _PARTED, _MOST_PARTED, self._parted)
        for start, end in list(self._runs()):
            if self._near(start, end) or not (reason := self._parts(start, end)):
                continue
            if any(map(self._found.capital, range(start, end))):
                self._unlinked.append(Unlinked(start, end, reason))
        found = sorted(self._links.values(), key=lambda link: (-link.weight, -link.sure, link.place))
        return EntityLinks(
            tuple(found), tuple(sorted(self._unlinked, key=lambda one: one.start)), self._found
        )

    def _whole(
        self, how: How, share: float, most: int, names_of: Callable[[int, int], Sequence[int]]
    ) -> None:
        """Link free words that are a spelling of names, the longest first."""
        size = len(self._found.folded)
        for length in range(min(most, size), 0, -1):
            for start in range(size - length + 1):
                end = start + length
                if not self._free.issuperset(range(start, end)) or not (places := names_of(start, end)):
                    continue
                likely, reason = self._likely(start, end, places)
                if likely:
                    self._free -= set(range(start, end))
                    for place in places:
                        self._link(place, share * likely, how, start, end, reason)
                elif self._found.capital(start):
                    self._unlinked.append(Unlinked(start, end, reason))

    def _exact(self, start: int, end: int) -> Sequence[int]:
        return self._index.spelled_so(self._found.folded[start:end])

    def _alias(self, start: int, end: int) -> Sequence[int]:
        if end - start == 1 and not self._found.written[start].isupper():
            names = self._index.also_spelled(self._found.folded[start:end])
            return [place for place in names if self._found.folded[start] in self._index.words(place)]
        return self._index.also_spelled(self._found.folded[start:end])

    def _parted(self, start: int, end: int) -> Sequence[int]:
        folded = self._found.folded[start:end]
        if end - start == 1 and (self._rarity.knows(folded[0]) or len(folded[0]) < _LEAST_PARTED):
            return []
        return self._index.parted_otherwise(folded)

    def _likely(self, start: int, end: int, places: Sequence[int]) -> tuple[float, str]:
        """How likely words are the name that they spell, and what speaks against it."""
        found, span = self._found, range(start, end)
        meant = [at for at in span if found.folded[at] not in STOP_WORDS] or list(span)
        if any(found.capital(at) and not found.begins[at] for at in span):
            little = end - start == 1 and found.folded[start] in STOP_WORDS - PLAIN_OR_NAME
            return (0.0, "a word without meaning of its own") if little else (1.0, "")
        if any(self._index.written[place] == found.text(start, end) for place in places) and len(meant) > 1:
            return 1.0, ""
        if any(self._index.written[place].islower() for place in places):
            return 1.0, ""
        if len(meant) == 1 and found.folded[meant[0]] in _EVERYDAY:
            return 0.0, "a word of every day without a capital of its own"
        plain = all(self._rarity.is_plain(found.folded[at]) for at in meant)
        if found.capital(start) and not plain:
            return 1.0, ""
        likely = self._rare(start, end) if plain else 1.0
        likely *= _NO_CASE if len(meant) > 1 or not self._has_case else _LOWER_CASE
        return (likely if likely >= _LEAST_LIKELY else 0.0), "in lower case"

    def _rare(self, start: int, end: int) -> float:
        return min(1.0, fsum(self._rarity.of(word) for word in self._found.folded[start:end]))

    def _link(self, place: int, sure: float, how: How, start: int, end: int, reason: str = "") -> None:
        weight = sure * max(_LEAST_WEIGHT, self._rare(start, end))
        known = self._links.get(place)
        if known is None or known.weight < weight:
            self._links[place] = EntityLink(place, weight, sure, how, start, end, reason)

    def _runs(self) -> Iterator[tuple[int, int]]:
        """The longest rows of free words that look like a name: by their capitals, or as no text has them."""
        start = None
        for at in range(len(self._found.folded) + 1):
            if at < len(self._found.folded) and self._looks_like_a_name(at, within=start is not None):
                start = at if start is None else start
            elif start is not None:
                yield start, at
                start = None

    def _looks_like_a_name(self, at: int, *, within: bool) -> bool:
        found, word = self._found, self._found.folded[at]
        if at not in self._free or word in STOP_WORDS:
            return False
        if word.isdigit():
            return within
        if found.begins[at]:
            return self._index.knows(word) and word not in _EVERYDAY and not self._rarity.is_plain(word)
        if self._has_case:
            return found.capital(at)
        return len(word) >= _LEAST_PARTED and not self._rarity.knows(word) and word not in _EVERYDAY

    def _near(self, start: int, end: int) -> bool:
        """Link a row of words to the names that are spelled most nearly like it."""
        folded = self._found.folded[start:end]
        likely: dict[int, float] = {}
        for word in folded:
            for variant in (*self._variants(word), *plurals(word)):
                for place in (*self._index.spelled_so((variant,)), *self._few_with(variant)):
                    if place not in likely and self._is_slip(folded, self._index.words(place)):
                        likely[place] = likeness(folded, self._index.words(place))
        best = max(likely.values(), default=0.0)
        places = sorted(place for place, like in likely.items() if like == best)
        for place in places:
            sure = _NEAR * best / len(places) ** 0.5
            self._link(place, sure, "near spelling", start, end, among(len(places), "names"))
        self._free -= set(range(start, end)) if places else set()
        return bool(places)

    def _variants(self, word: str) -> list[str]:
        """A word itself where names have it; the words of names it may be a slip for where no text has it."""
        if self._index.knows(word):
            return [word]
        return [] if self._rarity.knows(word) else self._index.spellings.near(word)

    def _is_slip(self, asked: Sequence[str], name: Sequence[str]) -> bool:
        real = [at for at, word in enumerate(asked) if self._rarity.knows(word) and word not in name]
        return is_slip(asked, name) and all(name[at] in plurals(asked[at]) for at in real)

    def _few_with(self, word: str) -> Sequence[int]:
        places = self._index.with_word.of_word(word)
        return places if len(places) <= _MOST_NAMES_PER_WORD else []

    def _parts(self, start: int, end: int) -> str:
        """Link a row of words to the longer names that they are a part of; return why there are none."""
        whole = self._found.folded[start:end]
        asked = [next(iter(self._variants(word)), word) for word in whole if len(word) > 1]
        names = {word: self._index.with_word.of_word(word) for word in asked}
        few = {place for places in names.values() if len(places) <= _MOST_NAMES_PER_WORD for place in places}
        shares = {place: self._share(asked, self._index.words(place)) for place in sorted(few)}
        best = max(shares.values(), default=0.0)
        among_them = sum(
            int(self._index.frequency[place]) for place, share in shares.items() if share == best
        )
        for place, share in shares.items():
            common = int(self._index.frequency[place]) / among_them if share == best else 1 / len(shares)
            covered = self._share(self._index.words(place), asked) ** 0.5
            reason = among(len(shares), "names with a part of it")
            self._link(place, _PART * covered * share * common, "part", start, end, reason)
        if shares:
            return ""
        many = next((word for word, places in names.items() if places), None)
        return f"{len(names[many]):,} names have “{many}”" if many else "no entity or document is called so"

    def _share(self, of: Sequence[str], among: Sequence[str]) -> float:
        """The share of words that stand among others, the rarer ones counting more."""
        rarities = {word: max(_LEAST_RARITY, self._rarity.of(word)) for word in of}
        return fsum(value for word, value in rarities.items() if word in among) / fsum(rarities.values())


def among(count: int, what: str) -> str:
    """Return that there are others, or nothing where there are none."""
    return f"one of {count} {what}" if count > 1 else ""


_BETWEEN = frozenset({"and", "or", "both", "as", "well"})
_MOST_NEAR = 5
_ARTICLES = frozenset({"the", "a", "an"})


@dataclass(frozen=True, slots=True)
class NamedEntities:
    """The entities that a phrase names, by place, in its order.

    ``guessed`` says which parts were taken for longer names, ``unknown`` which are no names, with names that
    they may be parts of.
    """

    places: tuple[int, ...]
    guessed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def entities_named(phrase: str, linker: NameLinker, titles: Sequence[str]) -> NamedEntities:
    """Return the entities that a phrase names.

    Args:
        phrase: names, with *and* or commas between them.
        linker: knows the names, those of the entities first.
        titles: of the entities, by place; of several that are spelled alike the first is meant.
    """
    places: dict[int, None] = {}
    guessed, unknown = [], []
    for part, named in _parts(phrase, linker, len(titles)):
        if named:
            places.update(dict.fromkeys(named))
        elif len(longer := _longer(part, titles)) == 1:
            places[longer[0]] = None
            guessed.append(f"{part} is taken for {titles[longer[0]]}")
        else:
            near = ", ".join(titles[place] for place in longer[:_MOST_NEAR])
            unknown.append(f"{part!r}, but {near}" if near else repr(part))
    return NamedEntities(tuple(places), tuple(guessed), tuple(unknown))


def _parts(phrase: str, linker: NameLinker, entities: int) -> Iterator[tuple[str, list[int]]]:
    """What stands between *and*s outside of names, with the entities where it is nothing but names."""
    found = words_with_case(phrase)
    owner: dict[int, int] = {}
    for mention in linker.mentions(found.folded):
        if place := [one for one in mention.places if one < entities][:1]:
            owner |= dict.fromkeys(range(mention.start, mention.end), place[0])
    part: list[int] = []
    for at in [*range(len(found.folded)), None]:
        if at is not None and (at in owner or found.folded[at] not in _BETWEEN):
            part.append(at)
            continue
        told = [one for one in part if one in owner or found.folded[one] not in _ARTICLES]
        whole = all(one in owner for one in told)
        if told:
            words = " ".join(found.written[one] for one in told)
            yield words, list(dict.fromkeys(owner[one] for one in told)) if whole else []
        part = []


def _longer(words: str, titles: Sequence[str]) -> list[int]:
    """The entities whose names have these words among others, one after the other."""
    wanted = f" {' '.join(folded_words(words))} "
    return [place for place, title in enumerate(titles) if wanted in f" {' '.join(folded_words(title))} "]
