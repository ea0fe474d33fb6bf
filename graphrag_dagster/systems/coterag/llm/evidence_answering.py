"""Routing, answering and validating by a model."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest, Listener
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, or_named, plain_word
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask, ask_typed
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.citations import ContextKind, canonical_citations
from graphrag_dagster.kernel.text.prompt_templates import enclose
from graphrag_dagster.systems.coterag.tasks import (
    EvidenceAnswer,
    RouteCues,
    RoutedQuestion,
    Validation,
)

_LONGEST_REASON = 300
#: The signal as the first line, or as the last sentence; inside of one it is a word of the documents.
_FIRST_LINE = re.compile(r"\A[\W_]*search[ _]?more[\W_]*?(?:\n|\Z)", re.IGNORECASE)
_LAST_SENTENCE = re.compile(r"(?:\A|(?<=[.!?\]\n]))\s*[\"'*`(]*SEARCH_MORE[\"'*`).]*\s*\Z")
#: A rule of the prompt for answers.
_OVERVIEW = (
    "\n- If there are reports, begin with an overview of one or two sentences: from the first of them, the "
    "subject that the question belongs to. Then answer it in full."
)
_SECTIONS: tuple[tuple[ContextKind, str], ...] = (
    ("report", "Reports"),
    ("relationship", "Relationships"),
    ("source", "Sources"),
)
_REASONS = ("reason", "why", "because")


class EvidenceRouteShape(Shape):
    """A route as the endpoint is asked for it."""

    reason: str = or_named(*_REASONS, missing=str)
    route: Annotated[Literal["general", "specific"], BeforeValidator(plain_word)] = or_named(
        "route", "verdict", "choice", "answer", "kind"
    )


class ValidationShape(Shape):
    """A verdict as the endpoint is asked for it."""

    reason: str = or_named(*_REASONS, missing=str)
    verdict: Annotated[Literal["ok", "insufficient"], BeforeValidator(plain_word)] = or_named(
        "verdict", "route", "choice", "answer", "kind"
    )


class LlmEvidenceRouter(Asker):
    """Asks a model whether a question needs the documents; without a usable reply it does."""

    def __init__(self, model: ChatModel, *, max_tokens: int = 300) -> None:
        super().__init__(model, max_tokens)
        self._system = prompts.load("coterag_route_system").render()
        self._user = prompts.load("route_user")

    def route(self, question: str, cues: RouteCues) -> RoutedQuestion:
        """Return the route; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        user = self._user.render(
            names=enclose("entity_names", "\n".join(cues.names) or "none"),
            question=enclose("question", question),
        )
        request = self._task_request("coterag_route", self._system, user, EvidenceRouteShape)
        try:
            asked = run_one(ask_typed(self._model, request, EvidenceRouteShape, self._retry))
        except UnusableReply as lost:
            return RoutedQuestion("specific", "no usable reply of the model", lost.reason, lost.usage)
        return RoutedQuestion(asked.value.route, _shorten(asked.value.reason), usage=asked.usage)


class LlmEvidenceAnswerer(Asker):
    """Asks a model for an answer from a context, or from what it knows.

    Args:
        overview: an answer opens with an overview of its subject, from the first report.
        listen: hears the text of an answer as it comes.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        max_tokens: int = 1024,
        overview: bool = False,
        listen: Listener | None = None,
    ) -> None:
        super().__init__(model, max_tokens)
        self._prompts = {
            "answer": (
                prompts.load("coterag_answer_system").render(opening=_OVERVIEW if overview else ""),
                prompts.load("coterag_answer_user"),
            ),
            "direct": (
                prompts.load("coterag_direct_system").render(),
                prompts.load("coterag_direct_user"),
            ),
        }
        self._listen = listen

    def answer(self, question: str, rows: Sequence[ContextUnit]) -> EvidenceAnswer:
        """Return an answer; see the port. Without a usable reply more is asked for, and ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        system, user = self._prompts["answer"]
        shown = user.render(
            material=enclose("material", render_evidence(rows)), question=enclose("question", question)
        )
        return self._answer(self._task_request("coterag_answer", system, shown, None))

    def answer_directly(self, question: str) -> EvidenceAnswer:
        """Return an answer from what the model knows; see :meth:`answer`."""
        system, user = self._prompts["direct"]
        shown = user.render(question=enclose("question", question))
        return self._answer(self._task_request("coterag_direct", system, shown, None))

    def _answer(self, request: ChatRequest) -> EvidenceAnswer:
        try:
            asked = run_one(ask(self._model, request, _parse_answer, self._retry, listen=self._listen))
        except UnusableReply as lost:
            return EvidenceAnswer("", self.engine, search_more=True, problem=lost.reason, usage=lost.usage)
        text, more = asked.value
        return EvidenceAnswer(text, self.engine, more, usage=asked.usage)


class LlmAnswerValidator(Asker):
    """Asks a model whether an answer agrees with its context and is complete."""

    def __init__(self, model: ChatModel, *, max_tokens: int = 300) -> None:
        super().__init__(model, max_tokens)
        self._system = prompts.load("coterag_validate_system").render()
        self._user = prompts.load("coterag_validate_user")

    def validate(self, question: str, rows: Sequence[ContextUnit], answer: EvidenceAnswer) -> Validation:
        """Return the verdict; ``ok`` with a ``problem`` where no usable reply came.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        user = self._user.render(
            material=enclose("material", render_evidence(rows)),
            question=enclose("question", question),
            answer=enclose("answer_1", answer.text),
        )

        request = self._task_request("coterag_validate", self._system, user, ValidationShape)
        try:
            asked = run_one(ask_typed(self._model, request, ValidationShape, self._retry))
        except UnusableReply as lost:
            return Validation("ok", "no usable reply of the model", lost.reason, lost.usage)
        return Validation(asked.value.verdict, _shorten(asked.value.reason), usage=asked.usage)


def render_evidence(rows: Sequence[ContextUnit]) -> str:
    """Return a context as a prompt shows it: a section for each kind, every row on a line with its id."""
    parts = []
    for kind, name in _SECTIONS:
        lines = [f"{row.id}. {_line(row)}" for row in rows if row.kind == kind]
        if lines:
            parts.append("\n".join([f"-----{name}-----", *lines]))
    return "\n\n".join(parts) or "none"


def _line(row: ContextUnit) -> str:
    text = " ".join(row.text.split())
    return text if row.kind == "relationship" else f"{' '.join(row.title.split())}: {text}"


def _parse_answer(text: str) -> tuple[tuple[str, bool], bool]:
    """What is said, and whether more is asked for."""
    if not text.strip():
        raise NotUsable("the reply is empty")
    kept = _LAST_SENTENCE.sub("", _FIRST_LINE.sub("", text))
    return (canonical_citations(kept).strip(), kept != text), False


def _shorten(reason: str) -> str:
    return " ".join(reason.split())[:_LONGEST_REASON]
