"""Questions with reference answers by a model, each from one document (spec_coterag §9)."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, model_validator

from graphrag_dagster.apps.evaluation.tasks import DocumentRequest, ReferenceDraft, ReferenceDrafts
from graphrag_dagster.kernel.models.chat.asker import Asker
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.replies import (
    NotUsable,
    first_of,
    is_placeholder,
    read_typed,
    spelt_alike,
)
from graphrag_dagster.kernel.models.chat.schemas import Shape
from graphrag_dagster.systems.graphrag.llm.extraction.examples import WorkedExample

#: A question with its answer and a quotation takes no more.
_TOKENS_PER_QUESTION = 400
_LISTS = ("questions", "items", "testset", "pairs", "qa", "qa_pairs")
_NAMES = {
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


class _Listed(BaseModel):
    """Questions under a usual key, or one alone."""

    items: list[Any]

    @model_validator(mode="before")
    @classmethod
    def _however_written(cls, value: Any) -> Any:
        alike = spelt_alike(value)
        if listed := first_of(alike, _LISTS):
            return {"items": list(listed.values()) if isinstance(listed, dict) else listed}
        return {"items": [value] if first_of(alike, _NAMES["question"]) else value}


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

        return self._each(one, requests, "Writing questions from documents")

    def _request(self, asked: DocumentRequest) -> ChatRequest:
        avoid = "\n".join(f"- {' '.join(one.split())}" for one in asked.avoid)
        user = self._user.render(
            document=enclose("source_text", f"{' '.join(asked.title.split())}\n\n{asked.text}"),
            avoid=enclose("material", avoid or "(none)"),
            count=str(asked.count),
        )
        limit = _TOKENS_PER_QUESTION * asked.count
        return self._asking("write_testset", self._system, user, ReferencesShape, limit)

    def _read(self, text: str, shown: str) -> tuple[tuple[ReferenceDraft, ...], bool]:
        bare = text.startswith("[") and text.endswith("]")
        listed, repaired = read_typed(f'{{"items": {text}}}' if bare else text, _Listed)
        found = tuple(map(_draft, listed.items))
        if not any(one.question and one.reference for one in found):
            raise NotUsable('it contains no "question" with a "reference" that answers it')
        self._example.refuse_copies(tuple(one.question for one in found), shown)
        return found, repaired


def _draft(item: Any) -> ReferenceDraft:
    """Return a question with its answer, each on one line; blank is what holds no words."""
    alike = spelt_alike(item)
    return ReferenceDraft(*(_text(first_of(alike, names)) for names in _NAMES.values()))


def _text(value: Any) -> str:
    said = value[0] if isinstance(value, list) and len(value) == 1 else value
    # A number may be a whole answer.
    said = str(said) if isinstance(said, int | float) and not isinstance(said, bool) else said
    if not isinstance(said, str) or is_placeholder(said) or not any(map(str.isalnum, said)):
        return ""
    return " ".join(said.split())
