"""A text in two."""

from itertools import pairwise

from graphrag_dagster.core.text.sentences import sentence_spans


def halves(text: str) -> tuple[str, str] | None:
    """Return the two parts of a text, cut between the two sentences nearest to its middle.

    Together they hold every character but the white space at the cut. None for a single sentence.
    """
    spans = sentence_spans(text)
    if len(spans) < 2:
        return None
    middle = len(text) / 2
    before, after = min(pairwise(spans), key=lambda pair: abs(pair[0].end - middle))
    return text[: before.end], text[after.start :]
