"""Speakers whom a question names, and the sentences of their turns."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.retrieval.search_words import words_with_case
from graphrag_dagster.kernel.retrieval.sentence_relevance import asks_for_statements
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine, turns

#: Words of a name that stand for a speaker whose label has more, such as a title or an initial.
_FULL = 2


def said_by_named(question: str, lines: Sequence[SentenceLine]) -> NDArray[np.bool_]:
    """Return which sentences are of turns of a speaker whose statements the question asks for.

    A question names a speaker by two successive words of the label, or by its only word with a capital:
    "What did Ada Rusk think of the quay?" names ``Ada Rusk``, ``Ada Rusk MP`` and ``Dr Ada Rusk``.

    Args:
        question: as asked; one that asks for no statements of anybody names none.
        lines: sentences, those of one row together.
    """
    speakers = [turn.speaker for turn in turns(lines)]
    if not asks_for_statements(question):
        return np.zeros(len(lines), dtype=np.bool_)
    asked = words_with_case(question)
    named = {speaker: _names(asked.folded, asked.written, speaker) for speaker in dict.fromkeys(speakers)}
    return np.array([named[speaker] for speaker in speakers], dtype=np.bool_)


def _names(folded: Sequence[str], written: Sequence[str], speaker: str) -> bool:
    own = words_with_case(speaker).folded
    if len(own) == 1:
        return any(
            word == own[0] and cased[:1].isupper()
            for word, cased in zip(folded[1:], written[1:], strict=True)
        )
    pairs = {tuple(own[place : place + _FULL]) for place in range(len(own) - 1)}
    return any(tuple(folded[place : place + _FULL]) in pairs for place in range(len(folded) - 1))
