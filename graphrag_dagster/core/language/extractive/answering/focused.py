"""The sentences that answer a question about something, the best first."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.language.extractive.answering.layout import answering_words, in_reading_order, new
from graphrag_dagster.core.language.extractive.answering.sentences import Sentence
from graphrag_dagster.core.language.extractive.answering.things import defines, things
from graphrag_dagster.core.language.extractive.answering.wanted import Wanted
from graphrag_dagster.core.language.extractive.parsing.quotable import dangles, readability
from graphrag_dagster.core.language.tasks import Point
from graphrag_dagster.core.ranks import Scores, comparable
from graphrag_dagster.core.text.answer_weights import ANSWER_WEIGHTS
from graphrag_dagster.core.text.questions import asked_words
from graphrag_dagster.core.text.relevance import SHARPNESS, Relevance
from graphrag_dagster.core.text.similarity import repeats, stem, words
from graphrag_dagster.core.text.turns import asks

_WEIGHTS = np.array([ANSWER_WEIGHTS["fits"], ANSWER_WEIGHTS["reads"]])
#: Value against the best from which a sentence is quoted too.
_LEAST = 0.6
#: Share of the words of a sentence that asks which are those of the question, from which on it asks the same.
_AGAIN = 0.6
#: How many have the words that answer in bold, and keep their places.
_BOLD = 3


def values(question: str, wanted: Wanted, sentences: Sequence[Sentence], found: Relevance) -> Scores:
    """Return how well each sentence answers; 0 for those that are not related or no whole sentences, and for
    those that ask the same where another one answers.

    Of two that are alike related, that one answers better which names a thing of the kind that is wanted
    (``fits``), and which reads better on its own (``reads``).
    """
    quoted = [related and one.quotable for one, related in zip(sentences, found.related, strict=True)]
    value = np.zeros(len(sentences))
    value[quoted] = found.value[quoted]
    chosen = [one for one, is_quoted in zip(sentences, quoted, strict=True) if is_quoted]
    value[quoted] *= np.exp(SHARPNESS * answers_by_itself(question, wanted, chosen) @ _WEIGHTS)
    again = _asked_again(question, sentences)
    if np.any(value[~again] > 0):
        value[again] = 0
    return comparable(value)


def _asked_again(question: str, sentences: Sequence[Sentence]) -> NDArray[np.bool_]:
    """Which sentences ask what is asked, as people of a chat may have done before: none of them answers."""
    known = frozenset(map(stem, words(question)))

    def is_again(said: str) -> bool:
        stems = set(map(stem, words(said))) if asks(said) else set()
        return bool(stems) and len(stems & known) >= _AGAIN * len(stems)

    return np.array([is_again(one.said) for one in sentences], dtype=bool)


def answers_by_itself(question: str, wanted: Wanted, sentences: Sequence[Sentence]) -> Scores:
    """Return whether each sentence fits what is wanted, and how well it reads [sentences, 2]."""
    known = frozenset(map(stem, words(question)))
    fits = _fitting(wanted, known, frozenset(map(stem, asked_words(question))))
    return np.array([[fits(one), readability(one.text)] for one in sentences]).reshape(-1, 2)


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
            (answering_words(words, wanted, known) if bold else words, row, quote)
            for words, row, quote in (other.quotation for other in group)
        )
        chosen.append(Point(one.row.title, quotes, float(value[place]), one.row.kind))
    return in_reading_order(chosen, _BOLD)


def _before(sentences: Sequence[Sentence], place: int) -> Sentence | None:
    """The sentence before one in its row."""
    if not place or not sentences[place].place:
        return None
    before = sentences[place - 1]
    return before if before.row.id == sentences[place].row.id and before.quotable else None
