"""Rerankers of the first text units found: by words, or by a cross-encoder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphrag_dagster.errors import EngineError, GraphragError
from graphrag_dagster.kernel.catalogue.engines import CROSS_ENCODER
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.common.stable_values import Scores, comparable
from graphrag_dagster.kernel.models.local_models import LocalModel
from graphrag_dagster.kernel.retrieval.ranking import first_places
from graphrag_dagster.kernel.retrieval.search_words import sentence_starts
from graphrag_dagster.kernel.retrieval.sentence_relevance import (
    FEATURES,
    AskedWords,
    answer_features,
    asked_words,
)
from graphrag_dagster.kernel.retrieval.sentence_weights import UNIT_WEIGHTS
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine, SpokenTurn, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from graphrag_dagster.kernel.models.probing.capability_probes import ProbeFinding
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


@dataclass(frozen=True, slots=True)
class Sought:
    """What text units are looked for by.

    Attributes:
        question: with those before it in the conversation, each on a line of its own, the one asked last.
        length: how little of its document a text unit of the corpus is, 0 (all of it) to 1, on average.
        followed: whether the units were found by following the question over the graph, rather than as it
            was asked to find them, by words or vectors.
    """

    question: str
    length: float = 1.0
    followed: bool = True


class Reranker(Protocol):
    """Says how well texts fit a question; what it says depends on the question and the text alone."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a score: kind, model and version."""

    def counts(self, sought: Sought) -> float:
        """Return how much the order by the scores counts against that in which the texts were found.

        1: as much; 0: not at all, and no scores are asked for.
        """

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one finite score per text [n], higher is better; of any scale.

        Args:
            sought: the question.
            texts: of text units, each below the title of its document, in the order in which they were found.
        """


#: Of reciprocal rank fusion (Cormack et al. 2009, who take 60): the smaller, the more the first ones count.
_SMOOTHING = 10


@dataclass(frozen=True, slots=True)
class Moved:
    """A text unit that was put elsewhere; ranks count from 1."""

    text_unit_id: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a reranker did to the first text units that were found.

    Attributes:
        question: that they were found by.
        reranker: its name, which tells kind, model and version.
        units: how many it looked at.
        moved: those that it put elsewhere, in their new order.
    """

    question: str
    reranker: str
    units: int
    moved: tuple[Moved, ...] = ()


def reordered(
    found: Sequence[str], texts: Callable[[str], str], sought: Sought, reranker: Reranker, first: int
) -> tuple[list[str], Reranked]:
    """Return all text units, the first of them in a new order, and what moved.

    The order that they were found in and that of the reranker's scores are made one by reciprocal rank
    fusion, in which the latter counts as much as the reranker says. Equal scores have the same rank, so that
    a reranker that tells nothing apart moves nothing. Units beyond the first stay where they are.

    Args:
        found: ids of text units, best first.
        texts: gives the text of a unit.
        sought: what they were found by.
        reranker: scores the first of them.
        first: how many these are, at most.

    Raises:
        EngineError: it gave something else than one finite score for each.
    """
    head = list(found[:first])
    scores = np.asarray(reranker.scores(sought, [texts(one) for one in head]), dtype=np.float64)
    if scores.shape != (len(head),) or not np.isfinite(scores).all():
        raise EngineError(
            f"the reranker {reranker.name} gave no finite score for each of {counted(len(head), 'text unit')}"
        )
    rounded = comparable(scores)
    better = np.searchsorted(np.sort(-rounded), -rounded, side="left")
    fused = 1 / (_SMOOTHING + np.arange(len(head))) + reranker.counts(sought) / (_SMOOTHING + better)
    order = first_places(fused).tolist()
    moved = tuple(
        Moved(head[before], before + 1, after) for after, before in enumerate(order, 1) if before + 1 != after
    )
    made = Reranked(sought.question, reranker.name, len(head), moved)
    return [*(head[place] for place in order), *found[first:]], made


_WEIGHTS = np.array([UNIT_WEIGHTS[name] for name in FEATURES])
_LONGEST_TITLE = 200
#: How much the order counts against that in which units of long documents were found.
_COUNTS = 2.0


