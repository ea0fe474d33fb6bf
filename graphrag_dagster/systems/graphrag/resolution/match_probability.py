"""The probability that two names are one, by fitted weights, with the reason in words."""

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from graphrag_dagster.engines.extractive.names.name_wordlists import (
    FEMALE_NAMES,
    FEMALE_TITLES,
    MALE_NAMES,
    MALE_TITLES,
)
from graphrag_dagster.kernel.tasks.name_judging_ports import Ruling
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.feature_weights import (
    ASK,
    MERGE_ACROSS,
    MERGE_WITHIN,
    START,
    WEIGHTS,
)
from graphrag_dagster.systems.graphrag.resolution.name_features import (
    PARTS,
    NameScope,
    Pair,
    features,
    given_names_agree,
    short_forms,
)
from graphrag_dagster.systems.graphrag.resolution.name_parsing import OPPOSITES, ParsedName

_SHORT = frozenset({"acronym", "loose_acronym"})
_PARTS = PARTS | {"family_alone", "given_alone", "without_middle"}
_DEFINED = frozenset({"defined", "called"})
_CLOSED = frozenset({"time", "number"})
_OPPOSED = frozenset().union(*OPPOSITES)


def veto(one: ParsedName, other: ParsedName, found: dict[str, float], *, within_document: bool) -> str:
    """Return why two names cannot be one, in words; nothing where they can.

    Args:
        one: a name.
        other: another.
        found: their features.
        within_document: whether both stand in one document, so that one may be short for the other.
    """
    if (one.bare or other.bare) and _squeezed(one) != _squeezed(other) and not found.keys() & _DEFINED:
        return "a name of a single letter, or of none, is one only with itself"
    if one.signs != other.signs and not found.keys() & _DEFINED:
        return f"signs differ: {one.signs or 'none'} and {other.signs or 'none'}"
    if one.words == other.words and one.kind == other.kind:
        return _person_veto(one, other) or _legal_form_veto(one, other)
    return (
        _kind_veto(one, other)
        or _person_veto(one, other)
        or _number_veto(one, other, found)
        or _part_type_veto(one, other, found)
        or _opposite_veto(one, other)
        or _generic_veto(one, other, found)
        or ("" if within_document else _short_form_veto(found))
    )


def _squeezed(name: ParsedName) -> str:
    return "".join(normalise(name.name).split())


def _kind_veto(one: ParsedName, other: ParsedName) -> str:
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return "times and numbers are one only where they are spelled alike" if kinds & _CLOSED else ""
    if kinds & _CLOSED or ("person" in kinds and kinds != {"person", "other"}):
        return f"types cannot be those of one entity: {one.kind} and {other.kind}"
    return ""


def _legal_form_veto(one: ParsedName, other: ParsedName) -> str:
    if one.form and other.form and one.form != other.form:
        return f"legal forms differ: {one.form} and {other.form}"
    return ""


def _person_veto(one: ParsedName, other: ParsedName) -> str:
    if not one.kind == other.kind == "person":
        return ""
    if one.generation and other.generation and one.generation != other.generation:
        return f"generations differ: {one.generation} and {other.generation}"
    for first, second in ((one.address, other.address), (other.address, one.address)):
        if first & MALE_TITLES and second & FEMALE_TITLES:
            return "forms of address are of a man and of a woman"
    for titled, named in ((one, other), (other, one)):
        man, woman = (named.given[:1] and named.given[0] in names for names in (MALE_NAMES, FEMALE_NAMES))
        if (titled.address & FEMALE_TITLES and man and not woman) or (
            titled.address & MALE_TITLES and woman and not man
        ):
            return f"form of address and given name are of a man and of a woman: {named.given[0]}"
    if one.given and other.given and one.meaningful[-1] == other.meaningful[-1]:
        agree = any(
            given_names_agree(first, second)
            for first in one.given[:1] + tuple(one.nicknames)
            for second in other.given[:1] + tuple(other.nicknames)
        )
        inside = set(one.given) <= set(other.given) or set(other.given) <= set(one.given)
        if not agree and not inside:
            return f"given names differ: {one.given[0]} and {other.given[0]}"
        if len(one.given) == len(other.given) and not all(map(given_names_agree, one.given, other.given)):
            return "middle names differ"
    return ""


def _number_veto(one: ParsedName, other: ParsedName, found: dict[str, float]) -> str:
    if sorted(one.numbers) == sorted(other.numbers) or found.keys() & (_DEFINED | {"country"}):
        return ""
    if one.numbers and other.numbers:
        return f"numbers differ: {' '.join(one.numbers)} and {' '.join(other.numbers)}"
    if one.kind == other.kind == "person" or found.keys() & _SHORT:
        return ""
    return f"only one has a number: {' '.join(one.numbers or other.numbers)}"


def _part_type_veto(one: ParsedName, other: ParsedName, found: dict[str, float]) -> str:
    if one.kind != other.kind and found.keys() & _PARTS and not found.keys() & _DEFINED:
        return f"one name is a part of the other, types differ: {one.kind} and {other.kind}"
    return ""


def _opposite_veto(one: ParsedName, other: ParsedName) -> str:
    if _OPPOSED.isdisjoint(one.words) or _OPPOSED.isdisjoint(other.words):
        return ""
    for words in OPPOSITES:
        first, second = words.intersection(one.words), words.intersection(other.words)
        if first and second and first != second:
            return f"one is {' '.join(sorted(first))}, the other {' '.join(sorted(second))}"
    return ""


