"""Which questions of a corpus are learnt from, and on which it is tried what was learnt."""

from dataclasses import dataclass

import polars as pl

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.graph.arrays import PathStore
from graphrag_dagster.systems.lego.instances.found import PathQuery
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.training.pairs import held_out

#: Questions that are drawn, unless more or fewer are wanted.
MOST_QUESTIONS = 1000


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question that is learnt from or tried.

    Attributes:
        query: the question.
        answers: labels of its gold answers.
        tried: it begins from an entity that is held out.
        measured: the job ``paths`` asks it, too.
    """

    query: PathQuery
    answers: tuple[str, ...]
    tried: bool
    measured: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """Questions that were drawn.

    Attributes:
        files: how many there are in the files.
        questions: those drawn, in the order of the files.
    """

    files: int
    questions: tuple[TrainingQuestion, ...]

    @property
    def learnt(self) -> list[TrainingQuestion]:
        """Those that are learnt from."""
        return [one for one in self.questions if not one.tried]

    @property
    def measured(self) -> int:
        """How many of those that are learnt from are measured."""
        return sum(one.measured for one in self.learnt)


def drawn_questions(
    linked: pl.DataFrame, store: PathStore, settings: PathSettings, corpus: str, most: int
) -> Drawn:
    """Return questions with answers and seeds, drawn by ``paths.seed``; each text once.

    Where ``paths.sample`` draws some for the job ``paths``, these are left out.

    Args:
        linked: rows of ``paths.questions``.
        store: the graph that they are linked with.
        settings: sample and seed.
        corpus: its name, for errors.
        most: questions at most, for learning and trying together.

    Raises:
        SettingsError: no question has an answer, none has a seed too, or all are measured.
    """
    rows, seed = _able(linked, settings, corpus).iter_rows(named=True), settings.seed
    drawn = sorted(rows, key=lambda row: stable_id("path training", seed, row["question_id"]))[:most]
    places = {entity: place for place, entity in enumerate(store.entity_ids)}
    questions = (
        TrainingQuestion(
            PathQuery(row["question"], tuple(places[one] for one in row["seeds"])),
            tuple(row["answers"]),
            any(held_out(one, seed=seed) for one in row["seeds"]),
            row["sampled"],
        )
        for row in sorted(drawn, key=lambda row: int(row["position"]))
    )
    return Drawn(len(linked), tuple(questions))


def _able(linked: pl.DataFrame, settings: PathSettings, corpus: str) -> pl.DataFrame:
    whose = f"the {len(linked):,} questions of corpus {corpus!r}"
    answered = linked.filter(pl.col("answers").list.len() > 0)
    if answered.is_empty():
        raise SettingsError(f"none of {whose} has an answer; write answers to the files of paths.questions")
    able = answered.filter(pl.col("seeds").list.len() > 0)
    if able.is_empty():
        raise SettingsError(
            f"none of {whose} has an answer and an entity of the graph; write their entities to the files of "
            "paths.questions"
        )
    if settings.sample is not None:
        able = able.join(linked.filter("sampled"), on="question", how="anti", maintain_order="left")
        if able.is_empty():
            raise SettingsError(
                f"paths.sample draws all of {whose} that could be learnt from to be measured; make it less "
                f"than {settings.sample:,}, or name more files under paths.questions"
            )
    return able.sort("position").unique("question", keep="first", maintain_order=True)
