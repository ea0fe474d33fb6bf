"""The questions of an evaluation: K personas x N tasks x M questions (paper §3.2, Algorithm 1).

A writer may repeat itself or return too few. Blank or repeated items, ignoring case and blanks, are requested
again, at most three times; the result has exactly K·N·M questions or is an error.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.tasks import (
    Drafts,
    PersonaDraft,
    QuestionRequest,
    QuestionWriter,
    TaskRequest,
)
from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.common.stable_values import cosines, stable_id, unit_rows
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.question import validate_question
from graphrag_dagster.kernel.tasks.task_ports import Engine
from graphrag_dagster.kernel.text.text_similarity import diverse

T = TypeVar("T")
#: Number of a place, how many to ask for, what to avoid.
_Request: TypeAlias = tuple[int, int, tuple[T, ...]]
Embed: TypeAlias = Callable[[Sequence[str]], NDArray[Any]]

_AGAIN = 3
#: Of relevance to the task against diversity, as in BenchmarkQED.
_BALANCE = 0.5
_LISTED = 5
_MEND = {
    True: "Use a model that follows instructions better, describe the corpus in more detail, or request "
    "fewer personas, tasks or questions",
    False: "Request fewer personas, tasks or questions, or use a model to write them",
}


Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Rows of ``questions.personas``, ``persona_tasks`` and ``persona_questions``, in reading order.

    ``problems`` are those on the way, although the set is complete.
    """

    personas: Rows
    tasks: Rows
    questions: Rows
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def write_questions(
    writer: QuestionWriter,
    description: str,
    *,
    personas: int = 5,
    tasks: int = 5,
    questions: int = 5,
    oversample: int = 1,
    embed: Embed | None = None,
) -> QuestionSet:
    """Return ``personas`` · ``tasks`` · ``questions`` distinct questions.

    Args:
        writer: writes personas, tasks and questions.
        description: of the corpus and what it is for.
        personas: K.
        tasks: N for each persona.
        questions: M for each task.
        oversample: as many times M questions are asked for; M of them are chosen by maximal marginal
            relevance, relevance being the cosine to the task.
        embed: gives a vector for each text; needed where ``oversample`` is more than 1.

    Raises:
        EngineError: the description is blank, or so many cannot be had; says how many are missing where.
        EndpointError: the endpoint cannot be used at all.
        ValueError: a count is below 1, or ``embed`` is missing.
    """
    if min(personas, tasks, questions, oversample) < 1:
        raise ValueError("personas, tasks, questions and oversample are at least 1")
    if oversample > 1 and embed is None:
        raise ValueError("choosing among more questions than are needed takes embed")
    if not description.strip():
        raise EngineError("questions are written from a description of the corpus, but it is blank; set one")
    writing = _SetWriter(writer, description)
    people = writing.personas(personas)
    work = writing.tasks(people, tasks)
    places = writing.questions(people, work, questions, oversample)
    if embed is not None and oversample > 1:
        _choose(places, work, questions, embed)
    rows = [
        {
            "question_id": stable_id("question", text),
            "task_id": task["task_id"],
            "position": position,
            "question": text,
            "repeats": again,
            "engine": writer.engine,
        }
        for task, place in zip(work, places, strict=True)
        for position, (text, again) in enumerate(place.kept)
    ]
    return QuestionSet(people, work, rows, tuple(writing.problems), writing.usage)


@dataclass
class _RequestResult(Generic[T]):
    """Result of one request: the kept items, each with its round, and the repeated ones."""

    label: str
    kept: list[tuple[T, int]] = field(default_factory=list)
    repeated: list[T] = field(default_factory=list)
    problem: str | None = None

    @property
    def avoid(self) -> tuple[T, ...]:
        return (*(one for one, _ in self.kept), *self.repeated)

    def take(self, drafts: Iterable[T | None], again: int, most: int, taken: set[str]) -> None:
        told = set(map(_key, self.avoid))
        for draft in drafts:
            if draft is None:
                continue
            key = _key(draft)
            if key in taken and key not in told:
                self.repeated.append(draft)
            elif key not in taken and len(self.kept) < most:
                taken.add(key)
                self.kept.append((draft, again))
            else:
                continue
            told.add(key)


