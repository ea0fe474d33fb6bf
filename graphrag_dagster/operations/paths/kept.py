"""Which outcomes of an earlier run, or of one that was killed, still hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.tables import Table

#: By what an outcome is told.
KEY = ("question_id", "instance")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An outcome that is wanted.

    Attributes:
        question_id: of the question.
        instance: by its name.
        options: hash of everything that decides it beside the snapshot.
    """

    question_id: str
    instance: str
    options: str


def options_of(
    decided: str, windows: str, seeds: Sequence[str], answers: Sequence[str], hops: int | None = None
) -> str:
    """Return the hash of what decides an outcome.

    Args:
        decided: hash of the instance, its engines, and the code.
        windows: sizes of the subgraph by class.
        seeds: of the question.
        answers: gold ones, by which it is scored.
        hops: told steps of the question, where they decide it.
    """
    told = () if hops is None else (hops,)
    return stable_id("path options", decided, windows, len(seeds), *seeds, *answers, *told)


def good_among(wanted: Iterable[Wanted], known: pl.DataFrame | None, snapshot: str) -> set[tuple[str, str]]:
    """Return question and instance of those that still hold.

    Args:
        wanted: what is wanted.
        known: rows of ``paths.subgraphs`` from before; None: there are none.
        snapshot: the index that is read.
    """
    if known is None:
        return set()
    rows = known.filter(pl.col("snapshot") == snapshot).select(*KEY, "options").iter_rows()
    options = {(question, instance): told for question, instance, told in rows}
    return {
        (one.question_id, one.instance)
        for one in wanted
        if options.get((one.question_id, one.instance)) == one.options
    }


def kept_rows(
    known: Mapping[Table, pl.DataFrame | None], good: set[tuple[str, str]]
) -> dict[Table, pl.DataFrame]:
    """Return those rows of each table that are of outcomes which hold."""
    keys = pl.DataFrame(sorted(good), schema=dict.fromkeys(KEY, pl.String), orient="row")
    return {
        table: table.empty() if frame is None else frame.join(keys, on=KEY, how="semi")
        for table, frame in known.items()
    }
