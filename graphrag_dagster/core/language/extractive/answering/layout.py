"""Points as text: headings, sentences, citations, and the words that answer in bold."""

from collections.abc import Collection, Sequence

from graphrag_dagster.core.language.extractive.answering.things import things
from graphrag_dagster.core.language.extractive.answering.wanted import Wanted
from graphrag_dagster.core.language.tasks import Point
from graphrag_dagster.core.text.citations import LABELS
from graphrag_dagster.core.text.similarity import stem, words
from graphrag_dagster.core.text.turns import speaker_before

#: Kinds of things that are short enough to stand in bold.
_BOLD = frozenset({"person", "time", "number", "money", "place"})


def in_reading_order(points: Sequence[Point], first: int) -> list[Point]:
    """Return the points that answer best as they are, the others beside those of the same heading.

    Args:
        points: the best first.
        first: how many keep their places.
    """
    ordered = list(points[:first])
    for heading in dict.fromkeys(point.heading for point in (*reversed(ordered), *points[first:])):
        ordered += [point for point in points[first:] if point.heading == heading]
    return ordered


def laid_out(points: Sequence[Point]) -> str:
    """Return points as paragraphs of cited sentences; those after one another under one heading join."""
    blocks: list[tuple[str, list[str]]] = []
    for point in points:
        label = LABELS[point.kind]
        cited = [f"{text} [Data: {label} ({row})]" for text, row, _ in point.quotes]
        if blocks and blocks[-1][0] == point.heading:
            blocks[-1][1].extend(cited)
        else:
            blocks.append((point.heading, cited))
    return "\n\n".join(f"**{heading}**\n\n{' '.join(cited)}" for heading, cited in blocks)


def answering_words(sentence: str, wanted: Wanted, known: Collection[str]) -> str:
    """Return the sentence with the first thing that answers in bold; unchanged where none is told.

    Args:
        sentence: as quoted.
        wanted: what the question wants.
        known: stems of the question's words, which answer nothing.
    """
    if wanted.kind not in _BOLD or "*" in sentence:
        return sentence
    start = speaker_before(sentence)[1]
    said = sentence[start:]
    for span in things(wanted.kind, said, wanted.noun):
        if new(said[span.start : span.end], known):
            first, last = start + span.start, start + span.end
            return f"{sentence[:first]}**{sentence[first:last]}**{sentence[last:]}"
    return sentence


def new(thing: str, known: Collection[str]) -> bool:
    """Return whether a thing says anything that the question does not."""
    return any(stem(word) not in known for word in words(thing))
