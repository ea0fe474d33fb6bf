"""Evaluation questions by a model: from personas and tasks (paper §3.2), or with reference answers."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, field_validator, model_validator

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
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    NotUsable,
    first_value,
    is_placeholder,
    read_typed,
    with_normalised_keys,
)
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask_typed
from graphrag_dagster.kernel.text.prompt_templates import PromptSource, enclose
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

T = TypeVar("T")

#: A persona takes no more, nor does a task or a question.
_TOKENS_PER_ITEM = 120
_LISTS = ("personas", "users", "tasks", "questions", "queries", "items")
_TEXTS = ("question", "task", "query", "text", "title", "description")
_NAMES, _DESCRIPTIONS = ("name", "persona", "user", "role", "title"), ("description", "details", "background")
#: Keys of a reply that has one item for each key, or one item alone.
_ITEM_KEY = re.compile(r"(?:(?:persona|user|task|question|query|item|q)[ _-]*)?\d*\Z")
_NUMBERING = re.compile(r"\A(?:[-*•]\s+|\(?\d{1,3}[.)]\s+|Q\d{0,3}[.:)]\s*)+")


class CorpusDescriptionShape(Shape):
    """A description of a corpus, as the endpoint is asked for it and as it is read."""

    description: str


class PersonaShape(Shape):
    """A persona as the endpoint is asked for it."""

    name: str
    description: str


class PersonasShape(Shape):
    """Personas as the endpoint is asked for them."""

    personas: list[PersonaShape]


class TasksShape(Shape):
    """Tasks as the endpoint is asked for them."""

    tasks: list[str]


class QuestionsShape(Shape):
    """Questions as the endpoint is asked for them."""

    questions: list[str]


class _Description(BaseModel):
    description: str

    @model_validator(mode="before")
    @classmethod
    def _normalise_keys(cls, value: Any) -> Any:
        names = ("description", "corpus_description", "summary", "text")
        return (
            {"description": first_value(with_normalised_keys(value), names)}
            if isinstance(value, dict)
            else value
        )

    @field_validator("description")
    @classmethod
    def _require_text(cls, text: str) -> str:
        if is_placeholder(text) or not any(map(str.isalnum, text)):
            raise ValueError("it is empty")
        return " ".join(text.split())


class _Listed(BaseModel):
    """Items however they were listed: under a usual key, each under a key of its own, or one alone."""

    items: list[Any]

    @model_validator(mode="before")
    @classmethod
    def _normalise_items(cls, value: Any) -> Any:
        if isinstance(value, dict):
            lower = with_normalised_keys(value)
            listed = first_value(lower, _LISTS)
            if listed is None and first_value(lower, ("name", "description")) is not None:
                listed = [lower]
            if listed is None and lower and all(map(_ITEM_KEY.match, lower)):
                listed = list(lower.values())
            value = listed
        if isinstance(value, str):
            value = value.splitlines()
        return {"items": list(value.values()) if isinstance(value, dict) else value}


def _text(item: Any) -> str | None:
    """Return an item as text on one line, without its number in a list; None where it holds no words."""
    said = first_value(with_normalised_keys(item), _TEXTS) if isinstance(item, dict) else item
    if not isinstance(said, str) or is_placeholder(said):
        return None
    text = " ".join(_NUMBERING.sub("", said.strip()).split())
    return text if any(map(str.isalnum, text)) else None


def _persona(item: Any) -> PersonaDraft | None:
    """Return an item as a persona; what is only named, or only described, is both by the same words."""
    if isinstance(item, dict):
        own = with_normalised_keys(item)
        name, description = _text(first_value(own, _NAMES)), _text(first_value(own, _DESCRIPTIONS))
    else:
        head, _, tail = (_text(item) or "").partition(": ")
        name, description = _text(head), _text(tail)
    said = name or description
    return PersonaDraft(said, description or said) if said else None


def _reader(item: Callable[[Any], T | None]) -> Callable[[str], tuple[tuple[T, ...], bool]]:
    def read(text: str) -> tuple[tuple[T, ...], bool]:
        bare = text.startswith("[") and text.endswith("]")
        listed, repaired = read_typed(f'{{"items": {text}}}' if bare else text, _Listed)
        found = tuple(one for one in map(item, listed.items) if one is not None)
        if not found:
            raise NotUsable("the list is empty")
        return found, repaired

    return read


class LlmQuestionWriter(Asker):
    """Asks a model for a description of the corpus, personas, their tasks and their questions.

    Each of its methods raises EndpointError where the endpoint cannot be used at all.

    Args:
        model: answers.
        prompts: ``describe_corpus``, ``write_personas``, ``write_tasks`` and ``write_questions``, each with
            ``_system`` and ``_user``, and ``retry``.
        max_tokens: longest reply; more where so much is asked for at once that it needs it.
    """

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 2000) -> None:
        super().__init__(model, prompts, max_tokens)
        self._prompts = {
            task: (prompts.load(f"{task}_system").render(), prompts.load(f"{task}_user"))
            for task in ("describe_corpus", "write_personas", "write_tasks", "write_questions")
        }

    def describe(self, texts: Sequence[str]) -> Described:
        """Describe a corpus from sampled texts; without a usable reply the text is blank."""
        sampled = "\n\n".join(f"Text {number}:\n{text.strip()}" for number, text in enumerate(texts, 1))
        request = self._request("describe_corpus", CorpusDescriptionShape, sampled)
        try:
            asked = run_one(ask_typed(self._model, request, _Description, self._retry))
        except UnusableReply as lost:
            return Described("", lost.reason, lost.usage)
        return Described(asked.value.description, usage=asked.usage)

    def personas(
        self, description: str, count: int, avoid: Sequence[PersonaDraft] = ()
    ) -> Drafts[PersonaDraft]:
        """Return personas; without a usable reply none, and ``problem`` says why."""
        material = _lines({"Collection": description}, [_as_line(one) for one in avoid])
        request = self._request("write_personas", PersonasShape, material, count)
        return run_one(self._items(request, _reader(_persona)))

    def tasks(self, requests: Sequence[TaskRequest]) -> list[Drafts[str]]:
        """Return tasks, many requests at a time; one without a usable reply has none."""
        return self._write("write_tasks", "Writing tasks", TasksShape, requests)

    def questions(self, requests: Sequence[QuestionRequest]) -> list[Drafts[str]]:
        """Return questions, many requests at a time; one without a usable reply has none."""
        return self._write("write_questions", "Writing questions", QuestionsShape, requests)

    def _write(
        self, task: str, stage: str, shape: type[BaseModel], requests: Sequence[TaskRequest | QuestionRequest]
    ) -> list[Drafts[str]]:
        async def one(asked: TaskRequest | QuestionRequest) -> Drafts[str]:
            known = {"Collection": asked.description, "Person": _as_line(asked.persona)}
            if isinstance(asked, QuestionRequest):
                known["Task"] = asked.task
            request = self._request(task, shape, _lines(known, asked.avoid), asked.count)
            return await self._items(request, _reader(_text))

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
_REFERENCE_LISTS = ("questions", "items", "testset", "pairs", "qa", "qa_pairs")
_REFERENCE_NAMES = {
    "question": ("question", "query", "input"),
    "reference": ("reference", "reference_answer", "answer", "expected_output", "ground_truth"),
    "evidence": ("evidence", "quote", "quotation", "context", "source"),
}


class ReferenceShape(Shape):
    """A question with its answer as the endpoint is asked for it."""

    question: str
    reference: str
    evidence: str


class ReferencesShape(Shape):
    """Questions with their answers as the endpoint is asked for them."""

    questions: list[ReferenceShape]


class _ListedReferences(BaseModel):
    """Questions under a usual key, or one alone."""

    items: list[Any]

    @model_validator(mode="before")
    @classmethod
    def _normalise_items(cls, value: Any) -> Any:
        alike = with_normalised_keys(value)
        if listed := first_value(alike, _REFERENCE_LISTS):
            return {"items": list(listed.values()) if isinstance(listed, dict) else listed}
        return {"items": [value] if first_value(alike, _REFERENCE_NAMES["question"]) else value}


class LlmTestsetWriter(Asker):
    """Asks a model for questions about single documents, one call for each.

    Args:
        model: answers.
        prompts: ``write_testset_system``, ``write_testset_user`` and ``retry``.
        max_tokens: longest reply; more where so much is asked for at once that it needs it.
    """

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 4000) -> None:
        super().__init__(model, prompts, max_tokens)
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
        bare = text.startswith("[") and text.endswith("]")
        listed, repaired = read_typed(f'{{"items": {text}}}' if bare else text, _ListedReferences)
        found = tuple(map(_draft, listed.items))
        if not any(one.question and one.reference for one in found):
            raise NotUsable('it contains no "question" with a "reference" that answers it')
        self._example.refuse_copies(tuple(one.question for one in found), shown)
        return found, repaired


def _draft(item: Any) -> ReferenceDraft:
    """Return a question with its answer, each on one line; blank is what holds no words."""
    alike = with_normalised_keys(item)
    return ReferenceDraft(
        *(_reference_text(first_value(alike, names)) for names in _REFERENCE_NAMES.values())
    )


def _reference_text(value: Any) -> str:
    said = value[0] if isinstance(value, list) and len(value) == 1 else value
    # A number may be a whole answer.
    said = str(said) if isinstance(said, int | float) and not isinstance(said, bool) else said
    if not isinstance(said, str) or is_placeholder(said) or not any(map(str.isalnum, said)):
        return ""
    return " ".join(said.split())
