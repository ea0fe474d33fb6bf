"""Tests of paired conditions: Wilcoxon signed-rank, Holm, Shapiro–Wilk (paper Appendix G)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import erfc, fsum, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrag_dagster.kernel.common.bootstrap_intervals import RESAMPLES, SEED, mean_interval

Floats = NDArray[np.float64]
#: Differences up to this share of the largest value are what adding up in floating point leaves behind.
TOLERANCE = 1e-12
#: Up to so many unequal pairs p is exact: the normal approximation calls five equal differences significant,
#: although no five can be.
EXACT = 25


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Wilcoxon's test of ``n`` pairs, ``zeros`` of them equal; ``z`` ≤ 0, ``p`` two-sided.

    ``rank_biserial`` is the difference of the rank sums for and against the first, over their sum: -1 to 1,
    and 0 where neither side has more. Its sign is the direction of the test.
    """

    n: int
    zeros: int
    z: float
    p: float
    rank_biserial: float = 0.0


@dataclass(frozen=True, slots=True)
class Normality:
    """Shapiro–Wilk's test of ``n`` values; ``w`` and ``p`` are None where ``reason`` says why."""

    n: int
    w: float | None
    p: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PairTest:
    """Two conditions over the same ``n`` questions, ``zeros`` of them with equal values.

    ``difference`` is the mean of a minus b, with the bounds ``low`` and ``high`` of its confidence interval;
    they and the means are in the unit of the values, and None where ``n`` is 0; the bounds also where all
    differences are equal. ``z`` ≤ 0, ``p`` and ``rank_biserial`` are Wilcoxon's (:class:`SignedRank`),
    ``p_holm`` is corrected within the family the test was part of.
    """

    condition_a: str
    condition_b: str
    n: int
    zeros: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    z: float
    p: float
    p_holm: float
    rank_biserial: float


def wilcoxon(first: ArrayLike, second: ArrayLike) -> SignedRank:
    """Test paired values by the signed-rank test, two-sided.

    Equal pairs are dropped, equal magnitudes get mid-ranks; z is by the normal approximation with the
    correction for ties and without one for continuity, of the smaller rank sum, hence never positive. p is
    that of z; up to :data:`EXACT` unequal pairs it is the share of all ways to give these ranks their signs
    that are as lopsided. Without unequal pairs z is 0 and p is 1. Magnitudes that differ by less than
    rounding errors of the values are equal.

    Args:
        first: shape [n], finite.
        second: shape [n], finite, of the same questions in the same order.

    Raises:
        ValueError: the shapes differ or a value is not finite.
    """
    a, b = _finite("the first", first), _finite("the second", second)
    if len(a) != len(b):
        raise ValueError(f"values are not paired: {len(a)} against {len(b)}")
    tolerance = TOLERANCE * max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    differences = a - b
    unequal = differences[np.abs(differences) > tolerance]
    zeros = len(a) - len(unequal)
    if not len(unequal):
        return SignedRank(len(a), zeros, 0.0, 1.0)
    ranks, tied = _mid_ranks(np.abs(unequal), tolerance)
    m = len(unequal)
    positive = float(ranks[unequal > 0].sum())
    total = m * (m + 1) / 2
    variance = m * (m + 1) * (2 * m + 1) / 24 - float((tied**3 - tied).sum()) / 48
    smaller = min(positive, total - positive)
    z = (smaller - total / 2) / sqrt(variance)
    p = _exact(ranks, smaller) if m <= EXACT else erfc(-z / sqrt(2))
    return SignedRank(len(a), zeros, z, p, (2 * positive - total) / total)


def _exact(ranks: Floats, smaller: float) -> float:
    """Return how probable it is that one of two rank sums is at most the smaller one found."""
    # Mid-ranks are whole or half numbers.
    doubled = np.rint(2 * ranks).astype(np.int64)
    ways = np.zeros(int(doubled.sum()) + 1, dtype=np.int64)
    ways[0] = 1
    for rank in doubled:
        ways[rank:] += ways[:-rank].copy()
    return min(1.0, 2 * int(ways[: round(2 * smaller) + 1].sum()) / float(2 ** len(ranks)))


