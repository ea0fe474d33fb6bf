"""Answers made of quotations, chosen by rule, and reports rated by words."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from math import fsum
from typing import Final

import numpy as np

from graphrag_dagster.engines.extractive import sentence_selection as focused
from graphrag_dagster.engines.extractive.across_languages import (
    is_in_another_language,
    values_across_languages,
)
from graphrag_dagster.engines.extractive.answer_layouts import list_entities, points_of_both, themes
from graphrag_dagster.engines.extractive.answer_types import OF_ANY, AnswerType, answer_type_of
from graphrag_dagster.engines.extractive.named_rows import named_rows
from graphrag_dagster.engines.extractive.sentence_fusion import fuse_values
from graphrag_dagster.engines.extractive.sentence_selection import (
    RankedSentence,
    in_reading_order,
    lay_out,
    sentences_of,
)
from graphrag_dagster.engines.extractive.unanswerable import lacks_amount, missing_subject, of_another_time
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.progress import track
from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder, Embedder
from graphrag_dagster.kernel.models.packaged_cross_encoder import PackagedCrossEncoder
from graphrag_dagster.kernel.questions.scope.course_of_time import Course, course_of
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words, relevance
from graphrag_dagster.kernel.tasks.answering_ports import (
    HIGHEST_RATING,
    BatchRatings,
    Exploration,
    FollowUp,
    Rating,
)
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Engine, FinalAnswer, PartialAnswer, Point
from graphrag_dagster.kernel.text.answer_form import AnswerForm, most_sentences
from graphrag_dagster.kernel.text.citations import ContextKind
from graphrag_dagster.kernel.text.prompt_templates import Turn
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine, readability
from graphrag_dagster.kernel.text.text_similarity import repeats, words

_PER_PARTIAL = 15
_IN_ANSWER = 12
_THEMES, _LISTED = 8, 20
#: Entities from which a list is one.
_FEW = 2
#: Themes from which they are an overview.
_FEW_THEMES = 4
_TOP = 3
_MEDIAN = 0.5
#: Value against the best from which a sentence of another partial answer is quoted too.
_LEAST = 0.6


class ExtractiveAnswerer:
    """Quotes the sentences of the context that answer the question; invents nothing.

    What a question wants is read from its words (:mod:`.answer_types`). A question about something is
    answered by the sentences nearest to it (:mod:`.sentence_relevance`), those first that
    name what it asks for; one for a list by the entities of the type, counted over documents; one for an
    overview by the phrases that tell the documents apart. A question that the context has too little to do
    with is refused.

    A chunk's score is 100 times the mean percentile of its three best sentences among those of all chunks;
    below 50, or without one, it is 0.

    Args:
        form: what is wished of the answer; of its response type only a number of sentences or points can be
            met, which is then the most that are quoted.
        cross_encoder: scores sentences beside the rules; None: rules alone.
        multilingual: compares questions with sentences of other languages; None: words alone do.

    Raises:
        QuestionError: the form asks for what quotations cannot give.
    """

    engine: Final[Engine] = "extractive"

    def __init__(
        self,
        embedder: Embedder,
        form: AnswerForm | None = None,
        cross_encoder: PackagedCrossEncoder | None = None,
        multilingual: CorpusEmbedder | None = None,
    ) -> None:
        own = form or AnswerForm()
        self._multilingual = multilingual
        self._embedder = embedder
        self._cross_encoder = cross_encoder
        self._most = _sentence_limit(own.response_type) if own.response_type else None
        if own.general_knowledge:
            raise QuestionError(
                "the extractive engine quotes the documents and knows nothing of the world; leave general "
                "knowledge out, or set search.engine: llm"
            )

    def map(
        self,
        question: str,
        chunks: Sequence[Sequence[ContextUnit]],
        rendered: Sequence[str],
    ) -> list[PartialAnswer]:
        """Return per chunk what it has to the answer, each sentence cited.

        That is at most half as long as the chunk, so that more than one partial answer can be joined.
        """
        sentences = sentences_of(chunks)
        if self._multilingual and is_in_another_language(question, sentences):
            value = values_across_languages(question, sentences, self._multilingual)
            return self._partials(question, AnswerType(), chunks, rendered, sentences, value)
        course = course_of(question)
        question = course.text if course else question
        sought = answer_type_of(question)
        if sought.shape == "overview":
            return _partials_of_points(self._overview(question, sentences), chunks, rendered)
        if rows := named_rows(question, sought, sentences, self._embedder):
            return _partials_of_points(rows, chunks, rendered)
        if missing_subject(question, sentences, self._embedder) or lacks_amount(question, sought, sentences):
            return [PartialAnswer("", 0) for _ in chunks]
        if sought.shape == "list":
            points = self._list_entities(question, sought, sentences)
        elif sought.shape == "sides":
            asked = [f"{sought.topic} {side}".strip() for side in sought.sides]
            value = self._values(asked, sought, sentences)
            points = points_of_both(sought.sides, sought.topic, sentences, value)
        else:
            points = []
        if points:
            return _partials_of_points(points, chunks, rendered)
        value = _at_its_time(question, sentences, self._values([question], sought, sentences))
        if self._cross_encoder:
            value = fuse_values(question, sentences, value, self._cross_encoder)
        points = self._over_time(course, sought, sentences) if course else []
        if points := points or focused.points_by_document(question, sought, sentences, value):
            return _partials_of_points(points, chunks, rendered)
        return self._partials(question, sought, chunks, rendered, sentences, value)

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        """Join partial answers: what answers best first, nothing twice, every sentence with its citation."""
        every = sorted((one for partial in partials for one in partial.points), key=lambda one: -one.value)
        lists = answer_type_of(question).shape == "list"
        most = self._most or (_LISTED if lists else _IN_ANSWER)
        chosen: list[Point] = []
        said: list[tuple[str, ...]] = []
        for point in every:
            own = [words(text) for text, _, _ in point.quotes]
            if len(said) + len(own) > most or point.value < _LEAST * every[0].value:
                break
            # One sentence may name several things of a list.
            if lists or point.apart or not repeats(own[-1], said):
                said += own
                chosen.append(point)
        chosen = in_reading_order(chosen, _TOP)
        quotes = tuple(quote for point in chosen for quote in point.quotes)
        text, layout = lay_out(chosen)
        return FinalAnswer(text, self.engine, quotes, layout=layout)

    def answer(
        self,
        question: str,
        rows: Sequence[ContextUnit],
        rendered: str,
        history: Sequence[Turn] = (),  # noqa: ARG002 - what was said before is part of what was retrieved.
    ) -> FinalAnswer:
        """Quote what the rows' sources have to the answer; blank where that is nothing."""
        partials = [one for one in self.map(question, [rows], [rendered]) if one.score]
        return self.reduce(question, partials) if partials else FinalAnswer("", self.engine)

    def _overview(self, question: str, sentences: Sequence[RankedSentence]) -> list[Point]:
        """The themes; where there are hardly any, of each row the sentence nearest to the middle of all."""
        most = self._most or _THEMES
        found = themes(sentences, self._embedder, most)
        if len(found) >= _FEW_THEMES or not sentences:
            return found
        value = relevance(question, [one.line for one in sentences], self._embedder).value
        best: dict[int, int] = {}
        for place in np.argsort(-value, kind="stable").tolist():
            if sentences[place].quotable:
                best.setdefault(sentences[place].row.id, place)
        chosen = [sentences[place] for place in best.values()][:most]
        return [Point(one.row.title, (one.quotation,), 0.0, one.row.kind) for one in chosen]

    def _over_time(
        self, course: Course, sought: AnswerType, sentences: Sequence[RankedSentence]
    ) -> list[Point]:
        """The sentence that answers best of those of each period, in order of time."""
        of_period: dict[str, list[RankedSentence]] = {}
        for one, label in zip(sentences, course.labels(one.day for one in sentences), strict=True):
            if label:
                of_period.setdefault(label, []).append(one)
        found = []
        for label, own in sorted(of_period.items()):
            value = self._values([course.text], sought, own)
            if value.max() > 0:
                found.append((label, own[int(value.argmax())]))
        return focused.points_of_each(course.text, sought, found)

    def _list_entities(
        self, question: str, sought: AnswerType, sentences: Sequence[RankedSentence]
    ) -> list[Point]:
        """Entities of the type in sentences about the whole question, or about the rest of it."""
        without = " ".join(word for word in question.split() if sought.noun not in words(word))
        asked = [without] if sought.noun in OF_ANY else [question, without]
        for about in filter(asked_words, asked):
            found = self._points_of_type(
                question, sought, sentences, self._values([about], sought, sentences)
            )
            if len(found) >= _FEW:
                return found
        every = np.ones(len(sentences))
        return [] if asked_words(without) else self._points_of_type(question, sought, sentences, every)

    def _points_of_type(
        self, question: str, sought: AnswerType, sentences: Sequence[RankedSentence], value: Scores
    ) -> list[Point]:
        return list_entities(question, sought.type, sentences, value, self._most or _LISTED)

    def _values(
        self, questions: Sequence[str], sought: AnswerType, sentences: Sequence[RankedSentence]
    ) -> Scores:
        """How well each sentence answers the question that it answers best."""
        lines = [one.line for one in sentences]
        every = [
            focused.sentence_values(one, sought, sentences, relevance(one, lines, self._embedder))
            for one in questions
        ]
        best: Scores = np.maximum.reduce(every)
        return best

    def _partials(
        self,
        question: str,
        sought: AnswerType,
        chunks: Sequence[Sequence[ContextUnit]],
        rendered: Sequence[str],
        sentences: Sequence[RankedSentence],
        value: Scores,
    ) -> list[PartialAnswer]:
        return [
            self._partial(question, sought, number, sentences, value, len(rendered[number]) // 2)
            for number in range(len(chunks))
        ]

    def _partial(
        self,
        question: str,
        sought: AnswerType,
        chunk: int,
        sentences: Sequence[RankedSentence],
        value: Scores,
        characters: int,
    ) -> PartialAnswer:
        own = round_for_comparison(value)
        for place, one in enumerate(sentences):
            if one.chunk != chunk:
                own[place] = 0.0
        found = focused.points(question, sought, sentences, own, self._most or _PER_PARTIAL, characters)
        top = sorted((number for number in own.tolist() if number > 0), reverse=True)[:_TOP]
        every = value[value > 0]
        mean = fsum(float((every <= one).mean()) for one in top) / len(top) if top else 0.0
        return _partial_answer(found, round(100 * mean) if mean >= _MEDIAN else 0)


def _partials_of_points(
    points: Sequence[Point], chunks: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
) -> list[PartialAnswer]:
    """Each chunk with the points that begin in it, in their order, all of nearly the same value."""
    made = []
    for chunk, shown in zip(chunks, rendered, strict=True):
        rows = {row.id for row in chunk}
        own: list[Point] = []
        length = 0
        for rank, point in enumerate(points):
            length += len(point.quotes[0][0]) if point.quotes[0][1] in rows else 0
            if point.quotes[0][1] in rows and (not own or length <= len(shown) // 2):
                own.append(replace(point, value=1 - rank / 1000))
        made.append(_partial_answer(own, round(100 * own[0].value) if own else 0))
    return made


def _at_its_time(question: str, sentences: Sequence[RankedSentence], value: Scores) -> Scores:
    """Return the values, 0 for sentences of another time than the question's, and for what is only near."""
    other = of_another_time(question, sentences)
    # What else is near to the question is so beside those that do not answer.
    return np.where(other | (other.any() & (value < _LEAST * value.max(initial=0.0))), 0.0, value)


def _partial_answer(points: Sequence[Point], score: int) -> PartialAnswer:
    quotes = tuple(quote for point in points for quote in point.quotes)
    rows = tuple(dict.fromkeys(row for _, row, _ in quotes))
    text, layout = lay_out(points)
    return PartialAnswer(text, score if points else 0, rows, quotes, points=tuple(points), layout=layout)


def _sentence_limit(response_type: str) -> int:
    most = most_sentences(response_type, _IN_ANSWER)
    if most is None:
        raise QuestionError(
            f"the extractive engine quotes sentences and cannot give {response_type!r}; ask for a single "
            f"sentence, for 2 to {_IN_ANSWER} sentences or a list of so many points, or for multiple "
            "paragraphs, or set search.engine: llm"
        )
    return most


#: Rows of these kinds have a subject for a title; the title of a text unit is that of its document.
_SUBJECTS: frozenset[ContextKind] = frozenset({"entity", "report"})

#: What a subject must have of the relevance of the best one.
_OF_BEST = 0.5


def subject_of(question: str, title: str) -> str:
    """Return the follow-up question that asks a question again about one subject.

    >>> subject_of("Who built the quay?", "Orrin Vask")
    'Who built the quay? (about Orrin Vask)'
    """
    return f"{question} (about {title})"


class ExtractiveExplorer:
    """Quotes the relevant sentences of a context, and asks on about the subjects it names.

    It understands no question well enough to make another: a follow-up question is the main question together
    with the title of an entity or a report of the context, the most relevant first (:func:`subject_of`).
    Subjects whose words the questions so far hold already are not asked about.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._answerer = ExtractiveAnswerer(embedder)

    def primer(self, question: str, rows: Sequence[ContextUnit], rendered: str, most: int) -> Exploration:
        """Quote the sentences of the reports that are related to the question."""
        return self._explore([question], FollowUp(question, rows, rendered), most)

    def follow(self, asked: Sequence[str], steps: Sequence[FollowUp], most: int) -> list[Exploration]:
        """Quote for each follow-up question the sentences of its context that are related to it."""
        return [self._explore(asked, step, most) for step in track(steps, "Following up", len(steps))]

    def _explore(self, asked: Sequence[str], step: FollowUp, most: int) -> Exploration:
        [partial] = self._answerer.map(step.question, [step.rows], [step.rendered])
        follow_ups = tuple(subject_of(asked[0], title) for title in self._subjects(asked, step.rows)[:most])
        return Exploration(
            partial.text, partial.score or 0, follow_ups, partial.quotes, points=partial.points
        )

    def _subjects(self, asked: Sequence[str], rows: Sequence[ContextUnit]) -> list[str]:
        """Return titles of rows that are related to the main question, the most relevant first."""
        lines = [
            SentenceLine(text, place, len(row.sentences) or 1, number, row.title)
            for number, row in enumerate(rows)
            for place, text in enumerate([sentence for sentence, _ in row.sentences] or [row.text])
        ]
        found = relevance(asked[0], lines, self._embedder)
        best: dict[str, float] = {}
        for line, value in zip(lines, found.value.tolist(), strict=True):
            if found.related.any() and rows[line.row].kind in _SUBJECTS:
                best[line.title] = max(best.get(line.title, 0.0), value)
        least = _OF_BEST * max(best.values(), default=0.0)
        best = {title: value for title, value in best.items() if value > 0 and value >= least}
        known = [frozenset(words(question)) for question in asked]
        new = [
            title for title in best if words(title) and not any(one.issuperset(words(title)) for one in known)
        ]
        return sorted(new, key=lambda title: (-best[title], title))


class ExtractiveReportRater:
    """Rates a report by its sentences that are related to the question.

    Without a related sentence the rating is 0; else 1 plus four times the mean percentile of its three most
    relevant sentences among the related sentences of all reports that are rated together, rounded.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def rate(
        self,
        question: str,
        batches: Sequence[Sequence[ContextUnit]],
        rendered: Sequence[str],  # noqa: ARG002 - only a model reads what a prompt shows.
    ) -> list[BatchRatings]:
        """Return the ratings of each batch; how reports are divided into batches does not matter."""
        numbered = enumerate(unit for batch in batches for unit in batch)
        lines = [
            SentenceLine(text, place, len(unit.sentences), number, unit.title)
            for number, unit in numbered
            for place, (text, _) in enumerate(unit.sentences)
        ]
        found = relevance(question, lines, self._embedder)
        related: dict[int, list[float]] = {}
        for line, percentile, is_related in zip(lines, found.percentile, found.related, strict=True):
            if is_related and readability(line.text) > 0:
                related.setdefault(line.row, []).append(float(percentile))
        rows = count()
        return [
            BatchRatings(tuple(Rating(_score(related.get(next(rows), []))) for _ in batch))
            for batch in batches
        ]


def _score(percentiles: Sequence[float]) -> int:
    best = sorted(percentiles, reverse=True)[:_TOP]
    return 1 + round((HIGHEST_RATING - 1) * fsum(best) / len(best)) if best else 0
