"""Confidence intervals of means by the percentile bootstrap."""

from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import ArrayLike

RESAMPLES = 2000
#: Coverage of the intervals.
LEVEL = 0.95
SEED = 0
_DRAWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean of ``n`` values and the bounds of its confidence interval, in the unit of the values.

    The bounds are None if all values are equal: resampling then says nothing about the error of the mean, and
    an interval of width zero would suggest certainty.
    """

    n: int
    mean: float
    low: float | None
    high: float | None


def mean_interval(values: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED) -> MeanInterval | None:
    """Return the percentile bootstrap interval of the mean, independent of the order of the values.

    Args:
        values: shape [n], finite.
        resamples: number of samples of n values drawn with replacement, two or more.
        seed: random seed; equal arguments give equal bounds.

    Returns:
        None without values. Without bounds if all values are equal, or there is only one.

    Raises:
        ValueError: a value is not finite, or the shape is not [n].
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"finite values of shape [n] are wanted, not {array.shape}: {array}")
    if not len(array):
        return None
    # Resampling picks by position, so values are sorted to make the bounds independent of their order.
    array = np.sort(array)
    if array[0] == array[-1]:
        return MeanInterval(len(array), float(array[0]), None, None)
    from scipy.stats import bootstrap

    drawn = bootstrap(
        (array,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, _DRAWS_AT_ONCE // len(array)),
        vectorized=True,
        method="percentile",
        rng=seed,
    )
    # SciPy versions agree on the resampled means, not on the last digits of their quantiles.
    low, high = np.quantile(drawn.bootstrap_distribution, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return MeanInterval(len(array), fsum(array) / len(array), float(low), float(high))
