"""Evaluation questions by a model: from personas and tasks (paper §3.2), or with reference answers."""

import re
from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict, field_validator

from graphrag_dagster.apps.evaluation.tasks import (
    Described,
    DocumentRequest,
    Drafts,
    PersonaDraft,
    QuestionRequest,
    ReferenceDraft,
    ReferenceDrafts,
    TaskRequest,
)
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import Line, Shape, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask_typed
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

#: A persona takes no more, nor does a task or a question.
_TOKENS_PER_ITEM = 120
_NUMBERING = re.compile(r"\A(?:[-*•]\s+|\(?\d{1,3}[.)]\s+|Q\d{0,3}[.:)]\s*)+")


class CorpusDescriptionShape(Shape):
    """A description of a corpus, as the endpoint is asked for it and as it is read."""

    description: Line = or_named("description", "corpus_description", "summary", "text")

    @field_validator("description")
    @classmethod
    def _require_text(cls, text: str) -> str:
        if not text:
            raise ValueError("it is empty")
        return text


class PersonaShape(Shape):
    """A persona as the endpoint is asked for it."""

    name: Line = or_named("name", "persona", "user", "role", "title", missing=str)
    description: Line = or_named("description", "details", "background", missing=str)


class PersonasShape(Shape):
    """Personas as the endpoint is asked for them."""

    personas: list[PersonaShape] = or_named("personas", "users", "items")


class TasksShape(Shape):
    """Tasks as the endpoint is asked for them."""

    tasks: list[Line] = or_named("tasks", "questions", "items")


class QuestionsShape(Shape):
    """Questions as the endpoint is asked for them."""

    questions: list[Line] = or_named("questions", "queries", "items")


def _read_personas(text: str) -> tuple[tuple[PersonaDraft, ...], bool]:
    """What is only named, or only described, is both by the same words."""
    reply, repaired = read_typed(text, PersonasShape)
    found = tuple(
        PersonaDraft(one.name or one.description, one.description or one.name)
        for one in reply.personas
        if one.name or one.description
    )
    if not found:
        raise NotUsable("the list is empty")
    return found, repaired


def _read_tasks(text: str) -> tuple[tuple[str, ...], bool]:
    reply, repaired = read_typed(text, TasksShape)
    return _unnumbered(reply.tasks), repaired


def _read_questions(text: str) -> tuple[tuple[str, ...], bool]:
    reply, repaired = read_typed(text, QuestionsShape)
    return _unnumbered(reply.questions), repaired


