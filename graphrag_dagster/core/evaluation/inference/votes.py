"""From the votes of a judge's replicates to scores, labels, and agreement with counts of claims."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

#: Which of a pair of conditions (a, b) won, wherever its answer stood in the prompt.
Vote = Literal["a", "b", "tie"]
_VOTES = ("a", "b", "tie")


def score(votes: Sequence[Vote]) -> float:
    """Return condition a's mean score over the replicates of one question and criterion, 0–100.

    A win is 100, a loss 0, a tie 50 (paper §4.1, Appendix G); condition b's score is 100 minus it.

    Raises:
        ValueError: there are no votes, or one is unknown.
    """
    counts = _counted(votes)
    return (100 * counts["a"] + 50 * counts["tie"]) / len(votes)


def majority(votes: Sequence[Vote]) -> Vote:
    """Return who has more than half of all replicates, ties among them included, else ``tie``.

    Of five replicates three are needed: two wins, a loss and two ties are a tie (paper §4.2).

    Raises:
        ValueError: there are no votes, or one is unknown.
    """
    counts = _counted(votes)
    needed = len(votes) // 2 + 1
    if counts["a"] >= needed:
        return "a"
    return "b" if counts["b"] >= needed else "tie"


def _counted(votes: Sequence[Vote]) -> Counter[Vote]:
    counts = Counter(votes)
    unknown = sorted(map(str, set(counts) - set(_VOTES)))
    if unknown or not votes:
        raise ValueError(f"votes are {', '.join(_VOTES)}, at least one; got {unknown or 'none'}")
    return counts


@dataclass(frozen=True, slots=True)
class Alignment:
    """How often a judge's label and a difference of claims name the same condition.

    ``comparisons`` = ``judge_ties`` + ``agree`` + ``disagree``. ``claim_ties`` are those of ``disagree``
    in which the measure of claims is equal for both. ``share`` is the agreement among comparisons that the
    judge did not leave tied, 0–1, or None where there is none.
    """

    comparisons: int
    judge_ties: int
    agree: int
    disagree: int
    claim_ties: int
    share: float | None

    @property
    def decided(self) -> int:
        """Comparisons that the judge did not leave tied."""
        return self.agree + self.disagree


def alignment(labels: Iterable[Vote], differences: Iterable[float]) -> Alignment:
    """Compare a judge's labels with the claim-based measure of the same comparisons (paper §5.2).

    A judge's tie is left out, and a tie of the measure counts as disagreement (spec_graphrag §10).

    Args:
        labels: majority label of each comparison of conditions a and b.
        differences: the measure of a's answer minus that of b's, in the same order.

    Raises:
        ValueError: the two differ in length, a label is unknown, or a difference is not a number.
    """
    found: Counter[tuple[Vote, Vote]] = Counter(
        (label, _direction(difference)) for label, difference in zip(labels, differences, strict=True)
    )
    unknown = sorted(map(str, {label for label, _ in found} - set(_VOTES)))
    if unknown:
        raise ValueError(f"labels are {', '.join(_VOTES)}; got {unknown}")
    judge_ties = sum(count for (label, _), count in found.items() if label == "tie")
    claim_ties = found["a", "tie"] + found["b", "tie"]
    agree = found["a", "a"] + found["b", "b"]
    decided = found.total() - judge_ties
    return Alignment(
        comparisons=found.total(),
        judge_ties=judge_ties,
        agree=agree,
        disagree=decided - agree,
        claim_ties=claim_ties,
        share=agree / decided if decided else None,
    )


def _direction(difference: float) -> Vote:
    if isnan(difference):
        raise ValueError("a difference of claims is not a number")
    if difference == 0:
        return "tie"
    return "a" if difference > 0 else "b"
