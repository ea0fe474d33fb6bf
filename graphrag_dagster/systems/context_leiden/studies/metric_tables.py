"""Measured values as rows, in the form of the fourth paper, with a verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.bootstrap_intervals import LEVEL, RESAMPLES, mean_interval

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

    def add_random_draws(self, measure: str, reading: str, means: Iterable[float], nodes: int) -> None:
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


_CROSS, _PRECISION = "cross_similarity", "precision_at_5"
#: Columns of the summary after those that name the row: measure, reading.
SHOWN = {
    "cross context": (_CROSS, "context"),
    "cross leiden": (_CROSS, "leiden"),
    "cross misaligned": (_CROSS, "random_misaligned"),
    "P@5 plain": (_PRECISION, "plain"),
    "P@5 context": (_PRECISION, "context"),
    "P@5 random": (_PRECISION, "random"),
    "P@5 misaligned": (_PRECISION, "random_misaligned"),
    "own set": (f"{_PRECISION}_own_set", "context"),
    "can fall": (f"mean_{_PRECISION}", "context_own_mean"),
    "size-normalised": (_PRECISION, "size_normalised"),
}
#: Differences that tell whether the choice is better than chance.
TESTED = {
    "over random": (_PRECISION, "context_minus_random"),
    "over misaligned": (_PRECISION, "context_minus_random_misaligned"),
}
#: Columns of the summary for where there is room for few.
IN_SHORT = (
    *("variant", "level", "taken"),
    *("P@5 plain", "P@5 context", "P@5 random", "over random", "over misaligned"),
)
#: Columns of cross-cluster similarity.
CROSS_IN_SHORT = ("variant", "level", "cross context", "cross leiden", "cross misaligned")
_NAMED = ("variant", "level", "communities", "taken")


def format_as_paper(measured: pl.DataFrame) -> pl.DataFrame:
    """Return a row per variant and level; a level where all is as at the one above is left out.

    Args:
        measured: rows of ``studies.context_metrics``.

    Returns:
        ``variant``, ``level``, ``communities``, ``taken``; the values of :data:`SHOWN`; and for each of
        :data:`TESTED` the value, and the ends of its interval behind `` low`` and `` high``.
    """
    values = [
        _metric_expression(measure, reading, "value").alias(name)
        for name, (measure, reading) in SHOWN.items()
    ]
    tested = [
        _metric_expression(measure, reading, end).alias(name if end == "value" else f"{name} {end}")
        for name, (measure, reading) in TESTED.items()
        for end in ("value", "low", "high")
    ]
    made = measured.group_by(_NAMED).agg(*values, *tested).sort("variant", "level")
    return made.unique(set(made.columns) - {"level"}, keep="first", maintain_order=True)


def verdict(measured: pl.DataFrame, variant: str) -> str:
    """Return in words whether the context nodes of a variant are better than chance.

    Args:
        measured: rows of ``studies.context_metrics``.
        variant: of these.
    """
    rows = format_as_paper(measured.filter(variant=variant)).filter(pl.col("taken") > 0)
    if rows.is_empty():
        return "There are no context nodes to be compared."
    said = []
    for name, who in (("over random", "random nodes"), ("over misaligned", "random misaligned ones")):
        better = rows.filter(pl.col(f"{name} low") > 0).height
        worse = rows.filter(pl.col(f"{name} high") < 0).height
        said.append(f"{who} at {better} of {rows.height} levels" + (f" (worse at {worse})" if worse else ""))
    return f"By P@5, context nodes are better than {said[0]}, and than {said[1]}."


#: Bytes of a number of a vector.
_SINGLE = 4
#: The ways whose costs are compared: the reports of the coarsest level, and the agent.
_REPORTS, _AGENT = "C0", "graph"
_COSTS = (
    (
        "retrieval specificity",
        "tokens of a row that is read",
        pl.col("context_tokens") / pl.col("context_rows"),
    ),
    ("token efficiency", "tokens read for an answer", pl.col("context_tokens")),
    ("token efficiency", "model calls for an answer", pl.col("calls")),
)


def improvements(
    measured: pl.DataFrame, vectors: Mapping[str, int], width: int, costs: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return what Table I of the fourth paper says in words, as far as it can be counted.

    Args:
        measured: rows of ``studies.context_metrics`` of one variant.
        vectors: how many there are of ``text units``, ``entities``, ``reports`` and ``context nodes``.
        width: numbers of a vector.
        costs: rows of ``evaluation.condition_costs``; where ``C0`` or ``graph`` is not among them, what they
            tell is left out.

    Returns:
        ``aspect``, ``counted``, ``graphrag`` and ``context_aware``. Similarity and precision are of the
        coarsest level.
    """
    first = format_as_paper(measured).sort("level").head(1)
    made = [
        ("semantic coverage", called, row[plain], row[context])
        for row in first.iter_rows(named=True)
        for called, plain, context in (
            ("cross-cluster similarity", "cross leiden", "cross context"),
            ("precision at 5", "P@5 plain", "P@5 context"),
        )
    ]
    few = vectors["reports"] + vectors["context nodes"]
    every, kept = (float(one * width * _SINGLE) for one in (sum(vectors.values()), few))
    made.append(("storage efficiency", "bytes of vectors", every, kept))
    if costs is not None and {_REPORTS, _AGENT} <= set(costs["condition"]):
        for aspect, called, counted in _COSTS:
            by = dict(costs.select("condition", counted.alias("counted")).iter_rows())
            made.append((aspect, called, by[_REPORTS], by[_AGENT]))
    types = {"aspect": pl.String, "counted": pl.String, "graphrag": pl.Float64, "context_aware": pl.Float64}
    return pl.DataFrame(made, schema=types, orient="row")


def _metric_expression(measure: str, reading: str, column: str) -> pl.Expr:
    place = (pl.col("measure") == measure) & (pl.col("reading") == reading)
    return pl.col(column).filter(place).first()