def _unnumbered(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts without their numbers in a list."""
    found = tuple(filter(None, (_NUMBERING.sub("", text) for text in texts)))
    if not found:
        raise NotUsable("the list is empty")
    return found


class LlmQuestionWriter(Asker):
    """Asks a model for a description of the corpus, personas, their tasks and their questions.

    Each of its methods raises EndpointError where the endpoint cannot be used at all.

    Args:
        model: answers.
        max_tokens: longest reply; more where so much is asked for at once that it needs it.
    """

    def __init__(self, model: ChatModel, *, max_tokens: int = 2000) -> None:
        super().__init__(model, max_tokens)
        self._prompts = {
            task: (prompts.load(f"{task}_system").render(), prompts.load(f"{task}_user"))
            for task in ("describe_corpus", "write_personas", "write_tasks", "write_questions")
        }

    def describe(self, texts: Sequence[str]) -> Described:
        """Describe a corpus from sampled texts; without a usable reply the text is blank."""
        sampled = "\n\n".join(f"Text {number}:\n{text.strip()}" for number, text in enumerate(texts, 1))
        request = self._request("describe_corpus", CorpusDescriptionShape, sampled)
        try:
            asked = run_one(ask_typed(self._model, request, CorpusDescriptionShape, self._retry))
        except UnusableReply as lost:
            return Described("", lost.reason, lost.usage)
        return Described(asked.value.description, usage=asked.usage)

    def personas(
        self, description: str, count: int, avoid: Sequence[PersonaDraft] = ()
    ) -> Drafts[PersonaDraft]:
        """Return personas; without a usable reply none, and ``problem`` says why."""
        material = _lines({"Collection": description}, [_as_line(one) for one in avoid])
        request = self._request("write_personas", PersonasShape, material, count)
        return run_one(self._items(request, _read_personas))

    def tasks(self, requests: Sequence[TaskRequest]) -> list[Drafts[str]]:
        """Return tasks, many requests at a time; one without a usable reply has none."""
        return self._write("write_tasks", "Writing tasks", TasksShape, _read_tasks, requests)

    def questions(self, requests: Sequence[QuestionRequest]) -> list[Drafts[str]]:
        """Return questions, many requests at a time; one without a usable reply has none."""
        return self._write("write_questions", "Writing questions", QuestionsShape, _read_questions, requests)

    def _write(
        self,
        task: str,
        stage: str,
        shape: type[BaseModel],
        read: Callable[[str], tuple[tuple[str, ...], bool]],
        requests: Sequence[TaskRequest | QuestionRequest],
    ) -> list[Drafts[str]]:
        async def one(asked: TaskRequest | QuestionRequest) -> Drafts[str]:
            known = {"Collection": asked.description, "Person": _as_line(asked.persona)}
            if isinstance(asked, QuestionRequest):
                known["Task"] = asked.task
            request = self._request(task, shape, _lines(known, asked.avoid), asked.count)
            return await self._items(request, read)

        return self._gather(one, requests, stage)

    def _request(
        self, task: str, shape: type[BaseModel], material: str, count: int | None = None
    ) -> ChatRequest:
        system, user = self._prompts[task]
        values = {"material": enclose("material", material)}
        asked = user.render(**values if count is None else values | {"count": str(count)})
        return self._task_request(task, system, asked, shape, _TOKENS_PER_ITEM * (count or 0))


def _lines(known: dict[str, str], avoid: Sequence[str]) -> str:
    """Every value stands on a line of its own, so that none can pass for another label."""
    lines = [f"{label}: {' '.join(value.split())}" for label, value in known.items()]
    if avoid:
        lines += ["Already there:", *(f"- {' '.join(one.split())}" for one in avoid)]
    return "\n".join(lines)


def _as_line(persona: PersonaDraft) -> str:
    return f"{persona.name}: {persona.description}"


#: A question with its answer and a quotation takes no more.
_TOKENS_PER_QUESTION = 400


class ReferenceShape(Shape):
    """A question with its answer as the endpoint is asked for it."""

    # A number may be a whole answer.
    model_config = ConfigDict(coerce_numbers_to_str=True)

    question: Line = or_named("question", "query", "input", missing=str)
    reference: Line = or_named(
        "reference", "reference_answer", "answer", "expected_output", "ground_truth", missing=str
    )
    evidence: Line = or_named("evidence", "quote", "quotation", "context", "source", missing=str)


class ReferencesShape(Shape):
    """Questions with their answers as the endpoint is asked for them."""

    questions: list[ReferenceShape] = or_named("questions", "items", "testset", "pairs", "qa", "qa_pairs")


class LlmTestsetWriter(Asker):
    """Asks a model for questions about single documents, one call for each.

    Args:
        model: answers.
        max_tokens: longest reply; more where so much is asked for at once that it needs it.
    """

    def __init__(self, model: ChatModel, *, max_tokens: int = 4000) -> None:
        super().__init__(model, max_tokens)
        self._system = prompts.load("write_testset_system").render()
        self._user = prompts.load("write_testset_user")
        self._example = WorkedExample.of(self._system)

    def write(self, requests: Sequence[DocumentRequest]) -> list[ReferenceDrafts]:
        """Return the drafts of each request; one without a usable reply has none, and ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """

        async def one(asked: DocumentRequest) -> ReferenceDrafts:
            request = self._request(asked)
            shown = request.messages[-1].content
            return await self._items(request, lambda text: self._read(text, shown))

        return self._gather(one, requests, "Writing questions from documents")

    def _request(self, asked: DocumentRequest) -> ChatRequest:
        avoid = "\n".join(f"- {' '.join(one.split())}" for one in asked.avoid)
        user = self._user.render(
            document=enclose("source_text", f"{' '.join(asked.title.split())}\n\n{asked.text}"),
            avoid=enclose("material", avoid or "(none)"),
            count=str(asked.count),
        )
        limit = _TOKENS_PER_QUESTION * asked.count
        return self._task_request("write_testset", self._system, user, ReferencesShape, limit)

    def _read(self, text: str, shown: str) -> tuple[tuple[ReferenceDraft, ...], bool]:
        reply, repaired = read_typed(text, ReferencesShape)
        found = tuple(ReferenceDraft(one.question, one.reference, one.evidence) for one in reply.questions)
        if not any(one.question and one.reference for one in found):
            raise NotUsable('it contains no "question" with a "reference" that answers it')
        self._example.refuse_copies(tuple(one.question for one in found), shown)
        return found, repaired
