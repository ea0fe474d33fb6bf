"""How often a judge's labels agree with counts of claims."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan
from typing import Literal

#: Which of a pair of conditions (a, b) won, wherever its answer stood in the prompt.
Vote = Literal["a", "b", "tie"]
_VOTES = ("a", "b", "tie")


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
