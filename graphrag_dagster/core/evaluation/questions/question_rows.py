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


def references(documents: pl.DataFrame, questions: pl.DataFrame) -> list[tuple[str, str, str | None]]:
    """Return text, origin and reference of the questions that were written from documents, in their order.

    Args:
        documents: rows of ``questions.testset_documents``.
        questions: rows of ``questions.testset_questions``.
    """
    ordered = questions.join(documents.select("document_id", place="position"), on="document_id").sort(
        "place", "position"
    )
    return [(text, "testset", right) for text, right in ordered.select("question", "reference").iter_rows()]


def listed(
    given: Sequence[tuple[str, str, str | None]],
    questions: pl.DataFrame,
    tasks: pl.DataFrame,
    personas: pl.DataFrame,
) -> Rows:
    """Return the rows of ``questions.questions``: those given, then those written for people.

    Each stands there once, with the first reference that is given for it.

    Args:
        given: text, origin and reference of the corpus's own questions and of its testset.
        questions: rows of ``questions.persona_questions``.
        tasks: rows of ``questions.persona_tasks``.
        personas: rows of ``questions.personas``.
    """
    ordered = (
        questions.join(tasks.select("task_id", "persona_id", place="position"), on="task_id")
        .join(personas.select("persona_id", persona="position"), on="persona_id")
        .sort("persona", "place", "position")
    )
    wanted = [*given, *((text, "written", None) for text in ordered["question"])]
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
    for text, origin, reference in wanted:
        _, first, known = seen.get(text, (text, origin, None))
        seen[text] = (text, first, known or reference)
    return list(seen.values())
