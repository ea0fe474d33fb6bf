"""Features of a pair of names: evidence for or against a match."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.graphrag.resolution.name_parsing import (
    COUNTRIES,
    NICKNAMES,
    PARTICLES,
    ParsedName,
    initials,
    kind_of,
    parse_name,
)
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name

Definition = Literal["bracketed", "called"]

_OPENS = re.compile(r"[\s\"“”'’]*\(\s*(?:the\s+)?[\"“”'’]?\s*\Z", re.IGNORECASE)
_CLOSES = re.compile(r"\s*[\"“”'’]?\s*[);,]")
_CALLED = re.compile(
    r"[\s\"“”'’,(]*(?:who\s+(?:is|was)\s+|which\s+(?:is|was)\s+|is\s+|was\s+)?"
    r"(?:(?:also|better|commonly|usually|formerly|originally|previously|later|popularly|simply|often)\s+)*"
    r"(?:known\s+as|called|hereafter|hereinafter|a\s?\.?\s?k\s?\.?\s?a\s?\.?|abbreviated(?:\s+(?:as|to))?"
    r"|shortened\s+to|renamed|n[ée]e|formerly|nicknamed)"
    r"\s*(?:as\s+)?(?:simply\s+)?[\s,:\"“”'’]*(?:the\s+)?[\"“”'’]?\s*\Z",
    re.IGNORECASE,
)
_LONGEST_BETWEEN = 60
_NONE, _NOWHERE = frozenset[str](), frozenset[int]()


def definitions(
    sentences: Iterable[tuple[str, Iterable[str]]],
) -> dict[tuple[str, str], Definition]:
    """Return the pairs of names that sentences define as one, each pair in order.

    "World Health Organization (WHO)" is ``bracketed``: what stands in brackets may also be a place or a year,
    so that this alone decides nothing. "Hereafter the Board" and "also known as" are ``called``.

    Args:
        sentences: texts, each with the names that stand in it as they are written.
    """
    found: dict[tuple[str, str], Definition] = {}
    for text, names in sentences:
        for (one, _, end), (other, begin, close) in _neighbours(text, names):
            between = text[end:begin]
            if one == other or len(between) > _LONGEST_BETWEEN:
                continue
            pair = (min(one, other), max(one, other))
            if _CALLED.match(between):
                found[pair] = "called"
            elif _OPENS.match(between) and _CLOSES.match(text[close:]):
                found.setdefault(pair, "bracketed")
    return found


def _neighbours(
    text: str, names: Iterable[str]
) -> Iterator[tuple[tuple[str, int, int], tuple[str, int, int]]]:
    """Yield names that follow each other, with where they begin and end; of overlapping ones the longest."""
    places: dict[int, tuple[str, int, int]] = {}
    taken: set[int] = set()
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        begin = text.find(name) if name else -1
        while begin >= 0:
            end = begin + len(name)
            if begin not in taken and end - 1 not in taken:
                places[begin] = (name, begin, end)
                taken.update(range(begin, end))
            begin = text.find(name, end)
    yield from pairwise(places[begin] for begin in sorted(places))


def by_pair(found: Iterable[dict[tuple[str, str], Definition]]) -> dict[tuple[str, str], Definition]:
    """Return the definitions of several documents as one: ``called`` where any says so."""
    merged: dict[tuple[str, str], set[Definition]] = defaultdict(set)
    for one in found:
        for pair, how in one.items():
            merged[pair].add(how)
    return {pair: "called" if "called" in how else "bracketed" for pair, how in merged.items()}


#: Positions of two names of a scope, the smaller first.
Pair = tuple[int, int]

#: Features of a name that is a part of another, and no person's.
PARTS: Final = frozenset({"begins", "ends", "inside"})
#: Below this likeness spellings are not alike at all.
UNLIKE: Final = 0.7


@dataclass(frozen=True, slots=True)
class NameScope:
    """Names among which some are one: those of a document, or of a corpus.

    Attributes:
        names: spellings with types, by position.
        sentences: for each name of a document the numbers of the sentences it stands in; below 0 where a
            mention is in no sentence that is known.
        definitions: pairs of positions that a text defines as one.
        document: the document; None for a corpus, in which no short form stands for a fuller one.
    """

    names: Sequence[Name] | Mapping[int, Name]
    sentences: Sequence[Sequence[int]]
    definitions: Mapping[Pair, Definition]
    document: str | None

    def parsed(self, place: int) -> ParsedName:
        """Return a name taken apart; all of them together are too many to be kept."""
        name, type_name = self.names[place]
        return parse_name(name, kind_of(type_name))

    def part(self, pairs: NDArray[np.int64]) -> "NameScope":
        """Return of a corpus what tells about some of its pairs, the names at the places that they have."""
        names = {place: self.names[place] for place in np.unique(pairs).tolist()}
        own = map(tuple, pairs.tolist() if self.definitions else ())
        return NameScope(
            names, (), {pair: self.definitions[pair] for pair in own if pair in self.definitions}, None
        )


def short_form_of(short: ParsedName, full: ParsedName) -> str:
    """Return how one name is short for another: the name of a feature; nothing where it is not."""
    if short.acronym and not full.acronym and len(full.words) > 1:
        letters = {one for words in (full.words, full.whole) for one in initials(words)}
        if short.acronym in letters:
            return "acronym"
        if len(short.acronym) > 2 and _is_loose_abbreviation(short.acronym, full.meaningful):
            return "loose_acronym"
    if short.words == full.words:
        untitled = (
            full.address and not short.address and _distinguishing_parts(short) == _distinguishing_parts(full)
        )
        return "without_title" if untitled and not short.given else ""
    few, many = short.meaningful, full.meaningful
    if len(few) == len(many) and _has_shortened_given_name(short, full):
        return "given"
    if not len(few) < len(many):
        return ""
    if full.kind == short.kind == "person":
        return _person_short_form(few, full, hyphened="-" in short.name)
    if many[: len(few)] == few:
        return "begins"
    if many[-len(few) :] == few:
        return "ends"
    return "inside" if _is_subsequence(few, many) else ""


@dataclass(frozen=True, slots=True)
class ShortForms:
    """Short names of a scope, and the names they are short for.

    Attributes:
        how: for each such pair which of its two places has the short name, and how it is short.
        fullest: for each short name the fuller ones that are short for no other of them, variants once.
    """

    how: dict[Pair, tuple[int, str]]
    fullest: dict[int, set[int]]


def short_forms(parsed: Mapping[int, ParsedName], pairs: Iterable[Pair]) -> ShortForms:
    """Return the short forms among candidates."""
    how: dict[Pair, tuple[int, str]] = {}
    fuller: dict[int, set[int]] = defaultdict(set)
    for pair in pairs:
        if found := _short_form_place(parsed[pair[0]], parsed[pair[1]]):
            how[pair] = found
            fuller[pair[found[0]]].add(pair[1 - found[0]])
    return ShortForms(
        how,
        {
            short: _unlike_names(
                parsed, sorted(full for full in fulls if not fuller.get(full, _NOWHERE) & fulls)
            )
            for short, fulls in fuller.items()
        },
    )


def short_place(scope: NameScope, pair: Pair) -> int | None:
    """Return which place of a pair has a name that is short for the other: 0 or 1; None where none has."""
    found = _short_form_place(*map(scope.parsed, pair))
    return found and found[0]


def features(
    scope: NameScope, pair: Pair, one: ParsedName, other: ParsedName, forms: ShortForms
) -> dict[str, float]:
    """Return the features of two names of a scope that are not zero, each from 0 to 1, by name."""
    found = _full_name_features(one, other)
    if pair in forms.how:
        at, how = forms.how[pair]
        alone = len(forms.fullest[pair[at]]) == 1
        short, full = (one, other) if at == 0 else (other, one)
        found |= _short_form_features(short, full, how)
        if scope.document is not None:
            placed = scope.sentences[pair[at]], scope.sentences[pair[1 - at]]
            found |= _features_of_document(short, how, *placed, alone=alone)
    how_defined = scope.definitions.get(pair)
    if how_defined:
        short_letters = found.keys() & {"acronym", "loose_acronym"} or (one.acronym or other.acronym)
        places = one.kind == other.kind == "place"
        bracketed = "defined" if short_letters else "bracketed_place" if places else "bracketed"
        found[bracketed if how_defined == "bracketed" else how_defined] = 1.0
    if one.kind != other.kind:
        found["types_differ"] = 1.0
    if scope.document is not None and not how_defined:
        first, second = (scope.sentences[place] for place in pair)
        found["together"] = len(set(first).intersection(second)) / min(len(first), len(second))
    return {name: found[name] for name in sorted(found) if found[name]}


def _short_form_place(one: ParsedName, other: ParsedName) -> tuple[int, str] | None:
    for at, (short, full) in enumerate(((one, other), (other, one))):
        if found := short_form_of(short, full):
            return at, found
    return None


def _unlike_names(parsed: Mapping[int, ParsedName], fulls: Sequence[int]) -> set[int]:
    """Return one name of each person or thing among full names of which some may be variants."""
    kept: list[int] = []
    for full in fulls:
        if not any(_variants(parsed[full], parsed[other]) for other in kept):
            kept.append(full)
    return set(kept)


def _variants(one: ParsedName, other: ParsedName) -> bool:
    if one.family and one.family == other.family and one.given and other.given:
        return given_names_agree(one.given[0], other.given[0])
    return sorted(one.meaningful) == sorted(other.meaningful)


@lru_cache(maxsize=100_000)
def given_names_agree(one: str, other: str) -> bool:
    """Whether two given names may be one: equal, an initial, a nickname, or spelled nearly the same."""
    from rapidfuzz.distance import JaroWinkler

    if one == other or (min(len(one), len(other)) == 1 and one[0] == other[0]):
        return True
    if NICKNAMES.get(one, _NONE) & NICKNAMES.get(other, _NONE):
        return True
    return min(len(one), len(other)) > 3 and JaroWinkler.similarity(one, other) > 0.9


def countries(name: ParsedName) -> frozenset[str]:
    """Return the countries that a name is a name of, or of its people."""
    return COUNTRIES.get(name.key, _NONE)


def _short_form_features(short: ParsedName, full: ParsedName, how: str) -> dict[str, float]:
    found = {how: 1.0}
    if how in PARTS:
        found["kept"] = sum(map(len, short.meaningful)) / sum(map(len, full.meaningful))
        found["part_of_place"] = float(full.kind == "place")
        found["part_of_organisation"] = float(full.kind == "organisation")
    return found


def _features_of_document(
    short: ParsedName, how: str, short_stands: Sequence[int], full_stands: Sequence[int], *, alone: bool
) -> dict[str, float]:
    kind = "only" if how in PARTS else "only_person" if short.kind == "person" else "only_letters"
    found = {kind: float(alone)}
    if how != "without_title":
        # Mentions whose place in the text is not known have negative numbers, and say nothing of the order.
        full, short_form = ([number for number in of if number >= 0] for of in (full_stands, short_stands))
        found["after"] = float(bool(full and short_form) and min(full) <= min(short_form))
    if how == "given_alone" and alone:
        found["introduced"] = found["after"]
    return found


@cache
def _ratio() -> Callable[[str, str], float]:
    # Imported when names are compared, and not for each pair.
    from rapidfuzz.fuzz import ratio

    return ratio


def _full_name_features(one: ParsedName, other: ParsedName) -> dict[str, float]:
    if one.words == other.words:
        if _distinguishing_parts(one) == _distinguishing_parts(other):
            return {"same_key": 1.0} if one.address == other.address or one.given else {}
        return {"same_words": 1.0}
    found: dict[str, float] = {}
    if one.joined == other.joined:
        found["same_letters"] = 1.0
    elif len(one.joined) == len(other.joined) and sorted(one.words) == sorted(other.words):
        found["other_order"] = 1.0
    else:
        likeness = _ratio()(one.joined, other.joined) / 100
        found["spelling"] = max(0.0, (likeness - UNLIKE) / (1 - UNLIKE))
        found["sounds"] = float(one.sounds == other.sounds)
    if countries(one) & countries(other):
        found["country"] = 1.0
        found["country_letters"] = float(bool(one.acronym or other.acronym) and one.kind == other.kind)
    elif "person" not in {one.kind, other.kind}:
        found["people" if "place" in {one.kind, other.kind} else "inflected"] = float(
            one.stems == other.stems
        )
    if one.given and other.given and one.family and one.family == other.family:
        found["given"] = float(given_names_agree(one.given[0], other.given[0]))
        found["middle_initial"] = float(_differ_by_middle_initial(one, other))
    return found


def _differ_by_middle_initial(one: ParsedName, other: ParsedName) -> bool:
    """Whether one is the other with letters between the given and the family name."""
    fewer, more = sorted((one.given, other.given), key=len)
    same = len(fewer) == 1 and len(fewer[0]) > 1 and fewer[0] == more[0]
    return same and len(more) > 1 and all(len(word) == 1 for word in more[1:])


def _distinguishing_parts(name: ParsedName) -> tuple[object, ...]:
    """Return what tells names with the same words apart, titles aside."""
    return name.kind, name.generation, name.nicknames


def _has_shortened_given_name(short: ParsedName, full: ParsedName) -> bool:
    """Whether a name is another with initials or nicknames for given names."""
    return (
        bool(short.family and short.given)
        and short.family == full.family
        and sum(map(len, short.given)) < sum(map(len, full.given))
        and all(map(given_names_agree, short.given, full.given))
    )


def _person_short_form(few: tuple[str, ...], full: ParsedName, *, hyphened: bool) -> str:
    if full.family and full.meaningful[-len(few) :] == few and (len(few) == 1 or hyphened):
        return "family_alone"
    if few == full.given[:1] or (len(few) == 1 and few[0] in full.nicknames):
        return "given_alone"
    if full.family == few[-1:] and given_names_agree(few[0], full.given[0]):
        return "without_middle"
    return "inside" if _is_subsequence(few, full.meaningful) else ""


def _is_subsequence(few: Sequence[str], many: Sequence[str]) -> bool:
    rest = iter(many)
    return all(word in rest for word in few)


def _is_loose_abbreviation(letters: str, words: tuple[str, ...]) -> bool:
    """Whether letters stand in words in this order, each word beginning with one of them."""
    ends = {0}
    for word in words:
        reached = set()
        for end in ends:
            if end < len(letters) and word[0] == letters[end]:
                place = end + 1
                reached.add(place)
                for char in word[1:]:
                    if place < len(letters) and char == letters[place]:
                        place += 1
                        reached.add(place)
        ends = reached | (ends if word in PARTICLES else set())
    return len(letters) in ends
