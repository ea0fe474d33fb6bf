"""Judges of names and of support by a model, many cases in one call."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest, Usage
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, read_some_words, read_words
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.answering_ports import Cited, Judged, SupportJudge, SupportOf
from graphrag_dagster.kernel.tasks.name_judging_ports import NameInText, NamePair, Ruling
from graphrag_dagster.kernel.text.prompt_templates import PromptSource, enclose
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

#: Most pairs in a call, and how many it has on average.
MOST_PAIRS, USUAL_PAIRS = 14, 8
#: Fewest pairs of a call that others follow, and after how many pairs from there on it ends on average.
_FEWEST, _ENDS = 6, 3
_LONGEST_NAME, _LONGEST_REASON = 200, 300
#: A record with an id, a verdict and a reason of fifteen words takes no more, line breaks included.
_TOKENS_PER_VERDICT = 64

#: What a verdict on a pair may be.
Word: TypeAlias = Literal["same", "different", "unsure"]
_WORDS: Mapping[str, Word] = MappingProxyType(
    {
        **dict.fromkeys(("same", "the same", "same entity", "yes", "true", "identical"), "same"),
        **dict.fromkeys(
            ("different", "not the same", "distinct", "different entities", "no", "false"), "different"
        ),
        **dict.fromkeys(
            ("unsure", "not sure", "uncertain", "unclear", "unknown", "cannot tell", "idk"), "unsure"
        ),
    }
)


class _NameVerdictShape(Shape):
    id: int
    # Before the verdict, so that a model gives the verdict with the reason before its eyes.
    reason: str
    verdict: Word


class NameVerdictsShape(Shape):
    """Verdicts on pairs of names as the endpoint is asked for them."""

    verdicts: list[_NameVerdictShape]


class LlmNameJudge(Asker):
    """Asks a model whether names are one entity.

    Args:
        max_tokens: longest reply; more where a call has so many pairs that the verdicts need it.
    """

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 2000) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("judge_names_system").render()
        self._user = prompts.load("judge_names_user")
        self._example = WorkedExample.of(self._system)

    def judge(self, pairs: Sequence[NamePair]) -> list[Ruling]:
        """Return one ruling for each pair, many calls at a time; unsure where no usable reply came.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        parts = list(batches(pairs))
        made = self._gather(
            self._rule_batch, [[pairs[place] for place in part] for part in parts], "Judging names"
        )
        by_place = {
            place: ruling
            for part, rulings in zip(parts, made, strict=True)
            for place, ruling in zip(part, rulings, strict=True)
        }
        return [by_place[place] for place in range(len(pairs))]

    def request(self, batch: Sequence[NamePair]) -> ChatRequest:
        """Return the request about a batch."""
        shown = "\n".join(line for number, one in enumerate(batch, start=1) for line in _entry(number, one))
        user = self._user.render(pairs=enclose("material", shown))
        least = _TOKENS_PER_VERDICT * len(batch)
        return self._task_request("judge_names", self._system, user, NameVerdictsShape, least)

    async def _rule_batch(self, batch: Sequence[NamePair]) -> list[Ruling]:
        def read(text: str, count: int, shown: str) -> tuple[dict[int, tuple[Word, str]], bool]:
            return read_some_words(
                text, count, _WORDS, "verdict", check=lambda said: self._example.refuse_copies(said, shown)
            )

        made = await self._numbered(batch, self.request, read)
        return [_no_ruling(one) if isinstance(one, str) else _ruling(*one) for one in made]


def batches(pairs: Sequence[NamePair]) -> Iterator[list[int]]:
    """Yield the places of the pairs that are asked about in one call, at most 14.

    They are in the order of documents and names, and where a batch ends is decided by a hash of the pair that
    it ends with: one pair more or less changes its own batch and perhaps the next, so that nearly all replies
    are found again.
    """
    keys = {
        place: repr((one.document or "", *_name(one.one), *_name(one.other)))
        for place, one in enumerate(pairs)
    }
    batch: list[int] = []
    for place in sorted(keys, key=lambda place: (keys[place], place)):
        batch.append(place)
        ends = hashlib.sha256(keys[place].encode("utf-8", "surrogatepass")).digest()[0] % _ENDS == 0
        if len(batch) == MOST_PAIRS or (ends and len(batch) >= _FEWEST):
            yield batch
            batch = []
    if batch:
        yield batch


