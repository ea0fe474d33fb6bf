"""How likely two names are one, by frozen weights, with the reason in words."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

from graphrag_dagster.core.language.name_judging import Ruling
from graphrag_dagster.core.resolution.pairs.features import Pair, Scope, ShortForms, features, short_forms
from graphrag_dagster.core.resolution.pairs.vetoes import veto
from graphrag_dagster.core.resolution.pairs.weights import ASK, MERGE_ACROSS, MERGE_WITHIN, START, WEIGHTS

_LITTLE: dict[str, float] = {}

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


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Two names of a scope that were compared.

    Attributes:
        rule: by which they were found, see :data:`.candidates.RULES`.
        features: those that are not zero.
        score: probability that they are one, by the weights alone.
        veto: why they cannot be one; empty where they can.
        band: what follows.
        short: whether one is short for the other, and which place of the pair has it: 0, 1; None where not.
        ruling: what a model says of the pair, where it was asked.
    """

    pair: Pair
    rule: str
    features: dict[str, float]
    score: float
    veto: str
    band: Band
    short: int | None
    ruling: Ruling | None = None

    def ruled(self, ruling: Ruling) -> "ScoredPair":
        """Return the pair as a model rules."""
        if ruling.verdict == "unsure":
            return replace(self, ruling=ruling)
        if ruling.verdict == "same":
            return replace(self, band="merge", ruling=ruling)
        return replace(self, band="apart", veto=ruling.reason or "a model says so", ruling=ruling)

    @property
    def reason(self) -> str:
        """What a model says, else the veto, else the features in words, the weightiest first."""
        if self.ruling and self.ruling.reason:
            return self.ruling.reason
        if self.veto:
            return self.veto
        by_weight = sorted(self.features, key=lambda name: (-abs(WEIGHTS[name] * self.features[name]), name))
        return "; ".join(REASONS[name] for name in by_weight) or "nothing in common"


def scored(
    scope: Scope, pairs: Mapping[Pair, str], note: Callable[[ScoredPair], None] | None = None
) -> list[ScoredPair]:
    """Return the pairs of a scope that something speaks for or a veto against, in order.

    Args:
        scope: the names.
        pairs: that are compared, each with the rule that found it.
        note: is told of all of them, in order; what speaks little for a pair is known to it alone.
    """
    forms = short_forms(scope, pairs)
    kept: list[ScoredPair] = []
    for pair, rule in pairs.items():
        one = _scored(scope, pair, rule, forms)
        if note is not None:
            note(one)
        if one.band != "apart" or one.score >= ASK:
            kept.append(one)
        elif one.veto:
            kept.append(replace(one, features=_LITTLE))
    return kept


def _scored(scope: Scope, pair: Pair, rule: str, forms: ShortForms) -> ScoredPair:
    one, other = (scope.names[place] for place in pair)
    values = features(scope, pair, forms)
    within = scope.document is not None
    against = veto(one, other, values, within_document=within)
    score = probability(values)
    short = forms.how[pair][0] if pair in forms.how else None
    return ScoredPair(pair, rule, values, score, against, _band(score, against, within), short)


def probability(values: dict[str, float]) -> float:
    """Return how likely two names with these features are one, rounded to 6 decimals."""
    odds = START + sum(WEIGHTS[name] * value for name, value in sorted(values.items()))
    return round(1 / (1 + math.exp(-odds)), 6)


def _band(score: float, against: str, within: bool) -> Band:
    if against or score < ASK:
        return "apart"
    return "merge" if score >= (MERGE_WITHIN if within else MERGE_ACROSS) else "ask"
