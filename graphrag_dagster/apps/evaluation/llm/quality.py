"""Judges answers and their context with a model, one call per text or request."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from graphrag_dagster.apps.evaluation.measures.quality_tasks import (
    GeneratedQuestions,
    StatementsOf,
    VerdictRequest,
    VerdictsOf,
)
from graphrag_dagster.kernel.models.chat.asker import Asker
from graphrag_dagster.kernel.models.chat.asking import UnusableReply, ask
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.verdict_replies import (
    GeneratedShape,
    StatementsShape,
    TernaryVerdictsShape,
    VerdictsShape,
    read_questions,
    read_statements,
    read_verdicts,
)
from graphrag_dagster.kernel.tasks.ports import ItemVerdict
from graphrag_dagster.systems.graphrag.llm.extraction.examples import WorkedExample

T = TypeVar("T")

_TERNARY = frozenset({"relevant_to_question", "true_to_context"})
_AGAINST_CONTEXT = frozenset({"true_to_context", "attributable_to_context"})
#: A record with an id, a verdict and a reason of fifteen words takes no more, line breaks included.
_TOKENS_PER_VERDICT = 64


class LlmQualityJudge(Asker):
    """Asks a model for statements, verdicts and questions.

    Args:
        model: answers.
        prompts: ``quality_statements_*``, ``quality_questions_*``, ``quality_<kind>_system`` of each kind of
            verdict, ``quality_relevant_to_question_user``, ``quality_against_context_user``,
            ``quality_useful_node_user`` and ``retry``.
        max_tokens: longest reply; more where a text is so long, or a request has so many items, that the
            reply needs it.
    """

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 2000) -> None:
        super().__init__(model, prompts, max_tokens)
        self._prompts = prompts

    def statements(self, texts: Sequence[str]) -> list[StatementsOf]:
        """Return the statements of each text; without a usable reply ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """

        async def one(text: str) -> StatementsOf:
            if not text.strip():
                return StatementsOf(())
            messages = self._messages("statements", {}, text=enclose("source_text", text))
            # Twice the tokens of the text, at four characters a token.
            limit = len(text) // 2
            request = self._asking("quality_statements", *messages, StatementsShape, limit)
            return await self._items(request, _own(request, read_statements, said=tuple))

        return self._each(one, texts, "Taking answers apart")

    def verdicts(self, requests: Sequence[VerdictRequest]) -> list[VerdictsOf]:
        """Return the verdicts of each request; without one for every item ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """

        async def one(request: VerdictRequest) -> VerdictsOf:
            many = len(request.items)
            if not many:
                return VerdictsOf(())
            messages = self._messages(request.kind, {}, **_sections(request))
            shape = TernaryVerdictsShape if request.kind in _TERNARY else VerdictsShape
            chat = self._asking(f"quality_{request.kind}", *messages, shape, _TOKENS_PER_VERDICT * many)
            return await self._items(chat, _own(chat, lambda text: read_verdicts(text, many), said=_reasons))

        return self._each(one, requests, "Judging answers")

    def questions_for(self, answers: Sequence[str], count: int) -> list[GeneratedQuestions]:
        """Return ``count`` questions for each answer; without a usable reply ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """

        async def one(answer: str) -> GeneratedQuestions:
            shown = enclose("source_text", answer)
            messages = self._messages("questions", {"count": str(count)}, text=shown)
            request = self._asking("quality_questions", *messages, GeneratedShape)
            own = _own(request, lambda text: read_questions(text, count), said=_questions)
            try:
                asked = await ask(self._model, request, own, self._retry)
            except UnusableReply as lost:
                return GeneratedQuestions((), problem=lost.reason, usage=lost.usage)
            return GeneratedQuestions(*asked.value, usage=asked.usage)

        return self._each(one, answers, "Asking for what was answered")

    def _messages(self, task: str, told: dict[str, str], **data: str) -> tuple[str, str]:
        system = self._prompts.load(f"quality_{task}_system").render(**told)
        shown = "against_context" if task in _AGAINST_CONTEXT else task
        return system, self._prompts.load(f"quality_{shown}_user").render(**data)


def _own(
    request: ChatRequest, read: Callable[[str], tuple[T, bool]], said: Callable[[T], tuple[str, ...]]
) -> Callable[[str], tuple[T, bool]]:
    """Read what a reply says of itself: what it copies of the prompt's example is not usable."""
    system, user = request.messages
    example = WorkedExample.of(system.content)

    def own(text: str) -> tuple[T, bool]:
        value, repaired = read(text)
        example.refuse_copies(said(value), user.content)
        return value, repaired

    return own


def _reasons(verdicts: tuple[ItemVerdict, ...]) -> tuple[str, ...]:
    return tuple(one.reason for one in verdicts)


def _questions(made: tuple[tuple[str, ...], bool]) -> tuple[str, ...]:
    return made[0]


def _sections(request: VerdictRequest) -> dict[str, str]:
    """Return the data of the user's prompt of a kind of verdict."""
    numbered = "\n".join(
        # On one line, so that no item can pass for several.
        f"{number}. {' '.join(item.split()) or '(blank)'}"
        for number, item in enumerate(request.items, start=1)
    )
    question = enclose("question", request.question)
    if request.kind == "useful_node":
        reference = enclose("source_text", request.reference)
        return {"question": question, "reference": reference, "material": enclose("material", numbered)}
    statements = enclose("source_text", numbered)
    if request.kind == "relevant_to_question":
        return {"question": question, "statements": statements}
    return {"material": enclose("material", "\n\n".join(request.context)), "statements": statements}
