"""Merges the descriptions of one element with a model (paper §3.1.3; spec_graphrag §4)."""

import re
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, field_validator

from graphrag_dagster.kernel.models.chat.asker import Asker
from graphrag_dagster.kernel.models.chat.asking import UnusableReply, ask_typed
from graphrag_dagster.kernel.models.chat.loop import run_largest_first
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.schemas import DescriptionShape
from graphrag_dagster.kernel.tasks.ports import DescriptionGroup, MergedDescription, Usage
from graphrag_dagster.kernel.text.tokens import Tokenizer, get_tokenizer

_APOLOGY = re.compile(
    r"(?:I['’]?m sorry|I am sorry|sorry,|I apologi[sz]e|I can(?:no|['’])t\b|I am unable|as an AI\b)",
    re.IGNORECASE,
)


class _Description(BaseModel):
    description: str

    @field_validator("description")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("the description is empty")
        if _APOLOGY.match(text.strip()):
            raise ValueError("the description is an apology")
        return text.strip()


class LlmDescriptionMerger(Asker):
    """Asks a model for one description of each element that has several.

    Args:
        model: answers.
        prompts: ``summarize_descriptions_system``, ``summarize_descriptions_user`` and ``retry``.
        merge_above_tokens: distinct descriptions that together are no longer than this are joined as they
            are, without a call; 0 sends every element that has two.
        max_input_tokens: descriptions sent in one call; what does not fit is folded in by further calls.
        max_words: length asked for.
        max_output_tokens: longest reply.
        encoding: what tokens are counted by.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        merge_above_tokens: int = 0,
        max_input_tokens: int = 4000,
        max_words: int = 500,
        max_output_tokens: int = 1500,
        encoding: str = "cl100k_base",
    ) -> None:
        super().__init__(model, prompts, max_output_tokens)
        self._system = prompts.load("summarize_descriptions_system").render(max_words=str(max_words))
        self._user = prompts.load("summarize_descriptions_user")
        self._above = merge_above_tokens
        self._budget = max_input_tokens
        self._encoding = encoding

    def merge(self, groups: Sequence[DescriptionGroup]) -> list[MergedDescription]:
        """Return one description per group; one distinct description is kept word for word, without a call,
        and so are several that are short together.

        Where no reply could be used the descriptions are joined as they are, and ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        distinct = [_distinct(one) for one in groups]
        long = [place for place, texts in enumerate(distinct) if self._asks(texts)]
        merged = [MergedDescription(" ".join(texts), self.engine) for texts in distinct]
        made = run_largest_first(
            self._merge,
            [(groups[place].names, distinct[place]) for place in long],
            size=lambda task: sum(map(len, task[1])),
            name="Merging descriptions",
            calls=self._model.concurrency,
        )
        for place, one in zip(long, made, strict=True):
            merged[place] = one
        return merged

    async def _merge(self, task: tuple[Sequence[str], Sequence[str]]) -> MergedDescription:
        names, distinct = task
        usage, text = Usage(), ""
        try:
            for batch in self._batches(distinct):
                asked = await ask_typed(
                    self._model,
                    self._request(names, [text, *batch] if text else batch),
                    _Description,
                    self._retry,
                )
                usage += asked.usage
                text = asked.value.description
        except UnusableReply as lost:
            return MergedDescription(" ".join(distinct), "extractive", lost.reason, usage + lost.usage)
        return MergedDescription(text, self.engine, usage=usage)

    def first_requests(self, groups: Iterable[DescriptionGroup]) -> list[tuple[ChatRequest, int]]:
        """Return the first request about each element that is asked about, and how many calls follow it."""
        made = []
        for group in groups:
            if self._asks(distinct := _distinct(group)):
                first, *rest = self._batches(distinct)
                made.append((self._request(group.names, first), len(rest)))
        return made

    def _asks(self, distinct: Sequence[str]) -> bool:
        return len(distinct) > 1 and not self._short(distinct)

    def _short(self, descriptions: Sequence[str]) -> bool:
        if not self._above:
            return False
        return get_tokenizer(self._encoding).count(" ".join(descriptions)) <= self._above

    def _batches(self, descriptions: Sequence[str]) -> list[list[str]]:
        """Fill calls up to the budget; each after the first leaves room for the description so far."""
        tokenizer = get_tokenizer(self._encoding)
        most = max(self._budget - self._max_tokens, self._budget // 2, 1)
        batches: list[list[str]] = [[]]
        used = 0
        for piece, tokens in _pieces(descriptions, tokenizer, most):
            room = self._budget if len(batches) == 1 else most
            if batches[-1] and used + tokens > room:
                batches.append([])
                used = 0
            batches[-1].append(piece)
            used += tokens
        return batches

    def _request(self, names: Sequence[str], descriptions: Sequence[str]) -> ChatRequest:
        listed = "\n".join(f"- {' '.join(text.split())}" for text in descriptions)
        user = self._user.render(
            element=enclose("element", " / ".join(names)), descriptions=enclose("descriptions", listed)
        )
        return self._asking("summarize_descriptions", self._system, user, DescriptionShape)


def _distinct(group: DescriptionGroup) -> list[str]:
    return list(dict.fromkeys(text for text in group.descriptions if text.strip()))


def _pieces(descriptions: Sequence[str], tokenizer: Tokenizer, most: int) -> list[tuple[str, int]]:
    """Descriptions with their tokens; one longer than a call may hold comes in several pieces."""
    pieces = []
    for text, tokens in zip(descriptions, tokenizer.counts(descriptions), strict=True):
        if tokens <= most:
            pieces.append((text, tokens))
        else:
            windows = tokenizer.windows(text, most, 0)
            pieces += [(text[start:end], count) for start, end, count in windows]
    return pieces
