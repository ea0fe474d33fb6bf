"""Judges support with a chat model, many statements in one call."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.models.chat.asking import UnusableReply, ask
from graphrag_dagster.kernel.models.chat.loop import run_in_order
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.schemas import Shape
from graphrag_dagster.kernel.models.chat.verdict_replies import read_words
from graphrag_dagster.kernel.tasks.answering import Cited, Judged, SupportJudge, SupportOf
from graphrag_dagster.kernel.tasks.ports import Usage
from graphrag_dagster.systems.graphrag.llm.extraction.examples import WorkedExample

#: Most statements in a call, and most characters of them with their words.
_STATEMENTS, _CHARACTERS = 10, 12_000
#: A record with an id, a verdict and a reason of fifteen words takes no more, line breaks included.
_TOKENS_PER_VERDICT = 64
_WORDS: Mapping[str, Verdict] = MappingProxyType(
    {
        **dict.fromkeys(("yes", "true", "supported", "fully", "fully supported"), "supported"),
        **dict.fromkeys(("partly", "partially", "partial", "partly supported"), "partly"),
        **dict.fromkeys(("no", "false", "not", "not supported", "unsupported", "contradicted"), "not"),
    }
)


class _VerdictShape(Shape):
    id: int
    # Before the verdict, so that a model gives the verdict with the reason before its eyes.
    reason: str
    verdict: Literal["yes", "partly", "no"]


class SupportShape(Shape):
    """Verdicts on support as the endpoint is asked for them."""

    verdicts: list[_VerdictShape]


class LlmSupportJudge:
    """Asks a model whether words support statements.

    Args:
        model: answers.
        prompts: ``judge_support_system``, ``judge_support_user`` and ``retry``.
        fallback: judges what the model gives no usable reply about.
        max_tokens: longest reply; more where a call has so many statements that the verdicts need it.
    """

    def __init__(
        self, model: ChatModel, prompts: PromptSource, *, fallback: SupportJudge, max_tokens: int = 1000
    ) -> None:
        self._model = model
        self._system = prompts.load("judge_support_system").render()
        self._user = prompts.load("judge_support_user")
        self._retry = prompts.load("retry")
        self._fallback = fallback
        self._max_tokens = max_tokens

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return whether the words support each statement; ``problem`` where the fallback had to say it.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        batches = list(_batches(statements))
        calls = self._model.concurrency
        made = list(
            run_in_order(self._judged, batches, name="Judging support", total=len(batches), calls=calls)
        )
        return Judged(
            tuple(item for one in made for item in one.items), sum((one.usage for one in made), Usage())
        )

    async def _judged(self, batch: Sequence[Cited]) -> Judged:
        many = len(batch)
        shown = "\n".join(_entry(number, one) for number, one in enumerate(batch, start=1))
        user = self._user.render(statements=enclose("source_text", shown))
        limit = max(self._max_tokens, _TOKENS_PER_VERDICT * many)
        messages = (Message("system", self._system), Message("user", user))
        request = ChatRequest("judge_support", messages, limit, SupportShape)
        example = WorkedExample.of(self._system)

        def read(text: str) -> tuple[tuple[tuple[Verdict, str], ...], bool]:
            found, repaired = read_words(text, many, _WORDS)
            example.refuse_copies(tuple(reason for _, reason in found), user)
            return found, repaired

        try:
            asked = await ask(self._model, request, read, self._retry)
        except UnusableReply as lost:
            by_rule = self._fallback.judge(batch).items
            items = (
                SupportOf(one.verdict, one.score, one.reason, f"support: {lost.reason}") for one in by_rule
            )
            return Judged(tuple(items), lost.usage)
        return Judged(
            tuple(
                SupportOf(verdict, None, "" if verdict == "supported" else reason)
                for verdict, reason in asked.value
            ),
            asked.usage,
        )


def _batches(statements: Sequence[Cited]) -> Iterator[list[Cited]]:
    batch: list[Cited] = []
    size = 0
    for one in statements:
        own = len(one.statement) + sum(map(len, one.words))
        if batch and (len(batch) == _STATEMENTS or size + own > _CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += own
    if batch:
        yield batch


def _entry(number: int, cited: Cited) -> str:
    """A statement and its words, each on one line, so that none can pass for another."""
    lines = (f"{number}. Statement: {cited.statement}", *(f"{number}. Passage: {one}" for one in cited.words))
    return "\n".join(" ".join(line.split()) for line in lines)
