"""The sentences that answer a question about something, the best first."""

import datetime
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.engines.extractive.answer_types import AnswerType, defines, numbers_of, things_of_type
from graphrag_dagster.engines.extractive.doers import Deed, deed_asked, doers
from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.retrieval.search_words import words_with_case
from graphrag_dagster.kernel.retrieval.sentence_relevance import (
    SHARPNESS,
    Relevance,
    asked_words,
    asks_for_statements,
)
from graphrag_dagster.kernel.retrieval.sentence_weights import ANSWER_WEIGHTS
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Layout, Point, Quote
from graphrag_dagster.kernel.text.citations import LABELS
from graphrag_dagster.kernel.text.marked_words import MarkupSpans
from graphrag_dagster.kernel.text.markup_spans import Span, mark_before, mark_behind
from graphrag_dagster.kernel.text.quotable_sentences import (
    SentenceLine,
    is_question,
    is_whole,
    readability,
    refers_back,
    speaker_before,
    turns,
)
from graphrag_dagster.kernel.text.text_similarity import repeats, stem, words


@dataclass(frozen=True, slots=True)
class RankedSentence:
    """A sentence of a row of a chunk, with the marks of its list; ``place`` counts from 0 inside the row."""

    text: str
    quote: Quote | None
    row: ContextUnit
    place: int
    chunk: int

    @property
    def line(self) -> SentenceLine:
        """The sentence as it is compared with a question."""
        row = self.row
        return SentenceLine(self.text, self.place, len(row.sentences), row.id, row.title, row.selected)

    @property
    def bare_text(self) -> str:
        """The sentence without the mark of its list and the label of its speaker."""
        words = self.words
        return words[speaker_before(words)[1] :]

    @property
    def words(self) -> str:
        """The sentence without marks before and behind it."""
        text = self.text[mark_before(self.text) :]
        return text[: len(text) - mark_behind(text)]

    @property
    def quotation(self) -> tuple[str, int, Quote | None]:
        """The words to be shown, the id of the row, and where exactly these words stand.

        A sentence that ends in a colon comes with the few lines of code or items of a list that follow it.
        """
        words, quote = self.words, self._of_words()
        if quote and (introduced := self.introduced):
            quote = Quote(quote.unit_id, Span(quote.span.start, quote.span.end + introduced.length))
            words = f"{words} {introduced.shown}"
        return words, self.row.id, quote

    @property
    def introduced(self) -> "Introduced | None":
        """What follows a colon at its end; None if that is ordinary text."""
        quote = self._of_words()
        if quote is None or self.row.background is None or not self.words.endswith(":"):
            return None
        behind = Span(quote.span.end, quote.span.end + _MOST_BEHIND)
        return _introduced(self.row.background.words(Quote(quote.unit_id, behind)))

    def _of_words(self) -> Quote | None:
        if self.quote is None or self.row.background is None or self.words == self.text:
            return self.quote
        exact = self.row.background.words(self.quote)
        start = mark_before(exact)
        span = self.quote.span
        return Quote(self.quote.unit_id, Span(span.start + start, span.end - mark_behind(exact[start:])))

    @property
    def types(self) -> Mapping[str, str]:
        """Types of the names of its text unit that the index knows."""
        return (
            dict(self.row.background.names(self.quote.unit_id)) if self.row.background and self.quote else {}
        )

    @property
    def document(self) -> str:
        """What stands for its document: its id, or the row where that is not known."""
        known = self.row.background.document(self.quote.unit_id) if self.row.background and self.quote else ""
        return known or f"row {self.row.id}"

    @property
    def day(self) -> datetime.date | None:
        """The first day of the period of its document, None where that is not known."""
        return self.row.background.day(self.quote.unit_id) if self.row.background and self.quote else None

    @property
    def quotable(self) -> bool:
        """Whether it can be read, is no code, and its text unit does not cut it off."""
        background, quote = self.row.background, self.quote
        if quote and background and background.told():
            return True
        if not readability(self.text):
            return False
        if quote is None or background is None:
            return True
        return not background.code(quote) and (is_whole(self.text) or not background.cut(quote))


