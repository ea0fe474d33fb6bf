"""Judges answers with a model: in pairs, or against their context (paper §3.3, Appendix F)."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from graphrag_dagster.apps.evaluation.llm.quality_replies import (
    GeneratedShape,
    StatementsShape,
    TernaryVerdictsShape,
    VerdictsShape,
    read_questions,
    read_statements,
    read_verdicts,
)
from graphrag_dagster.apps.evaluation.tasks import (
    CRITERIA,
    IDENTICAL,
    AnswerPair,
    GeneratedQuestions,
    ItemVerdict,
    StatementsOf,
    Verdict,
    VerdictRequest,
    VerdictsOf,
    Winner,
)
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import AnyNumber, Shape, or_named, plain_word
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

_REASONS = ("reason", "reasoning", "explanation", "rationale")
_WINNING = ("winner", "verdict", "better_answer", "better", "choice")
_WINNERS: dict[str, Winner] = {
    **dict.fromkeys(("0", "tie", "draw", "equal", "neither", "both"), 0),
    **dict.fromkeys(("1", "a", "one", "first"), 1),
    **dict.fromkeys(("2", "b", "two", "second"), 2),
}


class VerdictShape(Shape):
    """A verdict as the endpoint is asked for it: reason first, so that the winner follows from it."""

    # A missing reason costs no second call.
    reason: str = or_named(*_REASONS, missing=str)
    # No enumeration: not every endpoint takes one of numbers, and what is read is checked anyway.
    winner: AnyNumber = or_named(*_WINNING, missing=type(None))


class PlainVerdictShape(Shape):
    """A verdict as the plain judge is asked for it: winner first, as in Appendix F.1."""

    winner: AnyNumber = or_named(*_WINNING, missing=type(None))
    reasoning: str = or_named("reasoning", *_REASONS, missing=str)


def read_winner(value: object) -> Winner | None:
    """Return the winner that a value names; None where it names none."""
    return _WINNERS.get(re.sub(r"^answer[ _-]*|\.0$", "", plain_word(value)))


class LlmAnswerJudge(Asker):
    """Asks a model which of two answers is better, one call for each comparison.

    The judge that reasons has what all calls share first in its prompt and the criterion last, so that the
    calls on the same two answers have everything up to it in common, which providers bill at a lower price.

    Args:
        model: judges.
        plain: name the winner first and have no rules on length and style, as in Appendix F.1.
        max_tokens: longest reply.
        temperature: of the sampling; None is the model's own.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        plain: bool = False,
        max_tokens: int = 800,
        temperature: float | None = None,
    ) -> None:
        super().__init__(model, max_tokens)
        name = "judge_plain" if plain else "judge"
        self._system = prompts.load(f"{name}_system").render()
        self._user = prompts.load(f"{name}_user")
        self._shape: type[VerdictShape | PlainVerdictShape] = PlainVerdictShape if plain else VerdictShape
        self._criteria = {one: prompts.load(f"judge_criterion_{one}").render() for one in CRITERIA}
        self._temperature = temperature
        self._first: dict[AnswerPair, asyncio.Future[str | None]] = {}

    def judge(self, comparisons: Sequence[AnswerPair]) -> Iterator[Verdict]:
        """Yield the verdicts in the order of the comparisons, many calls at a time.

        A comparison without a usable reply is a tie whose ``problem`` says why, and its further replicates
        are not asked; one of identical answers is a tie without a call.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        self._first.clear()
        return run_in_order(
            self._verdict,
            comparisons,
            name="Judging answers",
            total=len(comparisons),
            calls=self._model.concurrency,
        )

    async def _verdict(self, comparison: AnswerPair) -> Verdict:
        if comparison.identical:
            return IDENTICAL
        prompt = replace(comparison, replicate=0)
        if (first := self._first.get(prompt)) is not None:
            # A prompt that got no usable reply will not get one as another replicate.
            problem = await asyncio.shield(first)
            return Verdict(0, "", problem) if problem else await self._judged(comparison)
        first = self._first[prompt] = asyncio.get_running_loop().create_future()
        problem = None
        try:
            verdict = await self._judged(comparison)
            problem = verdict.problem
        finally:
            first.set_result(problem)
        return verdict

    async def _judged(self, comparison: AnswerPair) -> Verdict:
        try:
            asked = await ask(
                self._model, self._request(comparison), lambda text: _read(text, self._shape), self._retry
            )
        except UnusableReply as lost:
            return Verdict(0, "", lost.reason, lost.usage)
        winner, reason = asked.value
        return Verdict(winner, reason, usage=asked.usage)

    def _request(self, comparison: AnswerPair) -> ChatRequest:
        user = self._user.render(
            question=enclose("question", comparison.question),
            answer_1=enclose("answer_1", comparison.answer_1),
            answer_2=enclose("answer_2", comparison.answer_2),
            criterion=self._criteria[comparison.criterion],
        )
        request = self._task_request("judge_answers", self._system, user, self._shape)
        return replace(request, temperature=self._temperature, replicate=comparison.replicate)


def _read(text: str, shape: type[VerdictShape | PlainVerdictShape]) -> tuple[tuple[Winner, str], bool]:
    reply, repaired = read_typed(text, shape)
    winner = read_winner(reply.winner)
    if winner is None:
        raise NotUsable('its "winner" is not one of the numbers 1, 2 and 0')
    reason = reply.reason if isinstance(reply, VerdictShape) else reply.reasoning
    return (winner, reason.strip()), repaired


T = TypeVar("T")
R = TypeVar("R")

_TERNARY = frozenset({"relevant_to_question", "true_to_context"})
_AGAINST_CONTEXT = frozenset({"true_to_context", "attributable_to_context"})
#: A record with an id, a verdict and a reason of fifteen words takes no more, line breaks included.
_TOKENS_PER_VERDICT = 64


class LlmQualityJudge(Asker):
    """Asks a model for statements, verdicts and questions.

    Each of its methods raises EndpointError where the endpoint cannot be used at all.

    Args:
        model: answers.
        max_tokens: longest reply; more where a text is so long, or a request has so many items, that the
            reply needs it.
    """

    def __init__(self, model: ChatModel, *, max_tokens: int = 2000) -> None:
        super().__init__(model, max_tokens)
        self._prompts = prompts

    def statements(self, texts: Sequence[str]) -> list[StatementsOf]:
        """Return the statements of each text; without a usable reply ``problem`` says why."""

        async def one(text: str) -> StatementsOf:
            if not text.strip():
                return StatementsOf(())
            messages = self._messages("statements", {}, text=enclose("source_text", text))
            # Twice the tokens of the text, at four characters a token.
            limit = len(text) // 2
            request = self._task_request("quality_statements", *messages, StatementsShape, limit)
            return await self._items(request, _without_copies(request, read_statements, said=tuple))

        return self._gather(one, texts, "Taking answers apart")

    def verdicts(self, requests: Sequence[VerdictRequest]) -> list[VerdictsOf]:
        """Return the verdicts of each request; without one for every item ``problem`` says why."""

        async def one(request: VerdictRequest) -> VerdictsOf:
            many = len(request.items)
            if not many:
                return VerdictsOf(())
            messages = self._messages(request.kind, {}, **_sections(request))
            shape = TernaryVerdictsShape if request.kind in _TERNARY else VerdictsShape
            chat = self._task_request(f"quality_{request.kind}", *messages, shape, _TOKENS_PER_VERDICT * many)
            return await self._items(
                chat, _without_copies(chat, lambda text: read_verdicts(text, many), said=_reasons)
            )

        return self._gather(one, requests, "Judging answers")

    def questions_for(self, answers: Sequence[str], count: int) -> list[GeneratedQuestions]:
        """Return ``count`` questions for each answer; without a usable reply ``problem`` says why."""

        async def one(answer: str) -> GeneratedQuestions:
            shown = enclose("source_text", answer)
            messages = self._messages("questions", {"count": str(count)}, text=shown)
            request = self._task_request("quality_questions", *messages, GeneratedShape)
            own = _without_copies(request, lambda text: read_questions(text, count), said=_questions)
            try:
                asked = await ask(self._model, request, own, self._retry)
            except UnusableReply as lost:
                return GeneratedQuestions((), problem=lost.reason, usage=lost.usage)
            return GeneratedQuestions(*asked.value, usage=asked.usage)

        return self._gather(one, answers, "Asking for what was answered")

    def _gather(self, work: Callable[[T], Coroutine[Any, Any, R]], items: Sequence[T], stage: str) -> list[R]:
        """Ask each prompt once, also where no reply to it can be used."""
        distinct = list(dict.fromkeys(items))
        found = dict(zip(distinct, super()._gather(work, distinct, stage), strict=True))
        return [found[item] for item in items]

    def _messages(self, task: str, told: dict[str, str], **data: str) -> tuple[str, str]:
        system = self._prompts.load(f"quality_{task}_system").render(**told)
        shown = "against_context" if task in _AGAINST_CONTEXT else task
        return system, self._prompts.load(f"quality_{shown}_user").render(**data)


def _without_copies(
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
