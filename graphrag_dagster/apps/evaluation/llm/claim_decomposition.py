"""Splits answers into claims with a model, in three steps for each sentence (GraphRAG paper §3.3.2).

Selection keeps verifiable content, disambiguation makes the sentence stand alone, decomposition splits it;
after Claimify (Metropolitansky and Larson 2025). A sentence whose reply stays unusable has failed: it is
reported with the reason, and no other sentence is affected.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator

from graphrag_dagster.apps.evaluation.tasks import AnswerText, SentenceClaims, SentenceState
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, Usage
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import Line, Shape, or_named, plain_word
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.task_ports import Engine
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose
from graphrag_dagster.kernel.text.statement_reading import (
    AnswerSentence,
    answer_sentences,
    without_citations,
)
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

#: What a verdict means: the sentence stays the same, is replaced by a new one, or nothing is left of it.
_MEANINGS: Mapping[str, Literal["same", "new", "none"]] = MappingProxyType(
    {
        "keep": "same",
        "rewrite": "new",
        "drop": "none",
        "clear": "same",
        "resolved": "new",
        "ambiguous": "none",
    }
)
_MOST_REASON = 300


class SelectionShape(Shape):
    """The reply to selection as the endpoint is asked for it; the reason first, so that it comes first."""

    reason: Line = or_named("reason", missing=str)
    verdict: Annotated[Literal["keep", "rewrite", "drop"], BeforeValidator(plain_word)]
    sentence: Line = or_named("sentence", missing=str)


class DisambiguationShape(Shape):
    """The reply to disambiguation as the endpoint is asked for it."""

    reason: Line = or_named("reason", missing=str)
    verdict: Annotated[Literal["clear", "resolved", "ambiguous"], BeforeValidator(plain_word)]
    sentence: Line = or_named("sentence", missing=str)


class AtomicClaimsShape(Shape):
    """The reply to decomposition as the endpoint is asked for it."""

    claims: list[Line]


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """Result of a step on a sentence: ``text``, empty if nothing is left, and why; ``changed``: reworded."""

    text: str
    reason: str
    changed: bool = False


def _read_claims(text: str, sentence: str, example: WorkedExample) -> tuple[tuple[str, ...], bool]:
    """The claims without citations, each once, and whether the reply was repaired.

    Raises:
        NotUsable: they are no texts, or one is the example's.
    """
    reply, repaired = read_typed(text, AtomicClaimsShape)
    tidied = [" ".join(without_citations(one).split()) for one in reply.claims]
    claims = tuple({_fold(one): one for one in reversed(tidied) if one}.values())[::-1]
    example.refuse_copies(claims, sentence)
    return claims, repaired


def _read_verdict(
    text: str,
    sentence: str,
    example: WorkedExample,
    shape: type[SelectionShape | DisambiguationShape],
) -> tuple[SentenceVerdict, bool]:
    """What a step left of a sentence, and whether the reply was repaired.

    Raises:
        NotUsable: no verdict of those asked for, a rewritten sentence is missing or the example's.
    """
    reply, repaired = read_typed(text, shape)
    reason, meaning = reply.reason[:_MOST_REASON], _MEANINGS[reply.verdict]
    if meaning == "none":
        return SentenceVerdict("", reason or reply.verdict), repaired
    if meaning == "same" or reply.sentence == sentence:
        return SentenceVerdict(sentence, reason), repaired
    if not reply.sentence:
        raise NotUsable(f'the verdict is {reply.verdict!r}, but the "sentence" is empty')
    example.refuse_copies([reply.sentence], sentence)
    return SentenceVerdict(reply.sentence, reason or reply.verdict, changed=True), repaired


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _SentencePlace:
    """A sentence where it stands."""

    question: str
    sentences: tuple[AnswerSentence, ...]
    number: int

    @property
    def sentence(self) -> AnswerSentence:
        return self.sentences[self.number]

    def passage(self, preceding: int, following: int) -> str:
        """The sentence among its neighbours, one a line."""
        around = self.sentences[max(0, self.number - preceding) : self.number + 1 + following]
        return "\n".join(one.text for one in around)


class LlmClaimDecomposer:
    """Asks a model for the claims of answers, one to three calls for each sentence; headings cost none.

    Args:
        model: answers.
        preceding: sentences before the one in question that each step sees.
        following: sentences after it that selection sees.
        max_tokens: longest reply.
    """

    engine: Engine = "llm"

    def __init__(
        self,
        model: ChatModel,
        *,
        preceding: int = 5,
        following: int = 5,
        max_tokens: int = 1000,
    ) -> None:
        self._model = model
        select, disambiguate, decompose = "claims_select", "claims_disambiguate", "claims_decompose"
        around = (preceding, following)
        before = (preceding, 0)
        selection = partial(_read_verdict, shape=SelectionShape)
        self._select = _Step(model, select, around, SelectionShape, selection, max_tokens)
        clarity = partial(_read_verdict, shape=DisambiguationShape)
        self._disambiguate = _Step(model, disambiguate, before, DisambiguationShape, clarity, max_tokens)
        self._decompose = _Step(model, decompose, before, AtomicClaimsShape, _read_claims, max_tokens)

    def decompose(self, answers: Sequence[AnswerText]) -> Iterator[tuple[SentenceClaims, ...]]:
        """Yield the claims of each answer's sentences, answers and sentences in their order.

        All sentences are asked about side by side, whatever answer they belong to.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        split = [answer_sentences(answer.text) for answer in answers]
        places = (
            _SentencePlace(answer.question, sentences, number)
            for answer, sentences in zip(answers, split, strict=True)
            for number in range(len(sentences))
        )
        total = sum(map(len, split))
        calls = self._model.concurrency
        made = run_in_order(self._claims, places, name="Extracting claims", total=total, calls=calls)
        for sentences in split:
            yield tuple(islice(made, len(sentences)))
        # Taken to its end, so that its stage ends too.
        next(made, None)

    async def _claims(self, place: _SentencePlace) -> SentenceClaims:
        sentence = place.sentence.text
        if place.sentence.heading:
            return SentenceClaims(sentence, "not_verifiable", reason="a heading")
        account = _Account()
        try:
            selected = await self._select.of(place, sentence, account)
            if not selected.text:
                return account.close(sentence, "not_verifiable", reason=selected.reason)
            clear = await self._disambiguate.of(place, selected.text, account)
            if not clear.text:
                return account.close(sentence, "ambiguous", reason=clear.reason)
            claims = await self._decompose.of(place, clear.text, account)
        except UnusableReply as lost:
            return account.close(sentence, "failed", reason=f"{account.step}: {lost.reason}")
        if not claims:
            return account.close(sentence, "not_verifiable", reason="the model found no claim in it")
        if clear.text == sentence:
            return account.close(sentence, "kept", claims)
        reasons = (step.reason for step in (selected, clear) if step.changed)
        return account.close(sentence, "rewritten", claims, "; ".join(reasons))


