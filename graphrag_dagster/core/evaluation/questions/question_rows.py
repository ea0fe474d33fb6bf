"""Questions as rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.core.evaluation.questions.personas import QuestionSet
from graphrag_dagster.core.ids import stable_id

Rows = list[dict[str, Any]]


def written(made: QuestionSet, engine: str) -> tuple[Rows, Rows, Rows]:
    """Return the rows of ``questions.personas``, ``persona_tasks`` and ``persona_questions``."""
    personas = [
        {
            "persona_id": one.id,
            "position": one.position,
            "name": one.name,
            "description": one.description,
            "engine": engine,
        }
        for one in made.personas
    ]
    tasks = [
        {
            "task_id": one.id,
            "persona_id": one.persona_id,
            "position": one.position,
            "task": one.text,
            "engine": engine,
        }
        for one in made.tasks
    ]
    questions = [
        {
            "question_id": one.id,
            "task_id": one.task_id,
            "position": one.position,
            "question": one.text,
            "repeats": one.regenerated,
            "engine": engine,
        }
        for one in made.questions
    ]
    return personas, tasks, questions


def listed(
    own: Sequence[tuple[str, str, str | None]],
    questions: pl.DataFrame,
    tasks: pl.DataFrame,
    personas: pl.DataFrame,
) -> Rows:
    """Return the rows of ``questions.questions``: the corpus's own, then those written, each once.

    Args:
        own: text, origin and reference of the corpus's own questions.
        questions: rows of ``questions.persona_questions``.
        tasks: rows of ``questions.persona_tasks``.
        personas: rows of ``questions.personas``.
    """
    ordered = (
        questions.join(tasks.select("task_id", "persona_id", place="position"), on="task_id")
        .join(personas.select("persona_id", persona="position"), on="persona_id")
        .sort("persona", "place", "position")
    )
    wanted = [*own, *((text, "written", None) for text in ordered["question"])]
    return [
        {
            "question_id": stable_id("question", text),
            "position": place,
            "question": text,
            "origin": origin,
            "reference": reference,
        }
        for place, (text, origin, reference) in enumerate(_once(wanted))
    ]


def _once(wanted: Iterable[tuple[str, str, str | None]]) -> list[tuple[str, str, str | None]]:
    seen: dict[str, tuple[str, str, str | None]] = {}
    for one in wanted:
        seen.setdefault(one[0], one)
    return list(seen.values())
