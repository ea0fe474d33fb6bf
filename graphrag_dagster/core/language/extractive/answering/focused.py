"""The sentences that answer a question about something, the best first."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from graphrag_dagster.core.language.extractive.answering.layout import answering_words, in_reading_order, new
from graphrag_dagster.core.language.extractive.answering.sentences import Sentence
from graphrag_dagster.core.language.extractive.answering.things import defines, things
from graphrag_dagster.core.language.extractive.answering.wanted import Kind, Wanted
from graphrag_dagster.core.language.extractive.parsing.quotable import dangles, readability
from graphrag_dagster.core.language.tasks import Point
from graphrag_dagster.core.ranks import Scores, comparable
from graphrag_dagster.core.text.relevance import Relevance, asked_words
from graphrag_dagster.core.text.similarity import repeats, stem, words

#: What naming a thing of the wanted kind adds, as a share of the value.
_NAMING: Mapping[Kind, float] = {
    "time": 0.25,
    "number": 0.25,
    "money": 0.3,
    "place": 0.2,
    "person": 0.15,
    "reason": 0.1,
    "definition": 0.4,
}
#: What of the value rests on how well a sentence reads on its own.
_READING = 0.1
#: Value against the best from which a sentence is quoted too.
_LEAST = 0.6
#: How many have the words that answer in bold, and keep their places.
_BOLD = 3


def values(question: str, wanted: Wanted, sentences: Sequence[Sentence], found: Relevance) -> Scores:
    """Return how well each sentence answers; 0 for those that are not related or no whole sentences."""
    known = frozenset(map(stem, words(question)))
    named = frozenset(map(stem, asked_words(question)))
    fits = _fitting(wanted, known, named)
    return comparable(
        np.array(
            [
                value
                * (1 - _READING + _READING * readability(one.text))
                * (1 + _NAMING.get(wanted.kind, 0.0) * fits(one))
                if related and one.quotable
                else 0.0
                for one, value, related in zip(sentences, found.value.tolist(), found.related, strict=True)
            ]
        )
    )


def _fitting(wanted: Wanted, known: frozenset[str], named: frozenset[str]) -> Callable[[Sentence], bool]:
    if wanted.kind == "definition":
        return lambda one: defines(one.said, named)

    def names_it(one: Sentence) -> bool:
        said = one.said
        return any(new(said[span.start : span.end], known) for span in things(wanted.kind, said, wanted.noun))

    return names_it


def points(
    question: str, wanted: Wanted, sentences: Sequence[Sentence], value: Scores, most: int, characters: int
) -> list[Point]:
    """Return the best sentences that do not repeat one another, each a point under the title of its row.

    The first has the sentence before it, where it only points at what was said there.

    Args:
        question: as asked.
        wanted: what it wants.
        sentences: of all rows, in their order.
        value: of each, 0 for those that are not to be quoted.
        most: sentences.
        characters: of all sentences together; the first is taken in any case.
    """
    order = [int(place) for place in np.argsort(-value, kind="stable") if value[place] > 0]
    known = frozenset(map(stem, words(question)))
    chosen: list[Point] = []
    taken: list[tuple[str, ...]] = []
    length = 0
    for place in order:
        one = sentences[place]
        group = [one]
        if not chosen and most > 1 and dangles(one.said) and (before := _before(sentences, place)):
            group.insert(0, before)
        length += sum(len(other.text) for other in group)
        if chosen and (len(taken) + len(group) > most or length > characters):
            break
        if value[place] < _LEAST * value[order[0]]:
            break
        if repeats(words(one.text), taken):
            length -= len(one.text)
            continue
        taken += [words(other.text) for other in group]
        bold = len(chosen) < _BOLD
        quotes = tuple(
            (answering_words(other.text, wanted, known) if bold else other.text, other.row.id, other.quote)
            for other in group
        )
        chosen.append(Point(one.row.title, quotes, float(value[place]), one.row.kind))
    return in_reading_order(chosen, _BOLD)


def _before(sentences: Sequence[Sentence], place: int) -> Sentence | None:
    """The sentence before one in its row."""
    if not place or not sentences[place].place:
        return None
    before = sentences[place - 1]
    return before if before.row.id == sentences[place].row.id and before.quotable else None