#: What a sentence introduces by a colon at the end of its line: a short block of code, or items of a list.
_FENCED = re.compile(r"[ \t]*\n\s*?(?P<fence>```+|~~~+)[^\n]*\n(?P<said>(?:[^\n]+\n){1,4})(?P=fence)")
_INDENTED = re.compile(r"[ \t]*\n\s*?\n(?P<said>(?:(?: {4}|\t)[^\n]+(?:\n|\Z)){1,4})(?! {4}|\t)")
_ITEM = r" {0,3}(?:[-*+•]|\d{1,2}[.)])[ \t]+"
_ITEMS = re.compile(rf"[ \t]*\n\s*?(?P<said>(?:{_ITEM}[^\n]{{1,160}}(?:\n|\Z)){{2,6}})(?!{_ITEM})")
_MOST_BEHIND = 1200


class Introduced(NamedTuple):
    """Code or a list behind a colon: ``shown`` on one line, ``length`` as it stands, whether it is code."""

    shown: str
    length: int
    is_code: bool


def _introduced(following: str) -> Introduced | None:
    for form in (_FENCED, _INDENTED, _ITEMS):
        if found := form.match(following):
            said, is_code = found["said"], form is not _ITEMS
            lines = [line.strip() for line in said.strip().split("\n")]
            if is_code:
                shown = " ".join(f"`{line}`" for line in lines)
            else:
                shown = "; ".join(line[mark_before(line) :] for line in lines)
            return Introduced(shown, found.start("said") + len(said.rstrip()), is_code)
    return None


def sentences_of(chunks: Sequence[Sequence[ContextUnit]]) -> list[RankedSentence]:
    """Return all sentences of the rows of chunks, in their order."""
    return [
        RankedSentence(text, quote, row, place, number)
        for number, chunk in enumerate(chunks)
        for row in chunk
        for place, (text, quote) in enumerate(row.sentences)
    ]


#: Kinds of things that are short enough to be marked in a sentence.
_MARKED = frozenset({"person", "time", "number", "money", "place"})
#: Kinds of things that have names.
_OF_NAMES = frozenset({"person", "place"})


def in_reading_order(points: Sequence[Point], first: int) -> list[Point]:
    """Return the points that answer best as they are, the others beside those of the same heading."""
    ordered = list(points[:first])
    for heading in dict.fromkeys(point.heading for point in (*reversed(ordered), *points[first:])):
        ordered += [point for point in points[first:] if point.heading == heading]
    return ordered


def lay_out(points: Sequence[Point]) -> tuple[str, Layout]:
    """Return points as paragraphs of cited sentences, and where these stand in them.

    Those after one another under one heading join.
    """
    text, heading = "", None
    quotations: list[Span] = []
    marks: list[Span] = []
    for point in points:
        label = LABELS[point.kind]
        for (said, row, _), mark in zip_longest(point.quotes, point.marks):
            if heading == point.heading:
                text += " "
            else:
                heading = point.heading
                text += ("\n\n" if text else "") + f"{_heading_line(heading)}\n\n"
            start = len(text)
            quotations.append(Span(start, start + len(said)))
            if mark:
                marks.append(Span(start + mark.start, start + mark.end))
            text += f"{said} [Data: {label} ({row})]"
    return text, Layout(tuple(quotations), tuple(marks))


def _heading_line(heading: str) -> str:
    # An address, or asterisks of its own, would run into the signs of bold.
    return f"### {heading}" if "://" in heading or "*" in heading else f"**{heading}**"


@dataclass(frozen=True, slots=True)
class Marking:
    """What of a sentence may answer a question.

    ``wanted``: what the question wants; ``known``: stems of its words, which answer nothing; ``deed``: what
    was done by the person it asks for; no other person answers, and none where it asks for no deed.
    """

    wanted: AnswerType
    known: frozenset[str]
    deed: Deed | None

    @classmethod
    def of(cls, question: str, wanted: AnswerType) -> "Marking":
        """Return what may answer a question that wants something."""
        return cls(wanted, frozenset(map(stem, words(question))), deed_asked(question))


def answering_words(
    sentence: str, marking: Marking, types: Mapping[str, str] = MappingProxyType({})
) -> Span | None:
    """Return where in a sentence the first thing stands that answers; None where none can be marked.

    Args:
        sentence: as quoted.
        marking: what may answer.
        types: of names that the index knows.
    """
    wanted = marking.wanted
    if wanted.kind not in _MARKED:
        return None
    start = speaker_before(sentence)[1]
    said = sentence[start:]
    if wanted.kind == "number" and wanted.noun:
        things = numbers_of(said, wanted.noun)
    else:
        things = things_of_type(wanted.kind, said, wanted.noun, types)
        if wanted.kind == "person":
            things = doers(said, marking.deed, things) if marking.deed else []
    inside = MarkupSpans(sentence)
    for span in things:
        whole = Span(start + span.start, start + span.end)
        if is_new(said[span.start : span.end], marking.known) and not inside.hidden(whole):
            return inside.whole_words(whole)
    return None


