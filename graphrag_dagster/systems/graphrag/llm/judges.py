"""Judges of names and of support by a model, many cases in one call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape
from graphrag_dagster.kernel.tasks.answering_ports import Cited, Judged, SupportJudge, SupportOf
from graphrag_dagster.kernel.tasks.name_judging_ports import NamePair, Ruling
from graphrag_dagster.kernel.text.prompt_templates import enclose, one_line
from graphrag_dagster.systems.graphrag.llm.numbered_batches import (
    NumberedAsker,
    WordOn,
    batches_that_fit,
    ends_batch,
)

#: Most pairs in a call, and how many it has on average.
MOST_PAIRS, USUAL_PAIRS = 14, 8
#: Fewest pairs of a call that others follow, and after how many pairs from there on it ends on average.
_FEWEST, _ENDS = 6, 3
_LONGEST_NAME, _LONGEST_REASON = 200, 300

#: What a verdict on a pair may be.
Word: TypeAlias = Literal["same", "different", "unsure"]


class _NameVerdictShape(Shape):
    id: int
    # Before the verdict, so that a model gives the verdict with the reason before its eyes.
    reason: str
    verdict: Word


class NameVerdictsShape(Shape):
    """Verdicts on pairs of names as the endpoint is asked for them."""

    verdicts: list[_NameVerdictShape]


class LlmNameJudge(NumberedAsker[NamePair, Word]):
    """Asks a model whether names are one entity."""

    task = "judge_names"
    shape = NameVerdictsShape
    words: Mapping[str, Word] = MappingProxyType({word: word for word in get_args(Word)})

    def judge(self, pairs: Sequence[NamePair]) -> list[Ruling]:
        """Return one ruling for each pair, many calls at a time; unsure where no usable reply came.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        asked = list(batches(pairs))
        words, _ = self._ask_in_batches(asked, "Judging names")
        by_pair = dict(zip(chain.from_iterable(asked), map(_ruling, words), strict=True))
        return [by_pair[pair] for pair in pairs]

    def _shown(self, items: Sequence[NamePair]) -> dict[str, str]:
        lines = (line for number, one in enumerate(items, start=1) for line in _entry(number, one))
        return {"pairs": enclose("material", "\n".join(lines))}


def batches(pairs: Sequence[NamePair]) -> Iterator[list[NamePair]]:
    """Yield the pairs that are asked about in one call, at most 14, in the order of documents and names."""
    return batches_that_fit(
        sorted(pairs, key=_key),
        lambda batch: len(batch) <= MOST_PAIRS,
        lambda batch: len(batch) >= _FEWEST and ends_batch(_key(batch[-1]), _ENDS),
    )


def _key(pair: NamePair) -> str:
    return repr((pair.document or "", pair.one.name, pair.one.type, pair.other.name, pair.other.type))


def _ruling(said: WordOn[Word]) -> Ruling:
    if said.word is None:
        return Ruling("unsure", f"no usable reply of the model: {said.reason}", problem=True)
    reason = said.reason[:_LONGEST_REASON] or "a model gives no reason"
    told = f"a model cannot tell: {reason}" if said.word == "unsure" else reason
    return Ruling(said.word, told, repaired=said.repaired)


def _entry(number: int, pair: NamePair) -> Iterable[str]:
    """A pair and its sentences, each on one line, so that none can pass for another."""
    yield f"{number}. Two names of {'one document' if pair.document else 'different documents'}"
    for letter, of in (("A", pair.one), ("B", pair.other)):
        name = one_line(of.name)
        yield f"{number}. {letter}: {name[:_LONGEST_NAME]} ({one_line(of.type)[:_LONGEST_NAME]})"
        yield from (f"{number}. {letter} occurs in: {one_line(sentence)}" for sentence in of.sentences)


#: Most statements in a call, and most characters of them with their words.
_STATEMENTS, _CHARACTERS = 10, 12_000


class _SupportVerdictShape(Shape):
    id: int
    # Before the verdict, so that a model gives the verdict with the reason before its eyes.
    reason: str
    verdict: Literal["yes", "partly", "no"]


class SupportShape(Shape):
    """Verdicts on support as the endpoint is asked for them."""

    verdicts: list[_SupportVerdictShape]


class LlmSupportJudge(NumberedAsker[Cited, Verdict]):
    """Asks a model whether words support statements.

    Args:
        fallback: judges what the model gives no usable reply about.
    """

    task = "judge_support"
    shape = SupportShape
    words: Mapping[str, Verdict] = MappingProxyType({"yes": "supported", "partly": "partly", "no": "not"})

    def __init__(self, model: ChatModel, *, fallback: SupportJudge, max_tokens: int = 1000) -> None:
        super().__init__(model, max_tokens=max_tokens)
        self._fallback = fallback

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return whether the words support each statement; ``problem`` where the fallback had to say it.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        words, usage = self._ask_in_batches(batches_that_fit(statements, _fits), "Judging support")
        return Judged(tuple(map(self._support, statements, words)), usage)

    def _support(self, cited: Cited, said: WordOn[Verdict]) -> SupportOf:
        if said.word is None:
            (by_rule,) = self._fallback.judge([cited]).items
            return replace(by_rule, problem=f"support: {said.reason}")
        return SupportOf(said.word, None, "" if said.word == "supported" else said.reason)

    def _shown(self, items: Sequence[Cited]) -> dict[str, str]:
        shown = "\n".join(_statement_entry(number, one) for number, one in enumerate(items, start=1))
        return {"statements": enclose("source_text", shown)}


def _fits(statements: Sequence[Cited]) -> bool:
    characters = sum(len(one.statement) + sum(map(len, one.words)) for one in statements)
    return len(statements) <= _STATEMENTS and characters <= _CHARACTERS


def _statement_entry(number: int, cited: Cited) -> str:
    """A statement and its words, each on one line, so that none can pass for another."""
    lines = (f"{number}. Statement: {cited.statement}", *(f"{number}. Passage: {one}" for one in cited.words))
    return "\n".join(map(one_line, lines))
