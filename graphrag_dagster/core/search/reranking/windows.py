"""Texts cut into windows that a model can read."""

from collections.abc import Callable, Iterator

from graphrag_dagster.core.search.retrieval.words import sentence_starts


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