def is_new(thing: str, known: Collection[str]) -> bool:
    """Return whether a thing says anything that the question does not."""
    return any(stem(word) not in known for word in words(thing))


_WEIGHTS = np.array([ANSWER_WEIGHTS["fits"], ANSWER_WEIGHTS["reads"]])
#: Value against the best from which a sentence is quoted too.
_LEAST = 0.6
#: Share of the words of a sentence that asks which are those of the question, from which on it asks the same.
_AGAIN = 0.6
#: Factor of sentences of a speaker whose statements the question asks for.
_BY_SPEAKER = 1.6
#: Factor of sentences that have all words of a question for a place, and a place.
_WITH_PLACE = 2.0
#: Factor of sentences of documents that the question names, among others.
_OF_FAVOURED = 1.6
#: Words of a name that stand for a speaker whose label has more, such as a title or an initial.
_FULL = 2
#: How many have the words that answer marked, and keep their places.
_FIRST = 3


def sentence_values(
    question: str, wanted: AnswerType, sentences: Sequence[RankedSentence], found: Relevance
) -> Scores:
    """Return how well each sentence answers; 0 for those that are not related or no whole sentences, and for
    those that ask the same where another one answers.

    Of two that are alike related, that one answers better which names a thing of the kind that is wanted
    (``fits``), and which reads better on its own (``reads``). What a speaker said whom a question about
    statements names comes before what others said of it.
    """
    quoted = [related and one.quotable for one, related in zip(sentences, found.related, strict=True)]
    value = np.zeros(len(sentences))
    value[quoted] = found.value[quoted]
    chosen = [one for one, is_quoted in zip(sentences, quoted, strict=True) if is_quoted]
    standalone = standalone_scores(question, wanted, chosen)
    value[quoted] *= np.exp(SHARPNESS * standalone @ _WEIGHTS)
    if wanted.kind == "place":
        value[quoted] *= np.where(_hold_all(question, chosen) & (standalone[:, 0] > 0), _WITH_PLACE, 1.0)
    value[said_by_named(question, [one.line for one in sentences])] *= _BY_SPEAKER
    value[[one.row.favoured for one in sentences]] *= _OF_FAVOURED
    again = repeats_question(question, sentences)
    if np.any(value[~again] > 0):
        value[again] = 0
    return round_for_comparison(value)


def _hold_all(question: str, sentences: Sequence[RankedSentence]) -> NDArray[np.bool_]:
    """Return which sentences have all words that a question asks about."""
    asked = set(map(stem, asked_words(question)))
    return np.array([asked <= set(map(stem, words(one.text))) for one in sentences], dtype=np.bool_)


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
    named = {
        speaker: _names_speaker(asked.folded, asked.written, speaker) for speaker in dict.fromkeys(speakers)
    }
    return np.array([named[speaker] for speaker in speakers], dtype=np.bool_)


def _names_speaker(folded: Sequence[str], written: Sequence[str], speaker: str) -> bool:
    own = words_with_case(speaker).folded
    if len(own) == 1:
        return any(
            word == own[0] and cased[:1].isupper()
            for word, cased in zip(folded[1:], written[1:], strict=True)
        )
    pairs = {tuple(own[place : place + _FULL]) for place in range(len(own) - 1)}
    return any(tuple(folded[place : place + _FULL]) in pairs for place in range(len(folded) - 1))


def repeats_question(question: str, sentences: Sequence[RankedSentence]) -> NDArray[np.bool_]:
    """Return which sentences ask what is asked, as people of a chat may have done: none of them answers."""
    known = frozenset(map(stem, words(question)))

    def is_again(said: str) -> bool:
        stems = set(map(stem, words(said))) if is_question(said) else set()
        return bool(stems) and len(stems & known) >= _AGAIN * len(stems)

    return np.array([is_again(one.bare_text) for one in sentences], dtype=bool)