def _generic_veto(one: ParsedName, other: ParsedName, found: dict[str, float]) -> str:
    if found.keys() & _DEFINED:
        return ""
    for name in (one, other):
        if name.generic and found.keys() & _PARTS:
            return f"{name.name!r} is a kind of thing, and no text defines it"
    return ""


def _short_form_veto(found: dict[str, float]) -> str:
    if found.keys() & (_PARTS - {"without_middle"}):
        return "a short form stands for a fuller name only inside a document"
    if found.keys() & _SHORT and not found.keys() & (_DEFINED | {"country"}):
        return "no document says what the letters stand for"
    return ""


Band = Literal["merge", "ask", "apart"]

#: What each feature says of two names.
REASONS: Final = MappingProxyType(
    {
        "same_key": "the same name, written otherwise",
        "same_words": "the same words, with another addition or type",
        "without_title": "the other without a title",
        "same_letters": "the same letters, parted otherwise",
        "other_order": "the same words in another order",
        "spelling": "spelled alike",
        "sounds": "sound alike",
        "country": "names of one country or of its people",
        "country_letters": "one is letters that are known for the country",
        "people": "a place and its people",
        "inflected": "forms of one word",
        "given": "the same family name, given names that agree",
        "acronym": "the first letters of the other",
        "loose_acronym": "letters of the other's words",
        "begins": "the beginning of the other",
        "ends": "the end of the other",
        "inside": "words of the other",
        "family_alone": "the family name of the other",
        "given_alone": "a given name of the other",
        "introduced": "the full name stands first, and nobody else has this given name",
        "without_middle": "the other without a middle name",
        "middle_initial": "no more than a middle initial differs",
        "only": "the document has no other fuller name for it",
        "only_person": "the document has no other person of that name",
        "only_letters": "the document has no other name with these letters",
        "part_of_place": "a part of the name of a place",
        "part_of_organisation": "a part of the name of an organisation",
        "kept": "most of the fuller name is kept",
        "after": "the fuller name stands first",
        "defined": "the text puts the letters in brackets behind the name, or the name behind them",
        "bracketed": "the text puts one in brackets behind the other",
        "bracketed_place": "the text puts one place in brackets behind the other",
        "called": "the text says that one is called the other",
        "types_differ": "types differ",
        "together": "both stand in one sentence",
    }
)


class ScoredPair(NamedTuple):
    """Two names of a scope that were compared.

    Attributes:
        rule: by which they were found, see :data:`.candidate_pairs.RULES`.
        features: those that are not zero, as the table has them.
        score: probability that they are one, by the weights alone.
        veto: why they cannot be one; empty where they can.
        band: what follows.
        short: whether one is short for the other, and which place of the pair has it: 0, 1; None where not.
        ruling: what a model says of the pair, where it was asked.
    """

    pair: Pair
    rule: str
    features: str
    score: float
    veto: str
    band: Band
    short: int | None
    ruling: Ruling | None = None

    def with_ruling(self, ruling: Ruling) -> "ScoredPair":
        """Return the pair as a model rules."""
        if ruling.verdict == "unsure":
            return self._replace(ruling=ruling)
        if ruling.verdict == "same":
            return self._replace(band="merge", ruling=ruling)
        return self._replace(band="apart", veto=ruling.reason or "a model says so", ruling=ruling)

    @property
    def reason(self) -> str:
        """The reason: a model's, else the veto, else the features in words, the weightiest first."""
        if self.ruling and self.ruling.reason:
            return self.ruling.reason
        return self.veto or _in_words(self.features)


@lru_cache(maxsize=10_000)
def _in_words(features: str) -> str:
    values = json.loads(features)
    by_weight = sorted(values, key=lambda name: (-abs(WEIGHTS[name] * values[name]), name))
    return "; ".join(REASONS[name] for name in by_weight) or "nothing in common"


def score_pairs(scope: NameScope, pairs: Mapping[Pair, str]) -> Iterator[ScoredPair]:
    """Yield the pairs of a scope with what speaks for them, each found by a rule."""
    parsed = {place: scope.parsed(place) for place in set(chain.from_iterable(pairs))}
    forms = short_forms(parsed, pairs)
    within = scope.document is not None
    for pair, rule in pairs.items():
        one, other = parsed[pair[0]], parsed[pair[1]]
        values = features(scope, pair, one, other, forms)
        against = veto(one, other, values, within_document=within)
        written, score = _weighed(tuple(values.items()))
        short = forms.how[pair][0] if pair in forms.how else None
        yield ScoredPair(pair, rule, written, score, against, _band(score, against, within), short)


# Of many pairs few features differ, and those that are alike are kept once.
@lru_cache(maxsize=10_000)
def _weighed(values: tuple[tuple[str, float], ...]) -> tuple[str, float]:
    """Return features as the table has them, and the probability that follows."""
    return json.dumps(dict(values)), probability(dict(values))


def probability(values: dict[str, float]) -> float:
    """Return how likely two names with these features are one, rounded to 6 decimals."""
    odds = START + sum(WEIGHTS[name] * value for name, value in sorted(values.items()))
    return round(1 / (1 + math.exp(-odds)), 6)


def _band(score: float, against: str, within: bool) -> Band:
    if against or score < ASK:
        return "apart"
    return "merge" if score >= (MERGE_WITHIN if within else MERGE_ACROSS) else "ask"
