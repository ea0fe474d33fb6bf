"""The claims of answers as rows, and their clusters by ROUGE-L distance (GraphRAG paper §3.3.2).

Repeated claims of an answer are those with the same words. Clusters of the claims of one answer measure its
diversity.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.tasks import SentenceClaims

_TOKEN = re.compile(r"[a-z0-9]+")


def tokens(text: str) -> list[str]:
    """Return the runs of ASCII letters and digits of the lower-cased text, unstemmed.

    Equal to the tokenizer of the rouge-score package, whose other letters separate words: a text without
    ASCII letters and digits has no tokens.

    >>> tokens("Café No. 7 – re-opened")
    ['caf', 'no', '7', 're', 'opened']
    """
    return _TOKEN.findall(text.lower())


def distance(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 − ROUGE-L F1 of two token lists: (m + n − 2·LCS) / (m + n), from 0 to 1.

    Two empty lists are equal, hence 0 apart, although rouge-score gives them the F1 0; an empty and another
    list are 1 apart.

    >>> distance("abcd", "abxd")
    0.25
    """
    return float(distances([one, other])[0])


def distances(claims: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return the distances of all pairs of n token lists, n(n−1)/2 of them in SciPy's condensed order.

    Each is one division of two integers and therefore the double nearest to the fraction: equal fractions
    are equal doubles. Needs 4·n² bytes on the way.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    # Elements are compared by their hashes, and only those of integers cannot collide.
    codes: dict[str, int] = {}
    coded = [[codes.setdefault(token, len(codes)) for token in claim] for claim in claims]
    # The indel distance is m + n − 2·LCS.
    apart = process.cdist(coded, coded, scorer=Indel.distance, dtype=np.int32, workers=1)
    rows, columns = np.triu_indices(len(coded), 1)
    lengths = np.array([len(claim) for claim in coded], dtype=np.int64)
    together = lengths[rows] + lengths[columns]
    return np.asarray(apart[rows, columns] / np.maximum(together, 1), dtype=np.float64)


def rouge_score_distances(claims: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return what :func:`distances` returns, with each LCS as the rouge-score package finds it."""
    scorer = _rouge_scorer()
    made = []
    for one, other in combinations(claims, 2):
        both = len(one) + len(other)
        # Its F1 is rounded; the LCS behind it is a whole number.
        common = round(scorer.score(" ".join(one), " ".join(other))["rougeL"].recall * len(one))
        made.append((both - 2 * common) / max(both, 1))
    return np.array(made, dtype=np.float64)


def _rouge_scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"])


Rows = list[dict[str, Any]]


def claim_rows(
    answer_ids: Sequence[str], taken_apart: Iterable[Sequence[SentenceClaims]], engine: str
) -> tuple[Rows, Rows]:
    """Return the rows of ``evaluation.answer_sentences`` and ``evaluation.answer_claims``.

    Args:
        answer_ids: of the answers.
        taken_apart: the sentences of each, in the same order.
        engine: who took them apart.
    """
    sentences: Rows = []
    claims: Rows = []
    for answer_id, parts in zip(answer_ids, taken_apart, strict=True):
        sentences += [
            {
                "answer_id": answer_id,
                "position": place,
                "sentence": part.sentence,
                "state": part.state,
                "reason": part.reason,
                "claims": len(part.claims),
                "repaired": part.usage.repaired,
                "engine": engine,
            }
            for place, part in enumerate(parts)
        ]
        claims += _claims(answer_id, parts, engine)
    return sentences, claims


def _claims(answer_id: str, parts: Sequence[SentenceClaims], engine: str) -> Iterator[dict[str, Any]]:
    stated = [(place, claim) for place, part in enumerate(parts) for claim in part.claims]
    first_of = repeated_claims([claim for _, claim in stated])
    for position, (place, claim) in enumerate(stated):
        yield {
            "answer_id": answer_id,
            "position": position,
            "sentence": place,
            "claim": claim,
            "duplicate_of": first_of.get(position),
            "engine": engine,
        }


#: Distances of all pairs of token lists, in SciPy's condensed order.
PairwiseDistances: TypeAlias = Callable[[Sequence[Sequence[str]]], NDArray[np.float64]]


def distinct_claims(answer_claims: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each answer's id with its claims that repeat no other, by position."""
    counted = answer_claims.filter(pl.col("duplicate_of").is_null()).sort("answer_id", "position")
    for (answer_id,), group in counted.group_by("answer_id", maintain_order=True):
        yield str(answer_id), group


def cluster_rows(
    answer_claims: pl.DataFrame, thresholds: Sequence[float], measure: PairwiseDistances = distances
) -> pl.DataFrame:
    """Return the rows of ``evaluation.diversity_clusters``: the distinct claims of each answer, clustered.

    Args:
        answer_claims: ``answer_id``, ``position``, ``claim`` and ``duplicate_of``.
        thresholds: rising.
        measure: distances of claims, :func:`distances` or :func:`rouge_score_distances`.
    """
    frames = []
    for answer_id, group in distinct_claims(answer_claims):
        clusters = cluster_claims(group["claim"].to_list(), thresholds, measure)
        frames += [
            pl.DataFrame(
                {
                    "answer_id": [answer_id] * len(group),
                    "threshold": [threshold] * len(group),
                    "position": group["position"],
                    "cluster": clusters[threshold, False],
                    "cluster_inclusive": clusters[threshold, True],
                }
            )
            for threshold in thresholds
        ]
    return pl.concat(frames) if frames else pl.DataFrame()


#: Punctuation by Unicode's account that changes what is said: C and C#, 5 and 5 %.
_MEANINGFUL = frozenset("#%&@‰′″")
#: What may begin a number: −5 with a hyphen or a dash, and .5.
_SIGNS = "-–."
_APOSTROPHES = str.maketrans("’ʼ＇", "'''")


def repeated_claims(claims: Sequence[str]) -> dict[int, int]:
    """Return the positions of the claims that repeat an earlier one, with that one's position.

    Two claims are the same where only case, blanks, and punctuation at the ends of words differ. What stands
    inside a word or makes it another one is kept: 3.5 is not 35, −5 not 5, C# not C. Blank claims and those
    of punctuation alone count as the same.

    >>> repeated_claims(["In 2020, it closed.", "in 2020 it  closed", "In 2021 it closed."])
    {1: 0}
    """
    first: dict[str, int] = {}
    earlier = [first.setdefault(_key(claim), position) for position, claim in enumerate(claims)]
    return {position: other for position, other in enumerate(earlier) if other != position}


def _key(claim: str) -> str:
    # Not NFKC, which makes 102 of 10².
    folded = unicodedata.normalize("NFC", claim.casefold()).translate(_APOSTROPHES)
    return " ".join(word for word in map(_strip_punctuation, folded.split()) if word)


def _strip_punctuation(word: str) -> str:
    """Return the word without the punctuation at its ends, keeping what makes a number another one."""
    start, end = 0, len(word)
    while start < end and _strippable(word[start]):
        start += 1
    while end > start and _strippable(word[end - 1]):
        end -= 1
    before, bare = word[:start], word[start:end]
    sign = before[len(before.rstrip(_SIGNS)) :] if bare[:1].isdigit() else ""
    return sign + bare


def _strippable(char: str) -> bool:
    return unicodedata.category(char).startswith("P") and char not in _MEANINGFUL


#: The thresholds of the paper.
THRESHOLDS = (0.5, 0.6, 0.7, 0.8)


def cluster_claims(
    claims: Sequence[str], thresholds: Sequence[float] = THRESHOLDS, measure: PairwiseDistances = distances
) -> dict[tuple[float, bool], tuple[int, ...]]:
    """Cluster the claims of an answer by complete linkage of their ROUGE-L distances.

    The partition depends on the set of token lists alone: not on the order of the claims, not on how often
    one is repeated. Claims without tokens, such as those in another script, are one cluster. Where several
    merges are possible at the same distance, the order of the token lists decides.

    Comparing doubles is exact here. A distance is a fraction p/q rounded once, and complete linkage only
    takes maxima of distances. A threshold of d decimals is likewise the double nearest to a fraction a/10^d.
    Equal fractions round to the same double; different ones are at least 1/(q·10^d) apart, far more than
    the spacing of doubles, and rounding keeps their order.

    Args:
        claims: of one answer; repeated ones change no count.
        thresholds: distances, above 0 and at most 1, as decimals.
        measure: distances of token lists.

    Returns:
        By threshold, and whether clusters exactly at it are merged (the paper's words) or only those below it
        (scikit-learn, which the paper used), the cluster of each claim, numbered from 0 by the first claims.
    """
    words = [tuple(tokens(claim)) for claim in claims]
    kinds = sorted(set(words))
    apart = np.zeros((len(kinds), len(kinds)))
    apart[np.triu_indices(len(kinds), 1)] = measure(kinds)
    apart += apart.T
    found = {}
    for threshold in thresholds:
        # scikit-learn merges below its threshold: the next double takes in what is exactly at ours.
        for inclusive, below in ((False, threshold), (True, float(np.nextafter(threshold, 2)))):
            clusters = _complete_linkage(apart, below)
            of_kind = dict(zip(kinds, clusters, strict=True))
            numbers: dict[int, int] = {}
            found[threshold, inclusive] = tuple(
                numbers.setdefault(of_kind[claim], len(numbers)) for claim in words
            )
    return found


def _complete_linkage(apart: NDArray[np.float64], below: float) -> list[int]:
    """Return the cluster of each row of a square matrix of distances, merged where all are nearer."""
    from sklearn.cluster import AgglomerativeClustering

    if len(apart) < 2:
        return [0] * len(apart)
    clustering = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="complete", distance_threshold=below
    )
    return list(clustering.fit_predict(apart).tolist())
