"""Reranking by a model that reads question and text together."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_dagster.kernel.common.stable_scores import Scores, comparable
from graphrag_dagster.kernel.models.local.local_models import LocalModel
from graphrag_dagster.kernel.retrieval.reranking.reordering import Sought
from graphrag_dagster.kernel.retrieval.words import sentence_starts

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
