"""Judging two answers (paper §3.3, Appendix F), by a model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, model_validator

from graphrag_dagster.apps.evaluation.tasks import (
    CRITERIA,
    IDENTICAL,
    Comparison,
    Verdict,
    Winner,
)
from graphrag_dagster.kernel.models.chat.asker import Asker
from graphrag_dagster.kernel.models.chat.asking import UnusableReply, ask
from graphrag_dagster.kernel.models.chat.loop import run_in_order
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.replies import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.schemas import Shape

_NAMES = {
    "reason": ("reason", "reasoning", "explanation", "rationale"),
    "winner": ("winner", "verdict", "better_answer", "better", "choice"),
}
_NUMBER = re.compile(r"(?:(?<!\w)-)?\d+(?:\.\d+)?")
_SIDE = re.compile(
    r"(?:the )?(?:answer|response|option)?[ _:#-]*(?:(?P<one>a|one|first)|(?P<two>b|two|second))"
    r"(?: (?:answer|response|option|one))?"
)
_TIE = re.compile(r"\b(?:tied?|draw|equal|neither|none|both|no winner)\b")
_WINNERS: dict[float, Winner] = {0.0: 0, 1.0: 1, 2.0: 2}


class VerdictShape(Shape):
    """A verdict as the endpoint is asked for it: reason first, so that the winner follows from it."""

    reason: str
    # No enumeration: not every endpoint takes one of numbers, and what is read is checked anyway.
    winner: int


class _Judged(BaseModel):
    """A verdict as it is read; a missing reason costs no second call."""

    reason: str
    winner: Any

    @model_validator(mode="before")
    @classmethod
    def _named_alike(cls, value: Any) -> Any:
        one = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(one, dict):
            return one
        lower = {str(key).strip().lower().replace(" ", "_"): item for key, item in one.items()}
        read = {
            field: next((lower[name] for name in names if lower.get(name) is not None), None)
            for field, names in _NAMES.items()
        }
        return {"reason": str(read["reason"] or "").strip(), "winner": read["winner"]}


def read_winner(value: object) -> Winner | None:
    """Return the winner that a value names, however it is written; None where it names none or several."""
    if isinstance(value, bool | None):
        return None
    text = " ".join(str(value).lower().split()).strip("\"'*.!()[] ")
    if numbers := {float(number) for number in _NUMBER.findall(text)}:
        return _WINNERS.get(numbers.pop()) if len(numbers) == 1 else None
    if side := _SIDE.fullmatch(text):
        return 1 if side["one"] else 2
    return 0 if _TIE.search(text) else None


class LlmAnswerJudge(Asker):
    """Asks a model which of two answers is better, one call for each comparison.

    What all calls share comes first in the prompt and the criterion last, so that the calls on the same two
    answers have everything up to it in common, which providers bill at a lower price.

    Args:
        model: judges.
        prompts: ``judge_system``, ``judge_user``, a ``judge_criterion_…`` for each criterion, and ``retry``.
        max_tokens: longest reply.
        temperature: of the sampling; None is the model's own.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        max_tokens: int = 800,
        temperature: float | None = None,
    ) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("judge_system").render()
        self._user = prompts.load("judge_user")
        self._criteria = {one: prompts.load(f"judge_criterion_{one}").render() for one in CRITERIA}
        self._temperature = temperature

    def judge(self, comparisons: Sequence[Comparison]) -> Iterator[Verdict]:
        """Yield the verdicts in the order of the comparisons, many calls at a time.

        A comparison without a usable reply is a tie whose ``problem`` says why; one of identical answers is
        a tie without a call.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_in_order(
            self._verdict,
            comparisons,
            name="Judging answers",
            total=len(comparisons),
            calls=self._model.concurrency,
        )

    async def _verdict(self, comparison: Comparison) -> Verdict:
        if comparison.identical:
            return IDENTICAL
        try:
            asked = await ask(self._model, self._request(comparison), _read, self._retry)
        except UnusableReply as lost:
            return Verdict(0, "", lost.reason, lost.usage)
        winner, reason = asked.value
        return Verdict(winner, reason, usage=asked.usage)

    def _request(self, comparison: Comparison) -> ChatRequest:
        user = self._user.render(
            question=enclose("question", comparison.question),
            answer_1=enclose("answer_1", comparison.answer_1),
            answer_2=enclose("answer_2", comparison.answer_2),
            criterion=self._criteria[comparison.criterion],
        )
        request = self._asking("judge_answers", self._system, user, VerdictShape)
        return replace(request, temperature=self._temperature, replicate=comparison.replicate)


def _read(text: str) -> tuple[tuple[Winner, str], bool]:
    reply, repaired = read_typed(text, _Judged)
    winner = read_winner(reply.winner)
    if winner is None:
        raise NotUsable('its "winner" is not one of the numbers 1, 2 and 0')
    return (winner, reply.reason), repaired
