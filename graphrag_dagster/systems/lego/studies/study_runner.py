"""Runs every question through every instance, in threads or processes; valid results are reused."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.progress import stage, without_progress
from graphrag_dagster.kernel.common.worker_processes import map_in_processes, suitable_process_count
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.lego.search.hop_prediction import distinguishable_hops
from graphrag_dagster.systems.lego.search.instance_definitions import Recipe, needs_beforehand
from graphrag_dagster.systems.lego.search.instance_runner import instance_label
from graphrag_dagster.systems.lego.search.path_index import prepared_parts_of, reports_of, resources_of
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.benchmark_runs import (
    TABLES,
    Bench,
    BenchQuestion,
    Frames,
    Here,
    StudyProgress,
    finished_pairs,
    options_of,
    reusable_rows,
)
from graphrag_dagster.systems.lego.subgraphs.recall_constraint import WindowRow

#: Questions that are answered together, and how many outcomes are worth a second process.
_AT_ONCE = 64
_WORTH_PROCESSES = 2000


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What came of all questions: rows of each table, and how many outcomes are from before."""

    frames: Frames
    kept: int


def answer_questions(
    questions: pl.DataFrame,
    here: Here,
    session: TaskProvider,
    decided: Callable[[Recipe], str],
) -> StudyResult:
    """Answer all questions that are asked by all instances of the settings, but for what still holds.

    What is made is written to the tables from time to time, so that a run that is killed loses little.

    Args:
        questions: rows of ``paths.questions``.
        here: where to read and write.
        session: the engines.
        decided: hash of what decides what an instance gives, but for question and snapshot.

    Raises:
        GraphragError: of the first question that cannot be answered; what was answered before is written.
    """
    settings = session.settings
    recipes = settings.section(PathSettings).recipes()
    here = replace(here, hops=given_hops(questions, recipes))
    pairs = _Pairs.of(questions, recipes, here, settings.engine_of("paths"), decided)
    known = {table: here.warehouse.read_if_present(table, here.corpus) for table in TABLES}
    good = finished_pairs(pairs.wanted(), known[TABLES[0]], here.snapshot)
    made = StudyProgress(here, reusable_rows(known, good))
    asks = settings.asks_model("paths")
    alone = {place for place, recipe in enumerate(recipes) if not asks and is_light(recipe)}
    parts = (pairs.left(alone, good), pairs.left(set(range(len(recipes))) - alone, good))
    with stage("Answering questions along paths", sum(map(len, parts))) as running:
        try:
            for count, frames in _by_processes(parts[0], here, settings):
                made.add(frames)
                running.advance(count)
            for count, frames in _by_threads(parts[1], here, session, recipes):
                made.add(frames)
                running.advance(count)
        except BaseException:
            made.save()
            raise
    return StudyResult(made.frames(), len(good))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Questions and instances, each with each.

    Attributes:
        rows: of the questions that are asked.
        names: of the instances.
        options: hash of what decides what an instance gives, by question and instance.
    """

    rows: Sequence[Mapping[str, Any]]
    names: Sequence[str]
    options: Sequence[Sequence[str]]

    @classmethod
    def of(
        cls,
        questions: pl.DataFrame,
        recipes: Sequence[Recipe],
        here: Here,
        engine: str,
        decided: Callable[[Recipe], str],
    ) -> "_Pairs":
        columns = ("question_id", "question", "seeds", "answers")
        rows = questions.filter("sampled").sort("position").select(columns).to_dicts()
        hashes = [decided(recipe) for recipe in recipes]
        windowed = repr([(row["class"], row["chosen"]) for row in here.windows])
        options = [
            [
                options_of(
                    hashed,
                    windowed,
                    row["seeds"],
                    row["answers"],
                    _relevant_hops(recipe, here, row["question"]),
                )
                for recipe, hashed in zip(recipes, hashes, strict=True)
            ]
            for row in rows
        ]
        return cls(rows, [instance_label(recipe, engine) for recipe in recipes], options)

    def wanted(self) -> dict[tuple[str, str], str]:
        return {
            (row["question_id"], name): told
            for row, own in zip(self.rows, self.options, strict=True)
            for name, told in zip(self.names, own, strict=True)
        }

    def left(self, places: Collection[int], good: Collection[tuple[str, str]]) -> list[BenchQuestion]:
        """The questions for some of the instances, without what is there."""
        chosen = sorted(places)
        found = []
        for row, own in zip(self.rows, self.options, strict=True):
            left = tuple(place for place in chosen if (row["question_id"], self.names[place]) not in good)
            if left:
                told = tuple(own[place] for place in left)
                seeds, answers = tuple(row["seeds"]), tuple(row["answers"])
                found.append(BenchQuestion(row["question_id"], row["question"], seeds, answers, left, told))
        return found


def _relevant_hops(recipe: Recipe, here: Here, question: str) -> int | None:
    """The told steps of a question, where they decide what an instance gives."""
    return here.hops.get(question) if recipe.options.switches.combine else None


def _by_processes(
    asked: Sequence[BenchQuestion], here: Here, settings: CorpusSettings
) -> Iterator[tuple[int, Frames]]:
    chunks = list(_chunks(asked, _AT_ONCE))
    outcomes = sum(len(one.recipes) for one in asked)
    number = min(
        settings.section(PathSettings).processes or suitable_process_count(outcomes, _WORTH_PROCESSES),
        len(chunks),
    )
    # The tables are no part of it: they cannot go to another process.
    given = here.corpus, here.folder, here.snapshot, settings, here.windows, here.hops
    if number < 2:
        results: Iterable[Frames] = map(bench_of(*given).frames, chunks) if chunks else ()
    else:
        made = map_in_processes(
            number,
            answer_chunk,
            [(chunk,) for chunk in chunks],
            whose="paths",
            setting="paths.processes",
            begin=begin_working,
            given=given,
        )
        results = (dict(zip(TABLES, frames, strict=True)) for frames in made)
    for chunk, frames in zip(chunks, results, strict=True):
        yield len(chunk), frames


def _by_threads(
    asked: Sequence[BenchQuestion], here: Here, session: TaskProvider, recipes: Sequence[Recipe]
) -> Iterator[tuple[int, Frames]]:
    """Yield what comes of questions, several under way at once where a model is asked, in their order."""
    if not asked:
        return
    settings, places = session.settings, {place for one in asked for place in one.recipes}
    chosen = [recipe for place, recipe in enumerate(recipes) if place in places]
    store = PathStore.open(here.folder)
    reports = reports_of(here.warehouse, here.corpus, store, chosen, settings.text_units.encoding)
    asks = settings.asks_model("paths")
    at_once = settings.model.for_role("answer").concurrency if asks else 1
    workshop = resources_of(
        session,
        store,
        chosen,
        reports,
        windows=here.windows,
        beforehand=prepared_parts_of(session, here.warehouse, here.corpus, chosen),
        hops=here.hops,
    )
    bench = Bench(workshop, recipes, here.snapshot)
    chunks = list(_chunks(asked, 1 if asks else _AT_ONCE))

    def answer(chunk: Sequence[BenchQuestion]) -> Frames:
        with without_progress():
            return bench.frames(chunk)

    with ThreadPoolExecutor(at_once) as pool:
        pending = [pool.submit(answer, chunk) for chunk in chunks]
        try:
            for chunk, future in zip(chunks, pending, strict=True):
                yield len(chunk), future.result()
        finally:
            for future in pending:
                future.cancel()


def _chunks(asked: Sequence[BenchQuestion], size: int) -> Iterator[Sequence[BenchQuestion]]:
    for start in range(0, len(asked), size):
        yield asked[start : start + size]


def given_hops(questions: pl.DataFrame, recipes: Iterable[Recipe]) -> Mapping[str, int]:
    """Return the steps of each question with known ones, as told without it and without its topic.

    What is known of a question itself is never used for it. Nothing is told where no instance combines
    switches by it, or where too little is known.

    Args:
        questions: rows of ``paths.questions``.
        recipes: of the instances.
    """
    if not any(recipe.options.switches.combine for recipe in recipes):
        return {}
    known = questions.filter(pl.col("hops").is_not_null() & (pl.col("seeds").list.len() > 0)).sort("position")
    asked = known["question"].to_list()
    topics = known["seeds"].list.first().to_list()
    told = distinguishable_hops(shared_static(), asked, known["hops"].to_list(), topics)
    return dict(zip(asked, told, strict=True)) if told else {}


_benches: list[Bench] = []


def is_light(recipe: Recipe) -> bool:
    """Whether an instance needs nothing but the arrays of the graph and what is packaged."""
    options = recipe.options
    scorer = options.scorer if recipe.scores else "random"
    more = recipe.reports or needs_beforehand(options)
    return not more and scorer in ("static", "bm25", "random")


def bench_of(
    corpus: str,
    folder: Path,
    snapshot: str,
    settings: CorpusSettings,
    windows: Sequence[WindowRow],
    hops: Mapping[str, int],
) -> Bench:
    """Open the graph, and make the instances that need no model; as of :class:`Here`."""
    language = Language(memory=LLMCache(), corpora=CorpusStore())
    session = language.session_of(settings, User(corpus, "path_asked", ""))
    recipes = settings.section(PathSettings).recipes()
    light = [recipe for recipe in recipes if is_light(recipe)]
    workshop = resources_of(session, PathStore.open(folder), light, windows=windows, hops=hops)
    return Bench(workshop, recipes, snapshot)


def begin_working(*given: Any) -> None:
    """Make what this process asks from now on; see :func:`bench_of`."""
    _benches[:] = [bench_of(*given)]


def answer_chunk(asked: Sequence[BenchQuestion]) -> list[pl.DataFrame]:
    """Return the results of some questions, in a worker process, as frames in the order of
    :data:`~graphrag_dagster.systems.lego.studies.benchmark_runs.TABLES`; a table that went through a pipe is
    no longer the one that was declared.
    """
    (bench,) = _benches
    with without_progress():
        return list(bench.frames(asked).values())