def _mid_ranks(magnitudes: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Return the mean rank of each magnitude, 1…n, and the size of each group of equal magnitudes."""
    order = np.argsort(magnitudes, kind="stable")
    begins = np.diff(magnitudes[order], prepend=-np.inf) > tolerance
    group = np.cumsum(begins) - 1
    sizes = np.bincount(group).astype(np.float64)
    ranks = np.empty(len(magnitudes))
    ranks[order] = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return ranks, sizes


def holm(p_values: ArrayLike) -> Floats:
    """Return the p values corrected for being one family, in the order given (Holm 1979).

    The i-th smallest of m becomes the largest of ``min(1, (m - j + 1) * p_(j))`` over j ≤ i.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(len(p), 0, -1) * p[order]))
    return adjusted


def shapiro_wilk(values: ArrayLike) -> Normality:
    """Test whether values may come from a normal distribution; p is approximate above 5,000 values.

    Raises:
        ValueError: the shape is not [n] or a value is not finite.
    """
    array = np.sort(_finite("the", values))
    n = len(array)
    if n < 3:
        return Normality(n, None, None, f"{n} of at least 3 values")
    if array[-1] - array[0] <= TOLERANCE * np.abs(array).max():
        return Normality(n, None, None, "all values are equal")
    from scipy.stats import shapiro

    w, p = shapiro(array)
    # Versions of SciPy agree in no more than these digits.
    return Normality(n, float(f"{w:.6g}"), float(f"{p:.6g}"))


def pairwise(
    values: Mapping[str, ArrayLike], order: Sequence[str], *, resamples: int = RESAMPLES, seed: int = SEED
) -> list[PairTest]:
    """Test all pairs of conditions, corrected as one family: one data set and one measure.

    Args:
        values: of each condition, shape [n], finite, over the same questions in the same order.
        order: every condition once; an earlier one is a, a later one b.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ValueError: values are not paired or not finite.
    """
    pairs = [(a, b, _finite(a, values[a]), _finite(b, values[b])) for a, b in combinations(order, 2)]
    return _test_pairs(pairs, resamples, seed)


def pairwise_scores(
    scores: Mapping[tuple[str, str], ArrayLike], *, resamples: int = RESAMPLES, seed: int = SEED
) -> list[PairTest]:
    """Test judged pairs of conditions, corrected as one family: one data set and one criterion.

    The means are win rates and add up to 100; the interval of a's win rate is ``50 + low / 2`` to
    ``50 + high / 2``.

    Args:
        scores: for each pair (a, b), one way only, the mean score of a over the replicates, 0–100, shape
            [questions]; that of b is 100 minus it. The number of questions may differ between pairs.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        One test per pair, sorted by the names of its conditions.
    """
    arrays = {pair: _finite(" against ".join(pair), scores[pair]) for pair in sorted(scores)}
    return _test_pairs([(*pair, array, 100.0 - array) for pair, array in arrays.items()], resamples, seed)


def _test_pairs(
    pairs: Sequence[tuple[str, str, Floats, Floats]], resamples: int, seed: int
) -> list[PairTest]:
    ranked = [wilcoxon(first, second) for _, _, first, second in pairs]
    corrected = holm([test.p for test in ranked])
    tests = []
    for (a, b, first, second), test, p_holm in zip(pairs, ranked, corrected, strict=True):
        interval = mean_interval(first - second, resamples=resamples, seed=seed)
        tests.append(
            PairTest(
                condition_a=a,
                condition_b=b,
                n=test.n,
                zeros=test.zeros,
                mean_a=fsum(first) / test.n if test.n else None,
                mean_b=fsum(second) / test.n if test.n else None,
                difference=interval.mean if interval else None,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                z=test.z,
                p=test.p,
                p_holm=float(p_holm),
                rank_biserial=test.rank_biserial,
            )
        )
    return tests


def _finite(name: str, values: ArrayLike) -> Floats:
    """Return values of shape [n] as floats."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} values: expected shape [n], not {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} values: number {int(np.flatnonzero(~np.isfinite(array))[0])} is not finite")
    return array
