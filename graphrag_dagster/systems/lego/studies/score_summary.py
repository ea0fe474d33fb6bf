"""Macro means of scores over the questions, by instance and number of hops."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.bootstrap_intervals import RESAMPLES, mean_interval
from graphrag_dagster.systems.lego.search.instance_definitions import INSTANCES, LEX
from graphrag_dagster.systems.lego.search.reasoning_paths import MODULES

#: All questions together, whatever is known of their hops.
ALL_HOPS = "all"
KEY = ("question_id", "instance")
_ORDER = {one.name: place for place, one in enumerate(INSTANCES)}


def summarise(
    scores: pl.DataFrame,
    questions: pl.DataFrame,
    *,
    costs: pl.DataFrame | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pl.DataFrame:
    """Return the mean of each measure with its 95 % bootstrap interval.

    Args:
        scores: question_id, instance and a column of numbers for each measure, as ``paths.scores``.
        questions: question_id and hops, which may be null.
        costs: question_id, instance and module, and a column of numbers for each kind of cost, as
            ``paths.costs``; a measure of each is named as ``seconds_retrieval``.
        resamples: samples that are drawn for an interval.
        seed: of the draws.

    Returns:
        instance, hops (``all``, or a number as text), measure, mean, low and high, which are null without a
        value or where all are equal, questions that the mean is of, and those of which it is undefined. A
        measure without any value for an instance has no row.
    """
    wide = scores if costs is None else scores.join(_by_module(costs), on=KEY, how="left")
    measures = [name for name, kind in wide.schema.items() if kind.is_numeric() and name not in KEY]
    by_hops = wide.join(questions.select("question_id", "hops"), on="question_id", how="left")
    rows = [
        row
        for instance in sorted(set(wide["instance"]), key=paper_order)
        for row in _rows_of_instance(by_hops.filter(instance=instance), instance, measures, resamples, seed)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def paper_order(name: str) -> tuple[int, str]:
    """Return by what instances are sorted: their number; those of other names come behind."""
    return _ORDER.get(name.removesuffix(LEX), len(_ORDER)), name


def _by_module(costs: pl.DataFrame) -> pl.DataFrame:
    kinds = [name for name, kind in costs.schema.items() if kind.is_numeric()]
    parts = [
        costs.filter(module=module).select(*KEY, *(pl.col(name).alias(f"{name}_{module}") for name in kinds))
        for module in MODULES
    ]
    found = costs.select(KEY).unique()
    for part in parts:
        found = found.join(part, on=KEY, how="left")
    return found


def _rows_of_instance(
    rows: pl.DataFrame, instance: str, measures: Sequence[str], resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    there = [name for name in measures if rows[name].null_count() < len(rows)]
    hops = sorted(rows["hops"].drop_nulls().unique().to_list())
    for told, part in [(ALL_HOPS, rows), *((str(one), rows.filter(hops=one)) for one in hops)]:
        for name in there:
            values = part[name].drop_nulls()
            found = mean_interval(values.to_numpy(), resamples=resamples, seed=seed)
            yield {
                "instance": instance,
                "hops": told,
                "measure": name,
                "mean": found and found.mean,
                "low": found and found.low,
                "high": found and found.high,
                "questions": len(values),
                "undefined": len(part) - len(values),
            }


_SCHEMA = {
    "instance": pl.String,
    "hops": pl.String,
    "measure": pl.String,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "questions": pl.Int32,
    "undefined": pl.Int32,
}
