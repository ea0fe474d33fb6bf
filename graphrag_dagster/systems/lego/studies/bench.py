"""Several instances at work on many questions, whose outcomes become rows of tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby

import polars as pl

from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.systems.lego.instances.composing import Workshop
from graphrag_dagster.systems.lego.instances.declared import Recipe
from graphrag_dagster.systems.lego.instances.found import PathQuery
from graphrag_dagster.systems.lego.instances.running import Runner, run_batch
from graphrag_dagster.systems.lego.studies.metrics.answers import NormalisedLabels
from graphrag_dagster.systems.lego.studies.rows import OutcomeRows, rows_of
from graphrag_dagster.systems.lego.studies.tables import PATH_SCORES
from graphrag_dagster.systems.lego.tables import PATH_ANSWERS, PATH_COSTS, PATH_SUBGRAPHS, PATHS_FOUND

#: The tables of outcomes, in the order of :class:`OutcomeRows`.
TABLES = (PATH_SUBGRAPHS, PATHS_FOUND, PATH_ANSWERS, PATH_COSTS, PATH_SCORES)
Frames = Mapping[Table, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the instances that are to answer it.

    Attributes:
        question_id: of the question.
        question: its text.
        seeds: ids of the entities that it begins from.
        answers: gold ones.
        recipes: places of the instances.
        options: for each of these the hash of what decides its outcome.
    """

    question_id: str
    question: str
    seeds: tuple[str, ...]
    answers: tuple[str, ...]
    recipes: tuple[int, ...]
    options: tuple[str, ...]


class Bench:
    """Answers questions by instances that are made once.

    Args:
        workshop: what they are made of.
        recipes: of the instances.
        snapshot: the index that is read.
    """

    def __init__(self, workshop: Workshop, recipes: Sequence[Recipe], snapshot: str) -> None:
        self._workshop, self._recipes, self._snapshot = workshop, recipes, snapshot
        self._labels = NormalisedLabels(workshop.store)
        self._runners: dict[int, Runner] = {}

    def frames(self, asked: Iterable[Asked]) -> Frames:
        """Return what comes of some questions as rows of each of :data:`TABLES`.

        Raises:
            GraphragError: of the first question that cannot be answered.
        """
        made = [rows for _, alike in groupby(asked, lambda one: one.recipes) for rows in self._rows([*alike])]
        parts = [field.name for field in fields(OutcomeRows)]
        return {
            table: table.rows(row for rows in made for row in getattr(rows, part))
            for table, part in zip(TABLES, parts, strict=True)
        }

    def _rows(self, asked: Sequence[Asked]) -> Iterator[OutcomeRows]:
        runners = [self._runner(place) for place in asked[0].recipes]
        queries = [PathQuery(one.question, self._nodes(one.seeds)) for one in asked]
        for one, outcomes in zip(asked, run_batch(runners, queries), strict=True):
            for runner, outcome, options in zip(runners, outcomes, one.options, strict=True):
                yield rows_of(
                    one.question_id,
                    outcome,
                    one.answers,
                    self._labels,
                    snapshot=self._snapshot,
                    options=options,
                    reports=len(runner.reports.of(outcome.query.seeds)) if runner.reports else 0,
                    matching=runner.options.parsing,
                )

    def _runner(self, place: int) -> Runner:
        if place not in self._runners:
            self._runners[place] = self._workshop.runner(self._recipes[place])
        return self._runners[place]

    def _nodes(self, seeds: Iterable[str]) -> tuple[int, ...]:
        return tuple(self._places[seed] for seed in seeds)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {entity: place for place, entity in enumerate(self._workshop.store.entity_ids)}


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