def _ruling(verdict: tuple[Word, str], repaired: bool) -> Ruling:
    word, reason = verdict
    said = reason[:_LONGEST_REASON] or "a model gives no reason"
    return Ruling(word, f"a model cannot tell: {said}" if word == "unsure" else said, repaired=repaired)


def _no_ruling(problem: str) -> Ruling:
    return Ruling("unsure", f"no usable reply of the model: {problem}", problem=True)


def _name(of: NameInText) -> tuple[str, str]:
    return of.name, of.type


def _entry(number: int, pair: NamePair) -> Iterable[str]:
    """A pair and its sentences, each on one line, so that none can pass for another."""
    yield f"{number}. Two names of {'one document' if pair.document else 'different documents'}"
    for letter, of in (("A", pair.one), ("B", pair.other)):
        name = _line(of.name)
        yield f"{number}. {letter}: {name[:_LONGEST_NAME]} ({_line(of.type)[:_LONGEST_NAME]})"
        yield from (f"{number}. {letter} occurs in: {_line(sentence)}" for sentence in of.sentences)


def _line(text: str) -> str:
    return " ".join(text.split())


#: Most statements in a call, and most characters of them with their words.
_STATEMENTS, _CHARACTERS = 10, 12_000
_SUPPORT_WORDS: Mapping[str, Verdict] = MappingProxyType(
    {
        **dict.fromkeys(("yes", "true", "supported", "fully", "fully supported"), "supported"),
        **dict.fromkeys(("partly", "partially", "partial", "partly supported"), "partly"),
        **dict.fromkeys(("no", "false", "not", "not supported", "unsupported", "contradicted"), "not"),
    }
)


class _SupportVerdictShape(Shape):
    id: int
    # Before the verdict, so that a model gives the verdict with the reason before its eyes.
    reason: str
    verdict: Literal["yes", "partly", "no"]


class SupportShape(Shape):
    """Verdicts on support as the endpoint is asked for them."""

    verdicts: list[_SupportVerdictShape]


class LlmSupportJudge(Asker):
    """Asks a model whether words support statements.

    Args:
        fallback: judges what the model gives no usable reply about.
        max_tokens: longest reply; more where a call has so many statements that the verdicts need it.
    """

    def __init__(
        self, model: ChatModel, prompts: PromptSource, *, fallback: SupportJudge, max_tokens: int = 1000
    ) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("judge_support_system").render()
        self._user = prompts.load("judge_support_user")
        self._fallback = fallback

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return whether the words support each statement; ``problem`` where the fallback had to say it.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        made = self._gather(self._judge_batch, list(_statement_batches(statements)), "Judging support")
        return Judged(
            tuple(item for one in made for item in one.items), sum((one.usage for one in made), Usage())
        )

    async def _judge_batch(self, batch: Sequence[Cited]) -> Judged:
        many = len(batch)
        shown = "\n".join(_statement_entry(number, one) for number, one in enumerate(batch, start=1))
        user = self._user.render(statements=enclose("source_text", shown))
        least = _TOKENS_PER_VERDICT * many
        request = self._task_request("judge_support", self._system, user, SupportShape, least)
        example = WorkedExample.of(self._system)

        def read(text: str) -> tuple[tuple[tuple[Verdict, str], ...], bool]:
            found, repaired = read_words(text, many, _SUPPORT_WORDS)
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
        told = (SupportOf(word, None, "" if word == "supported" else why) for word, why in asked.value)
        return Judged(tuple(told), asked.usage)


def _statement_batches(statements: Sequence[Cited]) -> Iterator[list[Cited]]:
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


def _statement_entry(number: int, cited: Cited) -> str:
    """A statement and its words, each on one line, so that none can pass for another."""
    lines = (f"{number}. Statement: {cited.statement}", *(f"{number}. Passage: {one}" for one in cited.words))
    return "\n".join(" ".join(line.split()) for line in lines)