def standalone_scores(question: str, wanted: AnswerType, sentences: Sequence[RankedSentence]) -> Scores:
    """Return whether each sentence fits what is wanted, and how well it reads [sentences, 2]."""
    known = frozenset(map(stem, words(question)))
    fits = _fitting(wanted, known, frozenset(map(stem, asked_words(question))))
    return np.array([[fits(one), readability(one.text)] for one in sentences]).reshape(-1, 2)


#: How well a sentence fits that has a number, but not of what is counted.
_OF_ELSE = 0.5


def _fitting(
    wanted: AnswerType, known: frozenset[str], named: frozenset[str]
) -> Callable[[RankedSentence], float]:
    if wanted.kind == "definition":
        return lambda one: defines(one.bare_text, named)
    if wanted.kind == "steps":
        return lambda one: float(one.introduced is not None and one.introduced.is_code)

    def names_it(one: RankedSentence) -> float:
        said = one.bare_text
        types = one.types if wanted.kind in _OF_NAMES else {}
        found = things_of_type(wanted.kind, said, wanted.noun, types)
        if not any(is_new(said[span.start : span.end], known) for span in found):
            return 0.0
        # A number of something else seldom answers how many there are.
        return (
            1.0 if wanted.kind != "number" or not wanted.noun or numbers_of(said, wanted.noun) else _OF_ELSE
        )

    return names_it


_COMPARES = re.compile(
    r"\b(?:compar\w*|chang\w*|develop\w*|differ\w*|evolv\w*|trends?|over (?:the|these|those|all|time)|each"
    r"|every)\b",
    re.IGNORECASE,
)
#: Most documents of which each has a statement, and the least value of that against the best.
_MOST_DOCUMENTS, _LEAST_OF_DOCUMENT = 12, 0.35


def points_by_document(
    question: str, wanted: AnswerType, sentences: Sequence[RankedSentence], value: Scores
) -> list[Point]:
    """Return the best sentence of each document that a comparison names, in the order of their titles.

    Periods in titles, such as 2009-04 and FY24Q2, are then in order, too. Empty where nothing is compared, or
    not all rows are of documents that the question names.
    """
    if not (_COMPARES.search(question) and all(one.row.selected for one in sentences)):
        return []
    best: dict[str, RankedSentence] = {}
    for place in np.argsort(-value, kind="stable").tolist():
        if value[place] > 0 and value[place] >= _LEAST_OF_DOCUMENT * value.max():
            best.setdefault(sentences[place].document, sentences[place])
    found = sorted(((one.row.title, one) for one in best.values()), key=lambda pair: pair[0])
    return points_of_each(question, wanted, found)


def points_of_each(
    question: str, wanted: AnswerType, found: Sequence[tuple[str, RankedSentence]]
) -> list[Point]:
    """Return sentences, each under a heading of its own; empty where they are too few or too many.

    Args:
        question: as asked.
        wanted: what it wants.
        found: headings and sentences.
    """
    if not 2 <= len(found) <= _MOST_DOCUMENTS:
        return []
    marking = Marking.of(question, wanted)
    points = []
    for heading, one in found:
        text, row, quote = one.quotation
        mark = answering_words(text, marking, one.types)
        points.append(Point(heading, ((text, row, quote),), 0.0, one.row.kind, apart=True, marks=(mark,)))
    return points


def points(
    question: str,
    wanted: AnswerType,
    sentences: Sequence[RankedSentence],
    value: Scores,
    most: int,
    characters: int,
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
    marking = Marking.of(question, wanted)
    chosen: list[Point] = []
    taken: list[tuple[str, ...]] = []
    length = 0
    for place in order:
        one = sentences[place]
        group = [one]
        if (
            not chosen
            and most > 1
            and refers_back(one.bare_text)
            and (before := _previous_sentence(sentences, place))
        ):
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
        quotes = tuple(other.quotation for other in group)
        is_first = len(chosen) < _FIRST
        marks = [answering_words(other.quotation[0], marking, other.types) for other in group if is_first]
        chosen.append(Point(one.row.title, quotes, float(value[place]), one.row.kind, marks=tuple(marks)))
    return in_reading_order(chosen, _FIRST)


def _previous_sentence(sentences: Sequence[RankedSentence], place: int) -> RankedSentence | None:
    """The sentence before one in its row."""
    if not place or not sentences[place].place:
        return None
    before = sentences[place - 1]
    return before if before.row.id == sentences[place].row.id and before.quotable else None
