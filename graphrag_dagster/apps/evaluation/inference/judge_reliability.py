"""Whether the verdicts of a judge can bear any conclusion on a pair of search methods."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.apps.evaluation.inference.measure_names import ALPHA, percent
from graphrag_dagster.kernel.common.printable import plural

#: Nothing is concluded where a larger share of the verdicts has no usable reply, ...
_UNUSABLE = 1 / 3
#: ... where a larger share of those on different answers are ties, ...
_TIES = 0.95
#: ... or where the same place, first or second, wins this share of the decided ones: since the order
#: alternates, a judge without a favourite place comes near to one half.
_ONE_PLACE = 0.8

#: A criterion and the two search methods.
Compared = tuple[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """Verdicts of a judge.

    Attributes:
        verdicts: all of them.
        unusable: without a usable reply.
        identical: on answers that are the same text, about which no judge was asked.
        first: won by the answer shown first.
        second: won by the other.
    """

    verdicts: int
    unusable: int
    identical: int
    first: int
    second: int

    @property
    def doubt(self) -> str | None:
        """Why nothing can be concluded from these verdicts, as a clause; None where something can."""
        asked = self.verdicts - self.identical
        usable, decided = asked - self.unusable, self.first + self.second
        if not asked:
            return None
        if self.unusable > _UNUSABLE * asked:
            return f"{self.unusable:,} of {plural(asked, 'verdict')} had no usable reply of the judge"
        if usable - decided > _TIES * usable:
            return f"the judge called {usable - decided:,} of {plural(usable, 'comparison')} a tie"
        most = max(self.first, self.second)
        if most >= _ONE_PLACE * decided and _is_unlikely(decided - most, decided):
            place = "first" if self.first == most else "second"
            return (
                f"the answer shown {place} won {percent(100 * most / decided, 0)} of "
                f"{plural(decided, 'decided verdict')}, so the judge goes by the place, not by the answer"
            )
        return None


def _is_unlikely(fewer: int, decided: int) -> bool:
    """Whether a fair coin so rarely gives so few that a two-sided test would call it unfair."""
    from scipy.special import bdtr

    return 2 * float(bdtr(fewer, decided, 0.5)) < ALPHA


def verdict_counts(judgements: pl.DataFrame) -> VerdictCounts:
    """Return the counts of rows of ``evaluation.judgements``."""
    lost, undecided = pl.col("problem").is_not_null(), pl.col("winner").is_null()
    first = pl.col("winner") == pl.col("first")
    counts = judgements.select(
        pl.len(),
        lost.sum().alias("unusable"),
        (undecided & ~lost & pl.col("model").is_null()).sum().alias("identical"),
        first.fill_null(value=False).sum().alias("first"),
        (~first).fill_null(value=False).sum().alias("second"),
    )
    return VerdictCounts(*map(int, counts.row(0)))


def doubts(judgements: pl.DataFrame | None) -> Mapping[Compared, str]:
    """Return why nothing can be concluded, of each criterion and pair of methods where that is so."""
    if judgements is None or judgements.is_empty():
        return {}
    compared = judgements.group_by("criterion", "condition_a", "condition_b", maintain_order=True)
    found = {
        (str(criterion), frozenset((str(a), str(b)))): verdict_counts(rows).doubt
        for (criterion, a, b), rows in compared
    }
    return {key: doubt for key, doubt in found.items() if doubt}
