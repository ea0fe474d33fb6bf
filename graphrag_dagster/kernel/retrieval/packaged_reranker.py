"""Passages of text units as the packaged cross-encoder reads them, and the reranker that goes by them."""

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.models.packaged_cross_encoder import PackagedCrossEncoder, packaged_cross_encoder
from graphrag_dagster.kernel.retrieval.rerankers import LexicalReranker, shared_cross_encoder, windows
from graphrag_dagster.kernel.tasks.answering_ports import Reranker, Sought

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

#: Most text units that are scored.
_UNITS = 20
#: Most characters of a passage, so that it fits into the model's input beside title and question.
_LONGEST = 640
_LONGEST_TITLE = 200
#: Weight of the order by scores relative to the order that is there.
_COUNTS = 1.0


def titled_passage(title: str, text: str) -> str:
    """Return a passage as the model was trained to read it: ``Title. text``."""
    return f"{title}. {text}" if title and not text.startswith(title) else text


def passage_scores(encoder: PackagedCrossEncoder, sought: Sought, texts: Sequence[tuple[str, str]]) -> Scores:
    """Return how well each text answers the question, by one of its passages [n].

    A text is split into passages at sentence starts; the one that matches best by words is scored.

    Args:
        encoder: scores the passages.
        sought: the query.
        texts: title and text of each.

    Raises:
        EngineError: the cross-encoder cannot be used.
    """
    parts = [
        [titled_passage(title, part) for part in windows(text, lambda part: len(part) <= _LONGEST)]
        for title, text in texts
    ]
    by_words = LexicalReranker().scores(sought, [part for own in parts for part in own])
    ends = accumulate(map(len, parts))
    chosen = [own[int(by_words[end - len(own) : end].argmax())] for own, end in zip(parts, ends, strict=True)]
    return encoder.scores(sought.question, chosen)


class PackagedReranker:
    """Scores a text unit by the passage that matches best by words, with the packaged cross-encoder.

    Args:
        encoder: scores the passages.
    """

    def __init__(self, encoder: PackagedCrossEncoder) -> None:
        self.encoder = encoder

    @property
    def name(self) -> str:
        """``cross-encoder/packaged@<version>``, with the first digits of the SHA-256 of the model."""
        return f"cross-encoder/packaged@{self.encoder.version}"

    def counts(self, sought: Sought) -> float:  # noqa: ARG002 - a model counts everywhere alike.
        """Return the weight of the order by scores relative to the order that is there."""
        return _COUNTS

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return the score of one passage of each text.

        Raises:
            EngineError: the cross-encoder cannot be used.
        """
        return passage_scores(self.encoder, sought, [_split_title(text) for text in texts])


def _split_title(text: str) -> tuple[str, str]:
    """Return the title of a text unit, which is its first line if that is short, and the rest."""
    first, _, rest = text.partition("\n")
    return (first, rest) if rest and len(first) <= _LONGEST_TITLE else ("", text)


def cross_encoder_reranker(session: "TaskProvider") -> Reranker:
    """The packaged cross-encoder, or the one of sentence-transformers that the settings name.

    Raises:
        EngineError: the settings name none, and the package is not installed.
    """
    named = session.settings.search.reranker_model
    return shared_cross_encoder(named) if named else PackagedReranker(packaged_cross_encoder())


def stages(reranker: Reranker | None, first: int, *, asked_once: bool = True) -> list[tuple[Reranker, int]]:
    """Return the rerankers to apply after one another, each with the number of units that it scores.

    The packaged cross-encoder scores the best units of the order by words, since it takes milliseconds for
    each.

    Args:
        reranker: the one that the settings choose.
        first: number of units that the settings let it score.
        asked_once: False for one of several questions of an answer, whose units words alone put in order.
    """
    if reranker is None:
        return []
    if isinstance(reranker, PackagedReranker):
        by_words: tuple[Reranker, int] = (LexicalReranker(), first)
        return [by_words, (reranker, min(first, _UNITS))] if asked_once else [by_words]
    return [(reranker, first)]
