"""Judges by a model whether answers from paths are correct (second paper B.4)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

from pydantic import field_validator

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, meaning_of, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask_typed
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose, one_line
from graphrag_dagster.systems.lego.tasks import BLANK, Checked, GivenAnswer

Word = Literal["yes", "no"]
_WORDS: Mapping[str, Word] = MappingProxyType(
    {
        **dict.fromkeys(("yes", "true", "correct", "right", "1"), "yes"),
        **dict.fromkeys(("no", "false", "incorrect", "not correct", "wrong", "0"), "no"),
    }
)


class CheckShape(Shape):
    """A verdict as the endpoint is asked for it: reason first, so that the verdict follows from it."""

    # A missing reason costs no second call.
    reason: str = or_named("reason", "explanation", "why", missing=str)
    verdict: Word = or_named("verdict", "judgement", "judgment", "answer", "label")

    @field_validator("verdict", mode="before")
    @classmethod
    def _meaning(cls, value: Any) -> Any:
        return meaning_of(value, _WORDS) or value


class LlmPathJudge(Asker):
    """Asks a model whether answers are correct, one call for each.

    Args:
        model: judges.
        max_tokens: longest reply.
        temperature: of the sampling; None is the model's own.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        max_tokens: int = 300,
        temperature: float | None = None,
    ) -> None:
        super().__init__(model, max_tokens)
        self._system = prompts.load("path_judge_system").render()
        self._user = prompts.load("path_judge_user")
        self._temperature = temperature

    def check(self, answers: Sequence[GivenAnswer]) -> Iterator[Checked]:
        """Yield the verdicts in the order of the answers, many calls at a time.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_in_order(
            self._check_answer,
            answers,
            name="Checking answers",
            total=len(answers),
            calls=self._model.concurrency,
        )

    def request(self, given: GivenAnswer) -> ChatRequest:
        """Return the request about an answer."""
        gold = "\n".join(f"- {one_line(one)}" for one in given.gold)
        user = self._user.render(
            question=enclose("question", given.question),
            gold=enclose("material", gold),
            answer=enclose("answer_1", given.answer),
        )
        asked = self._task_request("path_judge", self._system, user, CheckShape)
        return replace(asked, temperature=self._temperature)

    async def _check_answer(self, given: GivenAnswer) -> Checked:
        if not given.answer.strip():
            return BLANK
        try:
            asked = await ask_typed(self._model, self.request(given), CheckShape, self._retry)
        except UnusableReply as lost:
            return Checked(None, lost.reason, lost.usage)
        return Checked(asked.value.verdict == "yes", usage=asked.usage)