class _Account:
    """Cost of a sentence so far, and its current step."""

    def __init__(self) -> None:
        self.step = ""
        self.usage = Usage()

    def close(
        self, sentence: str, state: SentenceState, claims: tuple[str, ...] = (), reason: str | None = None
    ) -> SentenceClaims:
        return SentenceClaims(sentence, state, claims, reason, self.usage)


class _Step(Asker, Generic[T]):
    """One of the three questions about a sentence."""

    def __init__(
        self,
        model: ChatModel,
        name: str,
        context: tuple[int, int],
        shape: type[BaseModel],
        read: Callable[[str, str, WorkedExample], tuple[T, bool]],
        max_tokens: int,
    ) -> None:
        super().__init__(model, max_tokens)
        self._name = name
        self._system = prompts.load(f"{name}_system").render()
        self._user = prompts.load(f"{name}_user")
        self._example = WorkedExample.of(self._system)
        self._context = context
        self._shape = shape
        self._read = read

    async def of(self, place: _SentencePlace, sentence: str, account: _Account) -> T:
        """Ask about a sentence in the words that the step before left of it.

        Raises:
            UnusableReply: no reply could be read, or a call failed.
            EndpointError: the endpoint cannot be used at all.
        """
        account.step = self._name.replace("_", " ")
        user = self._user.render(
            question=enclose("question", place.question),
            passage=enclose("material", place.passage(*self._context)),
            sentence=enclose("element", sentence),
        )
        request = self._task_request(self._name, self._system, user, self._shape)
        try:
            asked = await ask(
                self._model, request, lambda text: self._read(text, sentence, self._example), self._retry
            )
        except UnusableReply as lost:
            account.usage += lost.usage
            raise
        account.usage += asked.usage
        return asked.value