class LexicalReranker:
    """Scores a text by its sentences: what of the question each holds, and what stands around it.

    The score is the logarithm of the sum of the likelihoods of its sentences. It tells where in long
    documents an answer stands; of texts that are documents of their own, which lead from one to another, it
    knows less than the order in which they were found, and does not count. Nor does it where units were
    found as somebody chose, by words or by vectors.
    """

    name = "lexical"

    def counts(self, sought: Sought) -> float:
        """How much the order by the scores counts against that in which the texts were found."""
        return _COUNTS * sought.length if sought.followed and asked_words(sought.question) else 0.0

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one score per text; zeros for a question without words."""
        apart = [_taken_apart(text) for text in texts]
        lines = [
            SentenceLine(one.text, one.place, one.size, row, one.title)
            for row, (own, _) in enumerate(apart)
            for one in own
        ]
        if not lines or not asked_words(sought.question):
            return np.zeros(len(texts))
        said_by = [turn for _, own in apart for turn in own]
        likely = unit_features(sought.question, lines, said_by) @ _WEIGHTS
        highest = likely.max()
        sums = np.zeros(len(texts))
        np.add.at(sums, [line.row for line in lines], np.exp(likely - highest))
        return comparable(np.log(sums) + highest)


def unit_features(question: str, lines: Sequence[SentenceLine], said_by: Sequence[SpokenTurn]) -> Scores:
    """Return what speaks for sentences by their words alone, a column for each of ``FEATURES``.

    Args:
        question: which has words to look for.
        lines: the sentences, at least one, which also are the background for what is rare.
        said_by: who says each.
    """
    asked = AskedWords.of(question)
    same, near = asked.found_in([turn.stems for turn in said_by])
    weight = np.log1p(len(lines) / (1 + same.sum(axis=0)))
    return answer_features(asked, lines, said_by, same.astype(np.float64), weight, same, near)


@lru_cache(maxsize=2048)
def _taken_apart(text: str) -> tuple[tuple[SentenceLine, ...], tuple[SpokenTurn, ...]]:
    """The sentences of a text as those of row 0, and who says them; its first line may be a title."""
    first = text.partition("\n")[0]
    title = first if len(first) <= _LONGEST_TITLE else ""
    spans = list(pairwise([*sentence_starts(text), len(text)]))
    lines = tuple(
        SentenceLine(text[start:end].strip(), place, len(spans), 0, title)
        for place, (start, end) in enumerate(spans)
    )
    return lines, tuple(turns(lines))


_QUESTION = Sought("Who dredged the harbour?")
_TEXTS = ("Bread is baked at night.", "The harbour was dredged by Selma Dray.")


def none(_session: TaskProvider) -> None:
    """Nobody: text units stay as they are ranked."""


def lexical(_session: TaskProvider) -> Reranker:
    """The words of sentences, and what stands around them."""
    return LexicalReranker()


def cross_encoder(session: TaskProvider) -> Reranker:
    """A cross-encoder of sentence-transformers on this machine."""
    return shared_cross_encoder(session.settings.search.reranker_model or CROSS_ENCODER)


def examined(make: Callable[[], Reranker | None]) -> list[ProbeFinding]:
    """Return whether what reranks can be loaded and scores texts; nothing where nobody reranks."""
    from graphrag_dagster.kernel.models.probing.capability_probes import ProbeFinding
    from graphrag_dagster.kernel.models.probing.doctor import RERANKER

    try:
        reranker = make()
        if reranker is None:
            return []
        reordered(_TEXTS, str, _QUESTION, reranker, len(_TEXTS))
        return [ProbeFinding(RERANKER, "works", f"{reranker.name}: a score for each text")]
    except GraphragError as error:
        mend = "mend it, or set search.reranker to lexical or none, which need no model"
        return [ProbeFinding(RERANKER, "fails", str(error), mend)]


_MEND = (
    "give a folder with a cross-encoder for reranking, or the name of one on the hub, which gives one number "
    "for a question and a text"
)
#: Most of what the model reads that a question may take.
_OF_THE_QUESTION = 0.5


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers on the CPU that gives one number for question and text.

    A text that is longer than the model reads is cut into windows, of which the best counts; of a question
    that takes more than half of that, the end is read. Each pair is a batch of its own, so that a score
    depends on the pair alone.

    Args:
        model: a folder, or the name of a model of the hub, which is fetched on first use.
        wanted_by: the setting that needs it, as errors have it.
        named_by: the setting that names it, as errors have it.
    """

    def __init__(
        self,
        model: str,
        wanted_by: str = "search.reranker is cross-encoder",
        named_by: str = "search.reranker_model",
    ) -> None:
        self.model = model
        self._local = LocalModel(model, wanted_by, named_by, _MEND)

    @cached_property
    def name(self) -> str:
        """``cross-encoder/<model>@<version>``, the version as that of a sentence-transformers embedder.

        Raises:
            EngineError: the extra is not installed, or the folder holds no model.
        """
        place = Path(self.model)
        called = place.name if place.is_dir() else self.model.removeprefix("cross-encoder/")
        return f"cross-encoder/{called}@{self._local.version}"

    def counts(self, sought: Sought) -> float:  # noqa: ARG002 - a model counts everywhere alike.
        """The order by the scores counts as much as that in which the texts were found."""
        return 1.0

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return the model's number for each text.

        Raises:
            EngineError: the extra is not installed, or the model cannot be loaded or is for something else.
        """
        if not texts:
            return np.zeros(0)
        longest = self._longest
        question = self._cut(sought.question, int(longest * _OF_THE_QUESTION))[-1]
        room = longest - self._tokens(question)
        cut = [self._cut(text, room) for text in texts]
        pairs = [(question, part) for parts in cut for part in parts]
        given = self._encoder.predict(pairs, batch_size=1, show_progress_bar=False, convert_to_numpy=True)
        starts = np.cumsum([0, *map(len, cut)])[:-1]
        found = comparable(np.asarray(given).reshape(len(pairs)))
        if not np.isfinite(found).all():
            raise self._local.unusable("gives scores that are no numbers")
        best: Scores = np.maximum.reduceat(found, starts)
        return best

    def _cut(self, text: str, room: int) -> list[str]:
        """The windows of a text of at most so many tokens."""
        return list(windows(text, lambda part: self._tokens(part) <= room))

    def _tokens(self, text: str) -> int:
        return len(self._encoder.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    @property
    def _longest(self) -> int:
        """Tokens of question and text together that the model reads."""
        tokenizer, config = self._encoder.tokenizer, self._encoder.config
        most = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
        special = tokenizer.num_special_tokens_to_add(pair=True)
        return int(min(tokenizer.model_max_length, most) - special)

    @cached_property
    def _encoder(self) -> Any:
        encoder = self._local.load("CrossEncoder")
        if (numbers := encoder.config.num_labels) != 1:
            raise self._local.unusable(f"gives {numbers} numbers and not one")
        return encoder


@cache
def shared_cross_encoder(model: str) -> CrossEncoderReranker:
    """The reranker of that model of this process: loading one takes seconds."""
    return CrossEncoderReranker(model)


def windows(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Cut a text into windows that fit, which together are the text.

    What does not fit is cut at the beginning of the sentence nearest to its middle, or of the word where it
    is one sentence, or through the word. A single character counts as fitting.

    Args:
        text: of any length.
        fits: whether a model can read a text whole; where it can, it can read any part of that.
    """
    if len(text) < 2 or fits(text):
        yield text
        return
    at = _cut(text)
    yield from windows(text[:at], fits)
    yield from windows(text[at:], fits)


def _cut(text: str) -> int:
    middle = len(text) // 2
    words = (at for at in range(1, len(text)) if text[at - 1].isspace() and not text[at].isspace())
    for places in (sentence_starts(text), words):
        if inside := [at for at in places if 0 < at < len(text)]:
            return min(inside, key=lambda at: abs(at - middle))
    return middle
