"""What a process of its own does with questions that need no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from graphrag_dagster.core.paths.beforehand import needs_beforehand
from graphrag_dagster.core.paths.recall.windows import Row
from graphrag_dagster.core.paths.recipes import Recipe
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.progress import quietly
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.operations.paths.bench import Asked, Bench
from graphrag_dagster.operations.paths.tools import workshop_of
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.settings import CorpusSettings

_benches: list[Bench] = []


@dataclass(frozen=True, slots=True)
class Work:
    """What a process works with.

    Attributes:
        corpus: its name.
        folder: of the arrays of its graph, which are mapped, not read.
        snapshot: the index that these are of.
        settings: of the corpus, whose engine of paths asks no model.
        windows: rows of ``paths.recall_windows``.
        hops: steps of questions, as far as they are told.
    """

    corpus: str
    folder: Path
    snapshot: str
    settings: CorpusSettings
    windows: Sequence[Row] = ()
    hops: Mapping[str, int] = field(default_factory=dict)


def is_light(recipe: Recipe) -> bool:
    """Whether an instance needs nothing but the arrays of the graph and what is packaged."""
    options = recipe.options
    scorer = options.scorer if recipe.scores else "random"
    more = recipe.reports or needs_beforehand(options)
    return not more and scorer in ("static", "bm25", "random")


def bench_of(work: Work) -> Bench:
    """Open the graph, and make the instances that need no model."""
    settings = work.settings
    language = Language(memory=ReplyMemory(), corpora=CorpusStore())
    session = language.session_of(settings, User(work.corpus, "path_asked", ""))
    recipes = settings.paths.recipes()
    light = [recipe for recipe in recipes if is_light(recipe)]
    workshop = workshop_of(
        session, PathStore.opened(work.folder), light, windows=work.windows, hops=work.hops
    )
    return Bench(workshop, recipes, work.snapshot)


def begin_working(work: Work) -> None:
    """Make what this process asks from now on; see :func:`bench_of`."""
    _benches[:] = [bench_of(work)]


def answer_chunk(asked: Sequence[Asked]) -> list[pl.DataFrame]:
    """Return what comes of some questions, in a process that has begun working, as frames in the order of
    :data:`~graphrag_dagster.operations.paths.bench.TABLES`: a table that went through a pipe is no longer
    the one that was declared.
    """
    (bench,) = _benches
    with quietly():
        return list(bench.frames(asked).values())