class _SetWriter:
    """Writes one set; ``usage`` and ``problems`` are those of all its requests."""

    def __init__(self, writer: QuestionWriter, description: str) -> None:
        self._writer = writer
        self._description = description
        self.usage = Usage()
        self.problems: list[str] = []

    def personas(self, count: int) -> Rows:
        place: _RequestResult[PersonaDraft] = _RequestResult("personas")

        def ask(requests: list[_Request[PersonaDraft]]) -> list[Drafts[PersonaDraft]]:
            return [self._writer.personas(self._description, asked, avoid) for _, asked, avoid in requests]

        self._fill([place], count, 1, ask, _clean_persona)
        return [
            {
                "persona_id": stable_id("persona", one.name, one.description),
                "position": position,
                "name": one.name,
                "description": one.description,
                "engine": self._writer.engine,
            }
            for position, (one, _) in enumerate(place.kept)
        ]

    def tasks(self, people: Rows, count: int) -> Rows:
        drafts = [PersonaDraft(one["name"], one["description"]) for one in people]
        places: list[_RequestResult[str]] = [
            _RequestResult(f"tasks of the persona {one.name!r}") for one in drafts
        ]

        def ask(requests: list[_Request[str]]) -> list[Drafts[str]]:
            return self._writer.tasks(
                [TaskRequest(self._description, drafts[at], asked, avoid) for at, asked, avoid in requests]
            )

        self._fill(places, count, 1, ask, _clean)
        return [
            {
                "task_id": stable_id("task", person["persona_id"], text),
                "persona_id": person["persona_id"],
                "position": position,
                "task": text,
                "engine": self._writer.engine,
            }
            for person, place in zip(people, places, strict=True)
            for position, (text, _) in enumerate(place.kept)
        ]

    def questions(self, people: Rows, work: Rows, count: int, times: int) -> list[_RequestResult[str]]:
        drafts = {one["persona_id"]: PersonaDraft(one["name"], one["description"]) for one in people}
        asked_by = [drafts[task["persona_id"]] for task in work]
        places: list[_RequestResult[str]] = [
            _RequestResult(f"questions of the task {task['task']!r} of the persona {person.name!r}")
            for task, person in zip(work, asked_by, strict=True)
        ]

        def ask(requests: list[_Request[str]]) -> list[Drafts[str]]:
            return self._writer.questions(
                [
                    QuestionRequest(self._description, asked_by[at], work[at]["task"], asked, avoid)
                    for at, asked, avoid in requests
                ]
            )

        self._fill(places, count, times, ask, _clean)
        return places

    def _fill(
        self,
        places: Sequence[_RequestResult[T]],
        count: int,
        times: int,
        ask: Callable[[list[_Request[T]]], list[Drafts[T]]],
        clean: Callable[[T], T | None],
    ) -> None:
        """Ask until every place has ``count``; at first ``times`` as many are asked for."""
        taken: set[str] = set()
        for again in range(_AGAIN + 1):
            open_ = [(at, place) for at, place in enumerate(places) if len(place.kept) < count]
            # One more each time: the same prompt would be answered from memory with the same reply.
            requests = [
                (at, count - len(place.kept) + again if again else count * times, place.avoid)
                for at, place in open_
            ]
            for (_, place), drafts in zip(open_, ask(requests) if requests else [], strict=True):
                self.usage += drafts.usage
                place.problem = drafts.problem
                if drafts.problem:
                    self.problems.append(f"{place.label}: {drafts.problem}")
                place.take(map(clean, drafts.items), again, count * times, taken)
        _refuse_gaps(places, count, self._writer.engine)


def _refuse_gaps(places: Sequence[_RequestResult[T]], count: int, engine: Engine) -> None:
    gaps = [(place, count - len(place.kept)) for place in places if len(place.kept) < count]
    if not gaps:
        return
    told = [
        f"{missing} of {count} {place.label}" + (f" ({place.problem})" if place.problem else "")
        for place, missing in gaps[:_LISTED]
    ]
    if len(gaps) > _LISTED:
        told.append(f"and so on, in {len(gaps)} places")
    raise EngineError(
        f"{sum(missing for _, missing in gaps)} of {count * len(places)} are still missing after {_AGAIN} "
        f"repetitions, because the replies were blank, repeated or unusable: {'; '.join(told)}. "
        f"{_MEND[asks_model(engine)]}"
    )


def _choose(places: Sequence[_RequestResult[str]], work: Rows, count: int, embed: Embed) -> None:
    """Leave in each place ``count`` questions, in the order they were written in."""
    texts = [task["task"] for task in work] + [text for place in places for text, _ in place.kept]
    vectors = unit_rows(embed(texts))
    start = len(work)
    for place, task in zip(places, vectors[:start], strict=True):
        own = vectors[start : start + len(place.kept)]
        start += len(place.kept)
        chosen = diverse(cosines(own, task), own, count, _BALANCE, lambda _at, _chosen: True)
        place.kept = [place.kept[at] for at in sorted(chosen)]


def _key(draft: object) -> str:
    text = draft.name if isinstance(draft, PersonaDraft) else str(draft)
    return " ".join(text.casefold().split())


def _clean(text: str) -> str | None:
    """Return a text on one line; None where it is blank, or otherwise nothing that could be asked."""
    try:
        return validate_question(" ".join(text.split()))
    except QuestionError:
        return None


def _clean_persona(draft: PersonaDraft) -> PersonaDraft | None:
    name, description = _clean(draft.name), _clean(draft.description)
    return PersonaDraft(name, description) if name and description else None


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


def all_questions(
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
        for place, (text, origin, reference) in enumerate(_deduplicate(wanted))
    ]


def _deduplicate(wanted: Iterable[tuple[str, str, str | None]]) -> list[tuple[str, str, str | None]]:
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


def describe_corpus(
    writer: QuestionWriter, given: str | None, text_chunks: pl.DataFrame, most: int
) -> CorpusDescription:
    """Return the given description, else one that the writer makes from a sample.

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
