"""What sentences have in common: words, stems, longest common subsequences."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

_WORD = re.compile(r"\w+", re.UNICODE)

_STOP_WORDS = (
    "a about above after again against all also am among an and any are as at be because been before "
    "being below between both but by can cannot could did do does doing done down during each either "
    "else ever every few for from further get gets give given gives had has have having he her here "
    "hers herself him himself his how i if in into is it its itself just least less let like made make "
    "makes many may me might more most much must my myself neither no nor not now of off on once one "
    "only onto or other our ours out over own per quite rather s same she should since so some such t "
    "than that the their theirs them themselves then there these they this those through thus to too "
    "under until up upon us very was we were what when where whether which while who whom whose why "
    "will with within without would yes yet you your yours yourself yourselves tell explain describe "
    "please say says said know "
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words(text: str) -> list[str]:
    """Lower-case runs of letters and digits."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in their order."""
    return [_stem(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1]


def rouge_l(one: Sequence[str], other: Sequence[str]) -> float:
    """F1 of the longest common subsequence of two word lists, 0 where either is empty."""
    from rapidfuzz.distance import LCSseq

    if not one or not other:
        return 0.0
    return 2 * LCSseq.similarity(one, other) / (len(one) + len(other))


def near_duplicate(candidate: Sequence[str], kept: Iterable[Sequence[str]], threshold: float = 0.7) -> bool:
    """Whether the words of a sentence are nearly those of one that is kept (ROUGE-L F1 ≥ threshold)."""
    return any(
        2 * min(len(candidate), len(other)) >= threshold * (len(candidate) + len(other))
        and rouge_l(candidate, other) >= threshold
        for other in kept
    )
