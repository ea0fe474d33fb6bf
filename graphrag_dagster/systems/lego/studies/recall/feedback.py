"""A threshold learned from what became of earlier questions (second paper B.5, spec_lego §6)."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from graphrag_dagster.kernel.common.stable_scores import comparable
from graphrag_dagster.systems.lego.studies.recall.windows import Threshold

#: Fewer answered questions of a class tell nothing.
FEWEST = 200
#: What the share of correct answers may be below its best.
WITHIN = 0.01


def learned_thresholds(
    log: pl.DataFrame, *, fewest: int = FEWEST, within: float = WITHIN
) -> Mapping[str, Threshold]:
    """Return the threshold of each class of questions of which enough were answered.

    Args:
        log: class, threshold that was in force and whether the answer was correct, a row for each question.
        fewest: see :func:`learned_threshold`.
        within: likewise.
    """
    found = {}
    for name in sorted(set(log["class"])):
        own = log.filter(pl.col("class") == name)
        learned = learned_threshold(own["threshold"], own["correct"], fewest=fewest, within=within)
        if learned is not None:
            found[name] = learned
    return found


def learned_threshold(
    thresholds: ArrayLike, correct: ArrayLike, *, fewest: int = FEWEST, within: float = WITHIN
) -> Threshold | None:
    """Return the smallest threshold with which nearly as many answers are correct as with any.

    The share of correct answers is an isotonic regression on the threshold: it never falls as that rises.

    Args:
        thresholds: that were in force for questions of a class [n].
        correct: whether each was answered correctly [n].
        fewest: questions from which on there is a threshold.
        within: what the share may be below the best.

    Returns:
        None where there are too few questions, or all were asked with the same threshold.
    """
    used = np.asarray(thresholds, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    tried = np.unique(used)
    if len(used) < max(fewest, 1) or len(tried) < 2:
        return None
    from sklearn.isotonic import IsotonicRegression

    expected = comparable(IsotonicRegression(increasing=True).fit(used, right).predict(tried))
    enough = tried[expected >= comparable(expected.max() - np.full(1, within))[0]]
    share = float(expected[tried == enough[0]][0])
    return Threshold(
        float(enough[0]),
        f"learned from {len(used):,} answered questions: {share:.3f} of them correct, at most "
        f"{float(expected.max()):.3f}",
    )
