"""Questions as rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from graphrag_dagster.apps.evaluation.questions.personas import QuestionSet
from graphrag_dagster.apps.evaluation.tasks import QuestionWriter
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.tasks.ports import Usage

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


@dataclass(frozen=True, slots=True)
class CorpusDescription:
    """Description of a corpus. ``sampled``: text units it was made from, 0 if it was given. ``usage`` is the
    cost of the description.
    """

    text: str
    source: Literal["given", "sample"]
    sampled: int = 0
    usage: Usage = field(default_factory=Usage)

    def rows(self, engine: str, repaired: int) -> list[dict[str, Any]]:
        """Return the rows of ``questions.corpus_descriptions``.

        Args:
            engine: who described.
            repaired: replies that were repaired for the questions that were written from the description.
        """
        return [
            {
                "source": self.source,
                "description": self.text,
                "sampled_units": self.sampled,
                "repaired": self.usage.repaired + repaired,
                "engine": engine,
            }
        ]


def described(
    writer: QuestionWriter, given: str | None, text_chunks: pl.DataFrame, most: int
) -> CorpusDescription:
    """Return the given description, else one that the writer makes from a sample (spec_graphrag §8).

    Args:
        writer: describes.
        given: description of ``corpus.yaml``.
        text_chunks: ``text_unit_id`` and ``text`` of all text units.
        most: text units of the sample, drawn by a hash of their ids, so that their order has no part in it.

    Raises:
        EngineError: no description came of it.
    """
    if given and given.strip():
        return CorpusDescription(given.strip(), "given")
    units = sorted(
        text_chunks.select("text_unit_id", "text").iter_rows(), key=lambda unit: stable_id("sample", unit[0])
    )[:most]
    made = writer.describe([text for _, text in units])
    if not made.text.strip():
        raise EngineError(
            f"no description of the corpus could be written ({made.problem or 'it has no text units'}); set "
            "description in corpus.yaml"
        )
    return CorpusDescription(made.text.strip(), "sample", len(units), made.usage)
