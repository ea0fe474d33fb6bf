"""What of a question tells which way of answering suits it, and how much.

A logistic model over few cues, each between 0 and 1: its weights were fitted by ``benchmarks/routing.py`` on
labelled questions and are frozen here, so that the same question is always answered in the same way.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from math import exp, fsum
from types import MappingProxyType

from graphrag_dagster.core.text.english_words import GENERAL, GENRES, MANY, OVERVIEW
from graphrag_dagster.core.text.similarity import stem, stems, words

#: Of the log-odds that a question asks for something in particular; see ``benchmarks/routing.py``.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    dict.fromkeys(("named","names","overview","many","value","whole","specific","held","apart"), 0.0)
)
BIAS = 0.0

_VALUE = re.compile(
    r"\s*(?:(?:who|whom|whose|when|where)\b|how (?:many|much|old|long|far|fast|high|big|tall)\b|"
    r"(?:what|which) (?:year|date|day|time|number|age|amount|percentage)\b|"
    r"(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would)\b)",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\s*(?:summari[sz]e|give|outline|identify|list|describe|overall|in general|generally)\b", re.IGNORECASE
)
_PLURAL = re.compile(r"[a-z]{3,}(?<![su])s")
_ENOUGH = 8
_OVERVIEW, _MANY, _UNSPECIFIC = (
    frozenset(map(stem, listed)) for listed in (OVERVIEW, MANY, {*GENERAL, *GENRES, *OVERVIEW})
)


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages that are nearest to a question by words: their texts and scores, best first."""

    texts: Sequence[str]
    scores: Sequence[float]


def cues(question: str, named: Sequence[str], passages: Passages) -> dict[str, float]:
    """Return the cues of a question.

    Args:
        question: as asked.
        named: the names in it that are linked to entities.
        passages: some that are nearest to it by words.

    Returns:
        ``named``: it names an entity; ``names``: the share of its meaningful words that stand in names;
        ``overview``: the share that ask for an overview; ``many``: the share that speak of many at once, or
        are plural; ``value``: it asks who, when, where, how many, or whether; ``whole``: it begins as one
        that wants a summary; ``specific``: how many of its words say what to look for, of eight; ``held``: the
        share of these that one passage holds; ``apart``: how far the best passage is before the tenth.
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
        "whole": float(bool(_WHOLE.match(question))),
        "specific": min(len(wanted), _ENOUGH) / _ENOUGH,
        "held": _held(wanted, passages.texts),
        "apart": _apart(passages.scores),
    }


def probability_of_local(found: Mapping[str, float]) -> float:
    """Return how likely it is that a question with these cues asks for something in particular."""
    return 1 / (1 + exp(-(BIAS + fsum(WEIGHTS[name] * value for name, value in found.items()))))


def weightiest(found: Mapping[str, float], sign: int) -> list[str]:
    """Return the cues that speak for something in particular (1) or for the whole (-1), the strongest first."""
    pull = {name: sign * WEIGHTS[name] * value for name, value in found.items()}
    return sorted((name for name in pull if pull[name] > 0), key=lambda name: -pull[name])


def _speaks_of_many(word: str) -> bool:
    return stem(word) in _MANY or bool(_PLURAL.fullmatch(word))


def _held(wanted: Set[str], texts: Sequence[str]) -> float:
    best = max((len(wanted & set(stems(text))) for text in texts), default=0)
    return best / len(wanted) if wanted else 0.0


def _apart(scores: Sequence[float]) -> float:
    if len(scores) < 2 or scores[0] <= 0:
        return 0.0
    return 1 - scores[-1] / scores[0]
