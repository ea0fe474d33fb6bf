"""The gold questions of a corpus, linked to the entities that paths start from."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.storage.corpus_store import content_of
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery
from graphrag_dagster.systems.lego.search.seed_linking import NO_SEED, Linked, SeedLinker
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.answer_metrics import normalise_answer
from graphrag_dagster.systems.lego.studies.path_study import StudyQuestion
from graphrag_dagster.systems.lego.studies.question_files import GoldQuestion, questions_in
from graphrag_dagster.systems.lego.tables import PATH_QUESTIONS

_MOST_BYTES = 1_000_000_000


def questions_of(folder: Path, settings: PathSettings) -> list[GoldQuestion]:
    """Return the questions of the files that ``paths.questions`` names, in their order.

    Args:
        folder: the corpus folder.
        settings: where they are.

    Raises:
        SettingsError: a file is not there, lies outside of the folder, or cannot be read; see
            :func:`graphrag_dagster.systems.lego.studies.question_files.questions_in`.
    """
    return questions_in((name, _content(folder, name)) for name in settings.questions)


def require_questions(settings: PathSettings, corpus: str) -> None:
    """Do nothing where ``paths.questions`` names files.

    Raises:
        SettingsError: it names none.
    """
    if not settings.questions:
        raise SettingsError(
            f"corpus {corpus!r} has no questions with answers; name files of them in its corpus.yaml under "
            "paths.questions"
        )


def questions_to_ask(questions: Iterable[GoldQuestion], settings: PathSettings) -> list[GoldQuestion]:
    """Return the questions that are asked: all, or the sample."""
    able = list(questions)
    drawn = set(_sample_ids(able, settings))
    return [one for one in able if one.id in drawn]


def linked_questions(
    asked: Iterable[GoldQuestion], store: PathStore, settings: PathSettings, embedder: CorpusEmbedder
) -> pl.DataFrame:
    """Return rows of ``paths.questions``: questions with their seeds, and which of them are asked.

    Args:
        asked: the questions.
        store: the graph.
        settings: whether names are compared by vectors, and how many questions are asked.
        embedder: compares names.
    """
    linker = SeedLinker(store, embedder if settings.embedded_links else None)
    questions = list(asked)
    linked = [linker.link(one.text, one.entities) for one in questions]
    tuning = set(_tuning_ids(questions, linked, settings))
    drawn = set(_sample_ids((one for one in questions if one.id not in tuning), settings))
    return PATH_QUESTIONS.frame(
        {
            **_row(position, one, found, store),
            "sampled": one.id in drawn,
            "development": one.id in tuning,
        }
        for position, (one, found) in enumerate(zip(questions, linked, strict=True))
    )


def studied_questions(
    folder: Path, corpus: str, store: PathStore, settings: PathSettings, embedder: CorpusEmbedder
) -> list[StudyQuestion]:
    """Return the questions that a study asks: a sample of those with gold answers and seeds.

    Raises:
        SettingsError: ``paths.questions`` names no file, one cannot be read, or no question has both.
    """
    require_questions(settings, corpus)
    linker = SeedLinker(store, embedder if settings.embedded_links else None)
    able = (
        one for one in questions_of(folder, settings) if one.asked and any(map(normalise_answer, one.answers))
    )
    found: list[StudyQuestion] = []
    for one in sorted(able, key=lambda one: stable_id("path study", settings.seed, one.id)):
        if len(found) == settings.studied:
            break
        if seeds := linker.link(one.text, one.entities).seeds:
            found.append(StudyQuestion(PathQuery(one.text, seeds), tuple(one.answers)))
    if not found:
        raise SettingsError(
            f"no question of corpus {corpus!r} has both gold answers and an entity of the graph; name others "
            "under paths.questions"
        )
    return found


def _content(folder: Path, name: str) -> bytes:
    return content_of(folder, name, f"{folder / SETTINGS_FILE}: paths.questions {name!r}", _MOST_BYTES)


def _tuning_ids(
    questions: Iterable[GoldQuestion], linked: Iterable[Linked], settings: PathSettings
) -> list[str]:
    """The ids of the questions that windows are chosen by; none where recall is no constraint."""
    if not settings.recall.enabled:
        return []
    able = (one.id for one, found in zip(questions, linked, strict=True) if one.answers and found.seeds)
    drawn = sorted(able, key=lambda one: stable_id("path development", settings.seed, one))
    return drawn[: settings.recall.development]


def _sample_ids(questions: Iterable[GoldQuestion], settings: PathSettings) -> Iterator[str]:
    """The ids of the questions that are asked: a sample of those of each number of hops."""
    able = [one for one in questions if one.asked]

    def by_hops(one: GoldQuestion) -> int:
        return one.hops or 0

    for _, alike in groupby(sorted(able, key=by_hops), by_hops):
        ids = [one.id for one in alike]
        if settings.sample is not None:
            ids = sorted(ids, key=lambda one: stable_id("path sample", settings.seed, one))
        yield from ids[: settings.sample]


def _row(position: int, one: GoldQuestion, linked: Linked, store: PathStore) -> dict[str, Any]:
    return {
        "question_id": one.id,
        "position": position,
        "file": one.file,
        "row": one.row,
        "question": one.text,
        "seeds": [store.entity_ids[seed] for seed in linked.seeds],
        "linked_by": linked.by,
        "answers": list(one.answers),
        "hops": one.hops,
        "unknown": list(linked.unknown),
        "domain": one.domain,
        "problem": _problem(one, linked),
    }


def _problem(one: GoldQuestion, linked: Linked) -> str | None:
    """The gravest thing that is the matter: no text, no seed, an entity that is unknown, then the rest."""
    if not one.asked:
        return one.problem
    if not linked.seeds:
        return NO_SEED
    return "unknown_entities" if linked.unknown else one.problem
