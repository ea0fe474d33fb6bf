"""Outcomes of instances on many questions as rows, saved so that a killed run resumes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.graph_labels import INVERSE
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.systems.lego.search.instance_definitions import Recipe
from graphrag_dagster.systems.lego.search.instance_runner import InstanceResources, Runner, run_batch
from graphrag_dagster.systems.lego.search.reasoning_paths import (
    MODULES,
    NONE,
    ModuleUse,
    Outcome,
    PathQuery,
    Paths,
)
from graphrag_dagster.systems.lego.studies.answer_metrics import Matching, NormalisedLabels
from graphrag_dagster.systems.lego.studies.question_scores import question_scores
from graphrag_dagster.systems.lego.subgraphs.recall_constraint import WindowRow
from graphrag_dagster.systems.lego.tables import (
    PATH_ANSWERS,
    PATH_COSTS,
    PATH_SCORES,
    PATH_SUBGRAPHS,
    PATHS_FOUND,
)

OutcomeRow = dict[str, Any]
#: The tables of outcomes.
TABLES = (PATH_SUBGRAPHS, PATHS_FOUND, PATH_ANSWERS, PATH_COSTS, PATH_SCORES)
Frames = Mapping[Table, pl.DataFrame]


def rows_of(
    question: "BenchQuestion",
    outcome: Outcome,
    labels: NormalisedLabels,
    *,
    snapshot: str,
    options: str,
    reports: int,
    matching: Matching = "default",
) -> Mapping[Table, Sequence[OutcomeRow]]:
    """Return an outcome as rows of each of :data:`TABLES`.

    Args:
        question: with its gold answers; may be none.
        outcome: what was made of it.
        labels: of the graph.
        snapshot: index that was read.
        options: hash of what decides the outcome.
        reports: that were read beside the paths.
        matching: how gold answers are found in texts.
    """
    key = {"question_id": question.question_id, "instance": outcome.instance}
    subgraph, answer = outcome.subgraph, outcome.answer
    scores = question_scores(outcome, question.answers, matching=matching, labels=labels)
    size = {
        "nodes": len(subgraph.nodes),
        "edges": len(subgraph.edges),
        "components": subgraph.components,
        "paths": len(outcome.paths),
        "reason": outcome.reason,
        "cut": outcome.cut,
        "snapshot": snapshot,
        "options": options,
    }
    said = {
        "text": answer.text,
        "named": None if answer.named is None else list(answer.named),
        "cited": [place + 1 for place in answer.cited],
        "engine": answer.engine,
        "shown": outcome.shown,
        "reports": reports,
        "problem": answer.problem,
    }
    return {
        PATH_SUBGRAPHS: [key | size],
        PATHS_FOUND: [key | row for row in path_rows(outcome.paths, outcome.shown)],
        PATH_ANSWERS: [key | said],
        PATH_COSTS: [{**key, "module": module, **_cost(outcome, module)} for module in MODULES],
        PATH_SCORES: [key | scores],
    }


def path_rows(paths: Paths, shown: int) -> list[OutcomeRow]:
    """Return the first paths as rows, with their rank, nodes and relations."""
    first = paths.at(np.arange(min(len(paths), shown)))
    store = paths.store
    return [
        {
            "rank": rank,
            "text": text,
            "entity_ids": [store.entity_ids[node] for node in nodes if node != NONE],
            "relations": [
                f"{INVERSE if against else ''}{store.relations[int(store.edge_relations[edge])]}"
                for edge, against in zip(edges, inverse, strict=True)
                if edge != NONE
            ],
            "score": score,
            "length": length,
        }
        for rank, (text, nodes, edges, inverse, score, length) in enumerate(
            zip(
                first.verbalised.texts,
                first.nodes.tolist(),
                first.edges.tolist(),
                first.inverse.tolist(),
                first.scores.tolist(),
                first.lengths.tolist(),
                strict=True,
            ),
            start=1,
        )
    ]


def _cost(outcome: Outcome, module: Any) -> Mapping[str, Any]:
    use = outcome.uses.get(module, ModuleUse())
    return {
        "seconds": round(outcome.seconds.get(module, 0.0), 6),
        "calls": use.usage.calls,
        "input_tokens": use.usage.input_tokens,
        "output_tokens": use.usage.output_tokens,
        "scored": use.scored,
        "scored_tokens": use.scored_tokens,
        "empty": use.empty,
        "problems": "; ".join(use.problems) or None,
    }


@dataclass(frozen=True, slots=True)
class BenchQuestion:
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

    def __init__(self, workshop: InstanceResources, recipes: Sequence[Recipe], snapshot: str) -> None:
        self._workshop, self._recipes, self._snapshot = workshop, recipes, snapshot
        self._labels = NormalisedLabels(workshop.store)
        self._runners: dict[int, Runner] = {}

    def frames(self, asked: Iterable[BenchQuestion]) -> Frames:
        """Return what comes of some questions as rows of each of :data:`TABLES`.

        Raises:
            GraphragError: of the first question that cannot be answered.
        """
        made = [rows for _, alike in groupby(asked, lambda one: one.recipes) for rows in self._rows([*alike])]
        return {table: table.rows(row for rows in made for row in rows[table]) for table in TABLES}

    def _rows(self, asked: Sequence[BenchQuestion]) -> Iterator[Mapping[Table, Sequence[OutcomeRow]]]:
        runners = [self._runner(place) for place in asked[0].recipes]
        queries = [PathQuery(one.question, tuple(self._places[seed] for seed in one.seeds)) for one in asked]
        for one, outcomes in zip(asked, run_batch(runners, queries), strict=True):
            for runner, outcome, options in zip(runners, outcomes, one.options, strict=True):
                yield rows_of(
                    one,
                    outcome,
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

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {entity: place for place, entity in enumerate(self._workshop.store.entity_ids)}


#: By what an outcome is told.
KEY = ("question_id", "instance")


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


def finished_pairs(
    wanted: Mapping[tuple[str, str], str], known: pl.DataFrame | None, snapshot: str
) -> set[tuple[str, str]]:
    """Return question and instance of those that still hold.

    Args:
        wanted: question and instance → hash of everything that decides the outcome beside the snapshot.
        known: rows of ``paths.subgraphs`` from before; None: there are none.
        snapshot: the index that is read.
    """
    if known is None:
        return set()
    rows = known.filter(pl.col("snapshot") == snapshot).select(*KEY, "options").iter_rows()
    return {
        (question, instance) for question, instance, told in rows if wanted.get((question, instance)) == told
    }


def reusable_rows(
    known: Mapping[Table, pl.DataFrame | None], good: set[tuple[str, str]]
) -> dict[Table, pl.DataFrame]:
    """Return those rows of each table that are of outcomes which hold."""
    keys = pl.DataFrame(sorted(good), schema=dict.fromkeys(KEY, pl.String), orient="row")
    return {
        table: table.empty() if frame is None else frame.join(keys, on=KEY, how="semi")
        for table, frame in known.items()
    }


#: Seconds after which what was made is put down, at least; it may take a tenth of the time.
_SAVED_AFTER = 60.0
_SHARE = 10


@dataclass(frozen=True, slots=True)
class Here:
    """Where a run reads and writes.

    Attributes:
        corpus: its name.
        warehouse: where its tables are.
        folder: of the arrays of its graph.
        snapshot: the index that these are of.
        windows: rows of ``paths.recall_windows``; none where subgraphs are of one size.
        hops: steps of questions, as far as they are told.
    """

    corpus: str
    warehouse: Warehouse
    folder: Path
    snapshot: str
    windows: Sequence[WindowRow] = ()
    hops: Mapping[str, int] = field(default_factory=dict)


@dataclass
class StudyProgress:
    """What was made so far, beside what is kept; put down from time to time.

    Attributes:
        here: where it is put.
        kept: rows of outcomes that still hold.
    """

    here: Here
    kept: Mapping[Table, pl.DataFrame]
    parts: dict[Table, list[pl.DataFrame]] = field(default_factory=lambda: {table: [] for table in TABLES})
    saved_at: float = field(default_factory=monotonic)
    saving_took: float = 0.0
    unsaved: bool = False

    def add(self, frames: Frames) -> None:
        """Take in what came of some questions."""
        for table, frame in frames.items():
            self.parts[table].append(frame)
        self.unsaved = True
        if monotonic() - self.saved_at >= max(_SAVED_AFTER, _SHARE * self.saving_took):
            self.save()

    def frames(self) -> Frames:
        """Return all rows of each table."""
        for table, parts in self.parts.items():
            self.parts[table] = [pl.concat(parts)] if parts else []
        return {table: pl.concat([self.kept[table], *self.parts[table]]).sort(table.key) for table in TABLES}

    def save(self) -> None:
        """Put down what is not put down yet."""
        if not self.unsaved:
            return
        begin = monotonic()
        self.here.warehouse.write_all(self.here.corpus, dict(self.frames()))
        self.saved_at = monotonic()
        self.saving_took, self.unsaved = self.saved_at - begin, False
