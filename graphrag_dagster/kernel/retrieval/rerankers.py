"""Rerankers of the first text units found: lexical, or with a cross-encoder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrag_dagster.errors import EngineError, GraphragError
from graphrag_dagster.kernel.common.lazy_values import AsRead
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
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
from graphrag_dagster.kernel.tasks.answering_ports import Reranker, Sought
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine, SpokenTurn, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from graphrag_dagster.kernel.models.probing.capability_probes import ProbeFinding
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


#: The constant of reciprocal rank fusion (60 in Cormack et al. 2009): smaller favours the first ranks more.
_SMOOTHING = 10


@dataclass(frozen=True, slots=True)
class Moved:
    """A text unit whose rank changed; ranks count from 1."""

    text_unit_id: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Reranked:
    """The effect of a reranker on the first text units found.

    Attributes:
        question: the query.
        reranker: its name, with kind, model and version.
        units: number of units it scored.
        moved: units whose rank changed, in their new order.
    """

    question: str
    reranker: str
    units: int
    moved: tuple[Moved, ...] = ()


def rerank(
    found: Sequence[str], texts: Callable[[str], str], sought: Sought, reranker: Reranker, first: int
) -> tuple[Sequence[str], Reranked]:
    """Return all text units with the first ones reranked, and what moved.

    The original order and the order by scores are combined by reciprocal rank fusion with the weight that the
    reranker gives. Equal scores share a rank, so a reranker with constant scores moves nothing. Units beyond
    the first keep their places.

    Args:
        found: ids of text units, best first.
        texts: returns the text of a unit.
        sought: the query.
        reranker: scores the first units.
        first: maximum number of units to score.

    Raises:
        EngineError: the reranker did not return one finite score per text.
    """
    head = list(islice(found, first))
    scores = np.asarray(reranker.scores(sought, [texts(unit_id) for unit_id in head]), dtype=np.float64)
    if scores.shape != (len(head),) or not np.isfinite(scores).all():
        raise EngineError(
            f"the reranker {reranker.name} gave no finite score for each of {plural(len(head), 'text unit')}"
        )
    rounded = round_for_comparison(scores)
    ranks = np.searchsorted(np.sort(-rounded), -rounded, side="left")
    fused = 1 / (_SMOOTHING + np.arange(len(head))) + reranker.counts(sought) / (_SMOOTHING + ranks)
    order = first_places(fused).tolist()
    moved = tuple(
        Moved(head[before], before + 1, after) for after, before in enumerate(order, 1) if before + 1 != after
    )
    summary = Reranked(sought.question, reranker.name, len(head), moved)
    return AsRead(chain(map(head.__getitem__, order), islice(found, first, None))), summary


_WEIGHTS = np.array([UNIT_WEIGHTS[name] for name in FEATURES])
_LONGEST_TITLE = 200
#: Weight of the order by scores for units of long documents.
_COUNTS = 2.0


class LexicalReranker:
    """Scores a text by its sentences: what each has of the question, and its context.

    The score is the logarithm of the sum of the likelihoods of its sentences. It locates answers in long
    documents. For texts that are whole documents the original order is better, so the weight is 0 then. It is
    also 0 if lexical or vector search was chosen explicitly.
    """

    name = "lexical"

    def counts(self, sought: Sought) -> float:
        """Return the weight of the order by scores relative to the original order."""
        return _COUNTS * sought.length if sought.followed and asked_words(sought.question) else 0.0

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one score per text; zeros for a question without meaningful words."""
        parsed = [_split_sentences(text) for text in texts]
        lines = [
            SentenceLine(line.text, line.place, line.size, row, line.title)
            for row, (parts, _) in enumerate(parsed)
            for line in parts
        ]
        if not lines or not asked_words(sought.question):
            return np.zeros(len(texts))
        said_by = [turn for _, parts in parsed for turn in parts]
        logits = unit_features(sought.question, lines, said_by) @ _WEIGHTS
        highest = logits.max()
        sums = np.zeros(len(texts))
        np.add.at(sums, [line.row for line in lines], np.exp(logits - highest))
        return round_for_comparison(np.log(sums) + highest)


def unit_features(question: str, lines: Sequence[SentenceLine], said_by: Sequence[SpokenTurn]) -> Scores:
    """Return the lexical features of sentences, one column for each of ``FEATURES``.

    Args:
        question: with meaningful words.
        lines: the sentences, at least one; also the background for rarity.
        said_by: the speaker turn of each sentence.
    """
    asked = AskedWords.of(question)
    same, pair_shares = asked.found_in([turn.stems for turn in said_by])
    weight = np.log1p(len(lines) / (1 + same.sum(axis=0)))
    return answer_features(asked, lines, said_by, same.astype(np.float64), weight, same, pair_shares)


