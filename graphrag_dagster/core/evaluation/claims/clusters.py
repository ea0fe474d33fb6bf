"""Clusters of the claims of one answer: the measure of its diversity (spec_graphrag §10)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.evaluation.claims.rouge import distances, tokens

#: The thresholds of the paper.
THRESHOLDS = (0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class Partition:
    """The clusters of an answer's claims at one threshold.

    ``inclusive``: clusters exactly at the threshold are merged (the paper's words), else only those below it
    (scikit-learn, which the paper used). ``labels[i]`` is the cluster of claim i, 0…count−1, numbered in the
    order of the first claims.
    """

    threshold: float
    inclusive: bool
    labels: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of clusters; 0 without claims."""
        return max(self.labels, default=-1) + 1


@dataclass(frozen=True, slots=True)
class ClaimClusters:
    """The partitions of an answer's claims at every threshold, strict and inclusive."""

    partitions: tuple[Partition, ...]

    def at(self, threshold: float, *, inclusive: bool = False) -> Partition:
        """Return the partition at a threshold; KeyError where the claims were not clustered at it."""
        for partition in self.partitions:
            if (partition.threshold, partition.inclusive) == (threshold, inclusive):
                return partition
        raise KeyError(threshold)


def cluster(claims: Sequence[str], thresholds: Sequence[float] = THRESHOLDS) -> ClaimClusters:
    """Cluster the claims of an answer by complete linkage of their ROUGE-L distances.

    The partition depends on the set of token lists alone: not on the order of the claims, not on how often
    one is repeated. Claims without tokens (see :func:`.rouge.tokens`), such as those in another script, are
    one cluster. Where several merges are possible at the same distance, the order of the token lists decides.

    Comparing doubles is exact here. A distance is a fraction p/q rounded once, and complete linkage only
    takes maxima of distances. A threshold of d decimals is likewise the double nearest to a fraction a/10^d.
    Equal fractions round to the same double; different ones are at least 1/(q·10^d) apart, far more than
    the spacing of doubles, and rounding keeps their order.

    Args:
        claims: of one answer; repeated ones change no count.
        thresholds: distances, above 0 and at most 1, as decimals.

    Raises:
        ValueError: a threshold is out of range.
    """
    for threshold in thresholds:
        if not 0 < threshold <= 1:
            raise ValueError(f"a threshold must be above 0 and at most 1, not {threshold}")
    words = [tuple(tokens(claim)) for claim in claims]
    kinds = sorted(set(words))
    kind_of = {kind: number for number, kind in enumerate(kinds)}
    merges = _merges(kinds)
    partitions = []
    for threshold in thresholds:
        for inclusive in (False, True):
            roots = _roots(merges, len(kinds), threshold, inclusive=inclusive)
            labels = _numbered([roots[kind_of[claim]] for claim in words])
            partitions.append(Partition(threshold, inclusive, labels))
    return ClaimClusters(tuple(partitions))


def _merges(claims: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return SciPy's linkage matrix: one row per merge, by height, with both clusters and the height."""
    from scipy.cluster.hierarchy import linkage

    if len(claims) < 2:
        return np.empty((0, 4))
    return np.asarray(linkage(distances(claims), method="complete"), dtype=np.float64)


def _roots(merges: NDArray[np.float64], claims: int, threshold: float, *, inclusive: bool) -> list[int]:
    """Return for each claim the last cluster that the merges up to the threshold put it in."""
    done = int(np.searchsorted(merges[:, 2], threshold, side="right" if inclusive else "left"))
    roots = list(range(claims + done))
    for merge in reversed(range(done)):
        for part in merges[merge, :2].astype(int).tolist():
            roots[part] = roots[claims + merge]
    return roots[:claims]


def _numbered(roots: Sequence[int]) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(root, len(numbers)) for root in roots)
