"""Measured values as rows."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.bootstrap import LEVEL, RESAMPLES, mean_interval

#: The columns of what is measured.
COLUMNS = {
    "level": pl.Int32,
    "measure": pl.String,
    "reading": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "nodes": pl.Int32,
    "communities": pl.Int32,
    "taken": pl.Int32,
}
#: Values that are drawn for an interval; with many nodes fewer times, which changes little.
_DRAWN = 2**24
_LEAST = 200

_Values = NDArray[np.float64]


@dataclass
class LevelRows:
    """The rows of a level.

    Attributes:
        level: its k.
        communities: how many there are.
        taken: how many context nodes.
        rows: those so far.
    """

    level: int
    communities: int
    taken: int
    rows: list[dict[str, object]] = field(default_factory=list)

    def mean(self, measure: str, reading: str, values: _Values) -> None:
        """Add a mean over nodes with its bootstrap interval; those that are not a number are left out."""
        known = values[~np.isnan(values)]
        resamples = min(max(_DRAWN // max(len(known), 1), _LEAST), RESAMPLES)
        found = mean_interval(known, resamples=resamples)
        if found is None:
            self.add(measure, reading, None, None, None, 0)
        else:
            self.add(measure, reading, found.mean, found.low, found.high, found.n)

    def drawn(self, measure: str, reading: str, means: Iterable[float], nodes: int) -> None:
        """Add the mean over random draws with the interval that 95 % of them lie in."""
        known = np.array([value for value in means if not np.isnan(value)])
        if not len(known):
            self.add(measure, reading, None, None, None, nodes)
            return
        low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        self.add(measure, reading, float(known.mean()), float(low), float(high), nodes)

    def add(
        self,
        measure: str,
        reading: str,
        value: float | None,
        low: float | None,
        high: float | None,
        nodes: int,
    ) -> None:
        """Add a row."""
        self.rows.append(
            {
                "level": self.level,
                "measure": measure,
                "reading": reading,
                "value": value,
                "low": low,
                "high": high,
                "nodes": nodes,
                "communities": self.communities,
                "taken": self.taken,
            }
        )

    def frame(self) -> pl.DataFrame:
        """Return the rows in the order in which they were added."""
        return pl.DataFrame(self.rows, schema=COLUMNS, orient="row")
