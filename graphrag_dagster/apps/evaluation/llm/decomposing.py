"""Splits answers into claims with a model, in three steps for each sentence (spec_graphrag §10).

Selection keeps verifiable content, disambiguation makes the sentence stand alone, decomposition splits it;
after Claimify (Metropolitansky and Larson 2025). A sentence whose reply stays unusable has failed: it is
reported with the reason, and no other sentence is affected.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from pydantic import BaseModel

from graphrag_dagster.apps.evaluation.llm.claim_replies import (
    AtomicClaimsShape,
    DisambiguationShape,
    SelectionShape,
    read_claims,
    read_disambiguation,
    read_selection,
)
from graphrag_dagster.apps.evaluation.tasks import AnswerText, SentenceClaims, SentenceState
from graphrag_dagster.kernel.models.chat.asker import Asker
from graphrag_dagster.kernel.models.chat.asking import UnusableReply, ask
from graphrag_dagster.kernel.models.chat.loop import run_in_order
from graphrag_dagster.kernel.models.chat.port import ChatModel
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.questions.support.answer_sentences import AnswerSentence, answer_sentences
from graphrag_dagster.kernel.tasks.ports import Engine, Usage
from graphrag_dagster.systems.graphrag.llm.extraction.examples import WorkedExample

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Place:
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
        prompts: ``claims_select_system`` and ``_user``, ``claims_disambiguate_…``, ``claims_decompose_…`` and
            ``retry``.
        preceding: sentences before the one in question that each step sees.
        following: sentences after it that selection sees.
        max_tokens: longest reply.
    """

    engine: Engine = "llm"

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        preceding: int = 5,
        following: int = 5,
        max_tokens: int = 1000,
    ) -> None:
        self._model = model
        select, disambiguate, decompose = "claims_select", "claims_disambiguate", "claims_decompose"
        around = (preceding, following)
        before = (preceding, 0)
        self._select = _Step(model, prompts, select, around, SelectionShape, read_selection, max_tokens)
        self._disambiguate = _Step(
            model, prompts, disambiguate, before, DisambiguationShape, read_disambiguation, max_tokens
        )
        self._decompose = _Step(model, prompts, decompose, before, AtomicClaimsShape, read_claims, max_tokens)

    def decompose(self, answers: Sequence[AnswerText]) -> Iterator[tuple[SentenceClaims, ...]]:
        """Yield the claims of each answer's sentences, answers and sentences in their order.

        All sentences are asked about side by side, whatever answer they belong to.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        split = [answer_sentences(answer.text) for answer in answers]
        places = (
            _Place(answer.question, sentences, number)
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

    async def _claims(self, place: _Place) -> SentenceClaims:
        sentence = place.sentence.text
        if place.sentence.heading:
            return SentenceClaims(sentence, "not_verifiable", reason="a heading")
        account = _Account()
        try:
            selected = await self._select.of(place, sentence, account)
            if not selected.text:
                return account.closed(sentence, "not_verifiable", reason=selected.reason)
            clear = await self._disambiguate.of(place, selected.text, account)
            if not clear.text:
                return account.closed(sentence, "ambiguous", reason=clear.reason)
            claims = await self._decompose.of(place, clear.text, account)
        except UnusableReply as lost:
            return account.closed(sentence, "failed", reason=f"{account.step}: {lost.reason}")
        if not claims:
            return account.closed(sentence, "not_verifiable", reason="the model found no claim in it")
        if clear.text == sentence:
            return account.closed(sentence, "kept", claims)
        reasons = (step.reason for step in (selected, clear) if step.changed)
        return account.closed(sentence, "rewritten", claims, "; ".join(reasons))


class _Account:
    """Cost of a sentence so far, and its current step."""

    def __init__(self) -> None:
        self.step = ""
        self.usage = Usage()

    def closed(
        self, sentence: str, state: SentenceState, claims: tuple[str, ...] = (), reason: str | None = None
    ) -> SentenceClaims:
        return SentenceClaims(sentence, state, claims, reason, self.usage)


class _Step(Asker, Generic[T]):
    """One of the three questions about a sentence."""

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        name: str,
        context: tuple[int, int],
        shape: type[BaseModel],
        read: Callable[[str, str, WorkedExample], tuple[T, bool]],
        max_tokens: int,
    ) -> None:
        super().__init__(model, prompts, max_tokens)
        self._name = name
        self._system = prompts.load(f"{name}_system").render()
        self._user = prompts.load(f"{name}_user")
        self._example = WorkedExample.of(self._system)
        self._context = context
        self._shape = shape
        self._read = read

    async def of(self, place: _Place, sentence: str, account: _Account) -> T:
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
        request = self._asking(self._name, self._system, user, self._shape)
        try:
            asked = await ask(
                self._model, request, lambda text: self._read(text, sentence, self._example), self._retry
            )
        except UnusableReply as lost:
            account.usage += lost.usage
            raise
        account.usage += asked.usage
        return asked.value