@lru_cache(maxsize=2048)
def _split_sentences(text: str) -> tuple[tuple[SentenceLine, ...], tuple[SpokenTurn, ...]]:
    """Return the sentences of a text, as those of row 0, and their turns; the first line may be a title."""
    first = text.partition("\n")[0]
    title = first if len(first) <= _LONGEST_TITLE else ""
    spans = list(pairwise([*sentence_starts(text), len(text)]))
    lines = tuple(
        SentenceLine(text[start:end].strip(), position, len(spans), 0, title)
        for position, (start, end) in enumerate(spans)
    )
    return lines, tuple(turns(lines))


_QUESTION = Sought("Who dredged the harbour?")
_TEXTS = ("Bread is baked at night.", "The harbour was dredged by Selma Dray.")


def no_reranker(_session: TaskProvider) -> None:
    """No reranker: text units keep their order."""


def lexical_reranker(_session: TaskProvider) -> Reranker:
    """The lexical reranker."""
    return LexicalReranker()


def probe_reranker(make: Callable[[], Reranker | None]) -> list[ProbeFinding]:
    """Probe whether the reranker can be loaded and scores texts; no findings without a reranker."""
    from graphrag_dagster.kernel.models.probing.capability_probes import RERANKER, ProbeFinding

    try:
        reranker = make()
        if reranker is None:
            return []
        rerank(_TEXTS, str, _QUESTION, reranker, len(_TEXTS))
        return [ProbeFinding(RERANKER, "works", f"{reranker.name}: a score for each text")]
    except GraphragError as error:
        remedy = "mend it, or set search.reranker to lexical or none, which need no model"
        return [ProbeFinding(RERANKER, "fails", str(error), remedy)]


_MEND = (
    "give a folder with a cross-encoder for reranking, or the name of one on the hub, which gives one number "
    "for a question and a text"
)
#: Share of the model's input that the question may take.
_OF_THE_QUESTION = 0.5


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers on the CPU with one score per question and text.

    A text longer than the model's input is split into windows, of which the best counts. Of a question longer
    than half the input, only the end is used. Each pair is a batch of its own, so that a score depends only
    on the pair.

    Args:
        model: a folder, or the name of a model on the hub, which is downloaded on first use.
        wanted_by: the setting that requires it, for error messages.
        named_by: the setting that names it, for error messages.
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
        """``cross-encoder/<model>@<version>``, with the version as for sentence-transformers embedders.

        Raises:
            EngineError: the extra is not installed, or the folder has no model.
        """
        path = Path(self.model)
        model_name = path.name if path.is_dir() else self.model.removeprefix("cross-encoder/")
        return f"cross-encoder/{model_name}@{self._local.version}"

    def counts(self, sought: Sought) -> float:  # noqa: ARG002 - a model counts everywhere alike.
        """Return 1: the order by scores has the same weight as the original order."""
        return 1.0

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return the model's score for each text.

        Raises:
            EngineError: the extra is not installed, or the model cannot be loaded or is of another kind.
        """
        if not texts:
            return np.zeros(0)
        longest = self._longest
        question = self._cut(sought.question, int(longest * _OF_THE_QUESTION))[-1]
        room = longest - self._tokens(question)
        parts_of_texts = [self._cut(text, room) for text in texts]
        pairs = [(question, part) for parts in parts_of_texts for part in parts]
        predictions = self._encoder.predict(
            pairs, batch_size=1, show_progress_bar=False, convert_to_numpy=True
        )
        starts = np.cumsum([0, *map(len, parts_of_texts)])[:-1]
        part_scores = round_for_comparison(np.asarray(predictions).reshape(len(pairs)))
        if not np.isfinite(part_scores).all():
            raise self._local.unusable("gives scores that are no numbers")
        best: Scores = np.maximum.reduceat(part_scores, starts)
        return best

    def _cut(self, text: str, room: int) -> list[str]:
        """Split a text into windows of at most ``room`` tokens."""
        return list(windows(text, lambda part: self._tokens(part) <= room))

    def _tokens(self, text: str) -> int:
        return len(self._encoder.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    @property
    def _longest(self) -> int:
        """Most tokens of question and text together."""
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
    """Return the reranker of a model, shared within the process since loading takes seconds."""
    return CrossEncoderReranker(model)


def windows(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Split a text into consecutive windows that fit.

    A text that does not fit is split at the sentence start nearest to its middle, else at the nearest word,
    else inside a word. A single character always fits.

    Args:
        text: of any length.
        fits: whether a text fits; must hold for every part of a text that fits.
    """
    if len(text) < 2 or fits(text):
        yield text
        return
    middle = _cut(text)
    yield from windows(text[:middle], fits)
    yield from windows(text[middle:], fits)


def _cut(text: str) -> int:
    middle = len(text) // 2
    words = (
        position
        for position in range(1, len(text))
        if text[position - 1].isspace() and not text[position].isspace()
    )
    for candidates in (sentence_starts(text), words):
        if positions := [position for position in candidates if 0 < position < len(text)]:
            return min(positions, key=lambda position: abs(position - middle))
    return middle
