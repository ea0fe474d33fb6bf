"""Entity linking: resolves the names in a question or phrase to entities and document titles."""

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
#: In lower case or at the beginning of a sentence, these count as ordinary words.
_EVERYDAY = STOP_WORDS | PLAIN_OR_NAME

How = Literal["exact", "alias", "near spelling", "part", "not linked"]

#: Minimum confidence at which a question is said to name what is linked.
SURE = 0.5


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A name in a question and the entity or document title it was linked to.

    ``text`` is as written in the question. ``how``: an exact spelling; an alias (without qualifier, title or
    legal form, or initials); a near spelling; a part of the name; or ``not linked``, for what only looks like
    a name: then ``title`` is None and ``reason`` says why. ``entity_id`` is None if only a document has the
    title. ``sure``: 0–1, confidence that the question means it; ``named`` if at least 0.5. ``weight``: 0–1,
    weight in the walk over the graph, low for names that occur nearly everywhere. ``start``: its first word
    in the question, 0….
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
        """Whether the question is assumed to mean it."""
        return self.sure >= SURE


@dataclass(frozen=True, slots=True)
class EntityLink:
    """A name that words ``start`` to ``end`` of a question may mean.

    ``sure`` in (0, 1] is the confidence, ``weight`` the weight of the name in the walk over the graph.
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
        """Whether the question is assumed to mean the name."""
        return self.sure >= SURE


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Words ``start`` to ``end`` of a question that look like a name, and why they were not linked."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class EntityLinks:
    """The linked names of a question, heaviest first, and what only looks like a name."""

    found: tuple[EntityLink, ...]
    unlinked: tuple[Unlinked, ...]
    words: WordForms


class NameLinker:
    """Finds names in texts at word boundaries, longest first, ignoring case, accents and punctuation.

    Args:
        index: the names; among equal matches the more frequent comes first.
        rarity: rarity of words; names made of frequent words get low weights.
    """

    def __init__(self, index: NameIndex, rarity: WordRarity) -> None:
        self._index = index
        self._rarity = rarity

    def mentions(self, folded: Sequence[str]) -> Iterator[NameMatch]:
        """Yield the names in folded words from left to right, longest match first, without overlaps."""
        return self._index.mentions(folded)

    def link(self, question: str) -> EntityLinks:
        """Link the names in a question.

        Exact names are linked however frequent they are, except everyday words in lower case or at the
        beginning of a sentence. Among the remaining words, those written like a name or found in no text are
        linked to names of similar spelling, else to longer names that contain them.
        """
        return _Reading(self._index, self._rarity, words_with_case(question)).links()

    def spelled(self, name: str) -> Sequence[int]:
        """Return the positions of the names with exactly the words of a name."""
        return self._index.entities_spelled(words(name))

    def exact_links(self, question: str) -> tuple[EntityLink, ...]:
        """Return only the exact links of :meth:`link`."""
        return _Reading(self._index, self._rarity, words_with_case(question)).exact_links()


class _Reading:
    """The linking of one question; linked words are no longer free."""

    def __init__(self, index: NameIndex, rarity: WordRarity, question: WordForms) -> None:
        self._index = index
        self._rarity = rarity
        self._found = question
        self._free = set(range(len(question.folded)))
        self._links: dict[int, EntityLink] = {}
        self._unlinked: list[Unlinked] = []
        self._has_case = any(
            question.capital(position) and not question.begins[position] for position in self._free
        )

    def exact_links(self) -> tuple[EntityLink, ...]:
        """Link exact names only."""
        self._link_whole_names("exact", 1.0, self._index.most_words, self._match_exactly)
        return tuple(sorted(self._links.values(), key=lambda link: (link.start, link.place)))

    def links(self) -> EntityLinks:
        """Link the whole question."""
        self._link_whole_names("exact", 1.0, self._index.most_words, self._match_exactly)
        self._link_whole_names("alias", _ALIAS, self._index.most_words, self._match_alias)
        self._link_whole_names("near spelling", _PARTED, _MOST_PARTED, self._match_split_words)
        for start, end in list(self._name_like_runs()):
            if self._link_near_names(start, end) or not (reason := self._link_partial_names(start, end)):
                continue
            if any(map(self._found.capital, range(start, end))):
                self._unlinked.append(Unlinked(start, end, reason))
        links = sorted(self._links.values(), key=lambda link: (-link.weight, -link.sure, link.place))
        return EntityLinks(
            tuple(links), tuple(sorted(self._unlinked, key=lambda unlinked: unlinked.start)), self._found
        )

    def _link_whole_names(
        self, how: How, share: float, most: int, find_names: Callable[[int, int], Sequence[int]]
    ) -> None:
        """Link free words that spell whole names, longest first."""
        size = len(self._found.folded)
        for length in range(min(most, size), 0, -1):
            for start in range(size - length + 1):
                end = start + length
                if not self._free.issuperset(range(start, end)) or not (positions := find_names(start, end)):
                    continue
                likelihood, reason = self._likelihood(start, end, positions)
                if likelihood:
                    self._free -= set(range(start, end))
                    for position in positions:
                        self._link(position, share * likelihood, how, start, end, reason)
                elif self._found.capital(start):
                    self._unlinked.append(Unlinked(start, end, reason))

    def _match_exactly(self, start: int, end: int) -> Sequence[int]:
        return self._index.entities_spelled(self._found.folded[start:end])

    def _match_alias(self, start: int, end: int) -> Sequence[int]:
        if end - start == 1 and not self._found.written[start].isupper():
            names = self._index.entities_with_alias(self._found.folded[start:end])
            return [
                position for position in names if self._found.folded[start] in self._index.words(position)
            ]
        return self._index.entities_with_alias(self._found.folded[start:end])

    def _match_split_words(self, start: int, end: int) -> Sequence[int]:
        folded = self._found.folded[start:end]
        if end - start == 1 and (self._rarity.has_word(folded[0]) or len(folded[0]) < _LEAST_PARTED):
            return []
        return self._index.entities_split_otherwise(folded)

    def _likelihood(self, start: int, end: int, places: Sequence[int]) -> tuple[float, str]:
        """Return how likely words mean the name that they spell, and what speaks against it."""
        question, positions = self._found, range(start, end)
        meaningful = [
            position for position in positions if question.folded[position] not in STOP_WORDS
        ] or list(positions)
        if any(question.capital(position) and not question.begins[position] for position in positions):
            is_stop_word = end - start == 1 and question.folded[start] in STOP_WORDS - PLAIN_OR_NAME
            return (0.0, "a word without meaning of its own") if is_stop_word else (1.0, "")
        if (
            any(self._index.written[place] == question.text(start, end) for place in places)
            and len(meaningful) > 1
        ):
            return 1.0, ""
        if any(self._index.written[place].islower() for place in places):
            return 1.0, ""
        if len(meaningful) == 1 and question.folded[meaningful[0]] in _EVERYDAY:
            return 0.0, "a word of every day without a capital of its own"
        plain = all(self._rarity.is_plain(question.folded[position]) for position in meaningful)
        if question.capital(start) and not plain:
            return 1.0, ""
        likelihood = self._rare(start, end) if plain else 1.0
        likelihood *= _NO_CASE if len(meaningful) > 1 or not self._has_case else _LOWER_CASE
        return (likelihood if likelihood >= _LEAST_LIKELY else 0.0), "in lower case"

    def _rare(self, start: int, end: int) -> float:
        return min(1.0, fsum(self._rarity.of(word) for word in self._found.folded[start:end]))

    def _link(self, place: int, sure: float, how: How, start: int, end: int, reason: str = "") -> None:
        weight = sure * max(_LEAST_WEIGHT, self._rare(start, end))
        known = self._links.get(place)
        if known is None or known.weight < weight:
            self._links[place] = EntityLink(place, weight, sure, how, start, end, reason)

    def _name_like_runs(self) -> Iterator[tuple[int, int]]:
        """Yield the longest runs of free words that look like a name: capitalised, or found in no text."""
        start = None
        for position in range(len(self._found.folded) + 1):
            if position < len(self._found.folded) and self._looks_like_a_name(
                position, within=start is not None
            ):
                start = position if start is None else start
            elif start is not None:
                yield start, position
                start = None

    def _looks_like_a_name(self, position: int, *, within: bool) -> bool:
        question, word = self._found, self._found.folded[position]
        if position not in self._free or word in STOP_WORDS:
            return False
        if word.isdigit():
            return within
        if question.begins[position]:
            return self._index.has_word(word) and word not in _EVERYDAY and not self._rarity.is_plain(word)
        if self._has_case:
            return question.capital(position)
        return len(word) >= _LEAST_PARTED and not self._rarity.has_word(word) and word not in _EVERYDAY

    def _link_near_names(self, start: int, end: int) -> bool:
        """Link a run of words to the names of the most similar spelling."""
        folded = self._found.folded[start:end]
        similarity: dict[int, float] = {}
        for word in folded:
            for variant in (*self._variants(word), *plurals(word)):
                for position in (
                    *self._index.entities_spelled((variant,)),
                    *self._entities_with_word(variant),
                ):
                    if position not in similarity and self._is_slip(folded, self._index.words(position)):
                        similarity[position] = likeness(folded, self._index.words(position))
        best = max(similarity.values(), default=0.0)
        positions = sorted(position for position, score in similarity.items() if score == best)
        for position in positions:
            sure = _NEAR * best / len(positions) ** 0.5
            self._link(
                position, sure, "near spelling", start, end, describe_ambiguity(len(positions), "names")
            )
        self._free -= set(range(start, end)) if positions else set()
        return bool(positions)

    def _variants(self, word: str) -> list[str]:
        """Return the word if a name has it; if no text has it either, the name words it may misspell."""
        if self._index.has_word(word):
            return [word]
        return [] if self._rarity.has_word(word) else self._index.spellings.near(word)

    def _is_slip(self, asked: Sequence[str], name: Sequence[str]) -> bool:
        known_words = [
            position
            for position, word in enumerate(asked)
            if self._rarity.has_word(word) and word not in name
        ]
        return is_slip(asked, name) and all(
            name[position] in plurals(asked[position]) for position in known_words
        )

    def _entities_with_word(self, word: str) -> Sequence[int]:
        positions = self._index.with_word.of_word(word)
        return positions if len(positions) <= _MOST_NAMES_PER_WORD else []

    def _link_partial_names(self, start: int, end: int) -> str:
        """Link a run of words to the longer names that contain it; return the reason if there are none."""
        folded = self._found.folded[start:end]
        asked = [next(iter(self._variants(word)), word) for word in folded if len(word) > 1]
        names = {word: self._index.with_word.of_word(word) for word in asked}
        candidates = {
            position
            for positions in names.values()
            if len(positions) <= _MOST_NAMES_PER_WORD
            for position in positions
        }
        shares = {
            position: self._share(asked, self._index.words(position)) for position in sorted(candidates)
        }
        best = max(shares.values(), default=0.0)
        total_frequency = sum(
            int(self._index.frequency[position]) for position, share in shares.items() if share == best
        )
        for position, share in shares.items():
            frequency_share = (
                int(self._index.frequency[position]) / total_frequency if share == best else 1 / len(shares)
            )
            covered = self._share(self._index.words(position), asked) ** 0.5
            reason = describe_ambiguity(len(shares), "names with a part of it")
            self._link(position, _PART * covered * share * frequency_share, "part", start, end, reason)
        if shares:
            return ""
        common_word = next((word for word, positions in names.items() if positions), None)
        return (
            f"{len(names[common_word]):,} names have “{common_word}”"
            if common_word
            else "no entity or document is called so"
        )

    def _share(self, of: Sequence[str], among: Sequence[str]) -> float:
        """Return the share of words that occur among others, weighted by rarity."""
        rarities = {word: max(_LEAST_RARITY, self._rarity.of(word)) for word in of}
        return fsum(value for word, value in rarities.items() if word in among) / fsum(rarities.values())


def describe_ambiguity(count: int, what: str) -> str:
    """Return a note that there are several candidates; blank for one."""
    return f"one of {count} {what}" if count > 1 else ""


_BETWEEN = frozenset({"and", "or", "both", "as", "well"})
_MOST_NEAR = 5
_ARTICLES = frozenset({"the", "a", "an"})


@dataclass(frozen=True, slots=True)
class NamedEntities:
    """The entities that a phrase names, by position, in the order of the phrase.

    ``guessed`` says which parts were resolved to longer names. ``unknown`` are parts that are not names, with
    names that may contain them.
    """

    places: tuple[int, ...]
    guessed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def entities_named(phrase: str, linker: NameLinker, titles: Sequence[str]) -> NamedEntities:
    """Return the entities that a phrase names.

    Args:
        phrase: names separated by *and* or commas.
        linker: knows the names, those of the entities first.
        titles: of the entities, by position; among equal spellings the first is chosen.
    """
    positions: dict[int, None] = {}
    guessed, unknown = [], []
    for part, named in _parts(phrase, linker, len(titles)):
        if named:
            positions.update(dict.fromkeys(named))
        elif len(longer := _entities_with_longer_names(part, titles)) == 1:
            positions[longer[0]] = None
            guessed.append(f"{part} is taken for {titles[longer[0]]}")
        else:
            suggestions = ", ".join(titles[position] for position in longer[:_MOST_NEAR])
            unknown.append(f"{part!r}, but {suggestions}" if suggestions else repr(part))
    return NamedEntities(tuple(positions), tuple(guessed), tuple(unknown))


def _parts(phrase: str, linker: NameLinker, entities: int) -> Iterator[tuple[str, list[int]]]:
    """Yield the parts between conjunctions outside of names, with entities if a part has only names."""
    question = words_with_case(phrase)
    entity_at: dict[int, int] = {}
    for mention in linker.mentions(question.folded):
        if mentioned := [entity for entity in mention.places if entity < entities][:1]:
            entity_at |= dict.fromkeys(range(mention.start, mention.end), mentioned[0])
    part: list[int] = []
    for position in [*range(len(question.folded)), None]:
        if position is not None and (position in entity_at or question.folded[position] not in _BETWEEN):
            part.append(position)
            continue
        kept = [word for word in part if word in entity_at or question.folded[word] not in _ARTICLES]
        only_names = all(word in entity_at for word in kept)
        if kept:
            words = " ".join(question.written[word] for word in kept)
            yield words, list(dict.fromkeys(entity_at[word] for word in kept)) if only_names else []
        part = []


def _entities_with_longer_names(words: str, titles: Sequence[str]) -> list[int]:
    """Return the entities whose names contain these words in sequence."""
    wanted = f" {' '.join(folded_words(words))} "
    return [
        position for position, title in enumerate(titles) if wanted in f" {' '.join(folded_words(title))} "
    ]
