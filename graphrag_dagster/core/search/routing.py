"""What of a question tells which way of answering suits it, and how much.

A logistic model over few cues, each between 0 and 1: its weights were fitted by ``benchmarks/routing.py`` on
labelled questions and are frozen here, so that the same question is always answered in the same way.
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from math import exp, fsum
from types import MappingProxyType

from graphrag_dagster.core.text.english_words import GENERAL, GENRES, MANY, OVERVIEW
from graphrag_dagster.core.text.similarity import stem, stems, words

#: Of the log-odds that a question asks for something in particular; see ``benchmarks/routing.py``.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "named": 1.68,
        "names": 0.58,
        "overview": -2.07,
        "many": -1.39,
        "value": 0.45,
        "past": 1.24,
        "generic": -1.6,
        "rarest": 0.43,
        "specific": 0.76,
        "held": 2.1,
    }
)
BIAS = -1.23

_VALUE = re.compile(
    r"\s*(?:(?:who|whom|whose|when|where|why)\b|what(?:'s| is| was) an?\b|"
    r"how (?:many|much|old|long|far|fast|high|big|tall)\b|"
    r"(?:what|which) (?:year|date|day|time|number|age|amount|percentage)\b|"
    r"(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would)\b)",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
_GENERIC = re.compile(r"\b(?:do|are|have|is there|are there)\b", re.IGNORECASE)
_PLURAL = re.compile(r"[a-z]{3,}(?<![su])s")
_ENOUGH = 8
_OVERVIEW, _MANY, _UNSPECIFIC = (
    frozenset(map(stem, listed)) for listed in (OVERVIEW, MANY, {*GENERAL, *GENRES, *OVERVIEW})
)


def cues(
    question: str, named: Sequence[str], nearest: Sequence[str], rarity: Callable[[str], float]
) -> dict[str, float]:
    """Return the cues of a question.

    Args:
        question: as asked.
        named: the names in it that are linked to entities.
        nearest: texts of the passages that are nearest to it by words.
        rarity: how rare a word is in the corpus, 0 (everywhere) to 1 (nowhere).

    Returns:
        ``named``: it names an entity; ``names``: the share of its meaningful words that stand in names;
        ``overview``: the share that ask for an overview; ``many``: the share that speak of many at once, or
        are plural; ``value``: it asks who, when, where, why, how many, or whether; ``past``: it asks what
        happened; ``generic``: it asks what is so in general; ``rarest``: how rare the rarest of the words is
        that say what to look for; ``specific``: how many such words it has, of eight; ``held``: the share of
        them that one passage holds.
    """
    meaningful = [word for word in words(question) if stems(word)]
    wanted = {stem(word) for word in meaningful} - _UNSPECIFIC
    of_names = {word for name in named for word in words(name)}
    whole = max(len(meaningful), 1)
    return {
        "named": float(bool(named)),
        "names": sum(word in of_names for word in meaningful) / whole,
        "overview": sum(stem(word) in _OVERVIEW for word in meaningful) / whole,
        "many": sum(word not in of_names and _speaks_of_many(word) for word in meaningful) / whole,
        "value": float(bool(_VALUE.match(question))),
        "past": float(bool(_PAST.search(question))),
        "generic": float(bool(_GENERIC.search(question))),
        "rarest": _rarest([word for word in meaningful if stem(word) in wanted], rarity),
        "specific": min(len(wanted), _ENOUGH) / _ENOUGH,
        "held": _held(wanted, nearest),
    }


def probability_of_local(found: Mapping[str, float]) -> float:
    """Return how likely it is that a question with these cues asks for something in particular."""
    return 1 / (1 + exp(-(BIAS + fsum(WEIGHTS[name] * value for name, value in found.items()))))


def weightiest(found: Mapping[str, float], sign: int) -> list[str]:
    """Return the cues that speak for something in particular (1) or the whole (-1), strongest first."""
    pull = {name: sign * WEIGHTS[name] * value for name, value in found.items()}
    return sorted((name for name in pull if pull[name] > 0), key=lambda name: -pull[name])


def _speaks_of_many(word: str) -> bool:
    return stem(word) in _MANY or bool(_PLURAL.fullmatch(word))


def _held(wanted: Set[str], texts: Sequence[str]) -> float:
    best = max((len(wanted & set(stems(text))) for text in texts), default=0)
    return best / len(wanted) if wanted else 0.0


def _rarest(wanted: Sequence[str], rarity: Callable[[str], float]) -> float:
    known = [value for value in map(rarity, wanted) if value < 1]
    return max(known, default=0.0)
