"""Rule-based implementations of the evaluation's tasks, without a model.

Every question is about one theme of the corpus from the point of view of one persona, and needs many texts
together for its answer. There is no language understanding: the themes come from the graph of the corpus.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graphrag_dagster.apps.evaluation.tasks import (
    AnswerText,
    Described,
    Drafts,
    PersonaDraft,
    QuestionRequest,
    SentenceClaims,
    TaskRequest,
)
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.progress import track
from graphrag_dagster.kernel.text.statement_reading import AnswerSentence, answer_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphrag_dagster.apps.evaluation.tasks import ClaimDecomposer, QuestionWriter
    from graphrag_dagster.kernel.tasks.task_ports import Engine
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


def question_writer(session: TaskProvider) -> QuestionWriter:
    """Writer of questions."""
    return ExtractiveQuestionWriter(session.themes)


def claim_decomposer(_: TaskProvider) -> ClaimDecomposer:
    """Splits answers into claims."""
    return ExtractiveClaimDecomposer()


class ExtractiveClaimDecomposer:
    """Takes each sentence as one claim; headings and questions state nothing.

    Nothing is taken apart and no pronoun is resolved. Rules that also left out advice, guesses and judgements
    chose worse than keeping all: F1 .907 against .942 on the labels of Factcheck-GPT.
    """

    engine: Final[Engine] = "extractive"

    def decompose(self, answers: Sequence[AnswerText]) -> Iterator[tuple[SentenceClaims, ...]]:
        """Yield the claims of each answer's sentences; the result of an answer depends on it alone."""
        for answer in track(answers, "Extracting claims", len(answers)):
            yield tuple(_claim_of(sentence) for sentence in answer_sentences(answer.text))


_QUESTION = re.compile(r"[?？][\"'”’)\]]*\Z")


def _claim_of(sentence: AnswerSentence) -> SentenceClaims:
    reason = "a heading" if sentence.heading else "a question" if _QUESTION.search(sentence.text) else None
    if reason:
        return SentenceClaims(sentence.text, "not_verifiable", reason=reason)
    return SentenceClaims(sentence.text, "kept", (sentence.text,))


#: Who asks, what for, and the point of view from which the person looks at each theme.
_PERSONAS = (
    ("Journalist", "Writes about what people disagree on.", "points of dispute"),
    ("Historian", "Traces how things came to be as they are.", "change over time"),
    ("Teacher", "Explains how one thing leads to another.", "causes and consequences"),
    ("Policy adviser", "Prepares rules for others to decide on.", "rules and decisions"),
    ("Business analyst", "Weighs what may go wrong against what may go well.", "risks and opportunities"),
    ("Sociologist", "Studies how people live together.", "everyday life and community"),
    ("Project manager", "Brings people together to get work done.", "cooperation and shared work"),
    ("Ethicist", "Asks what is right, and for whom.", "values and fairness"),
    ("Newcomer to the field", "Wants to know who and what to watch.", "leading people and groups"),
    ("Archivist", "Looks for what has not been recorded yet.", "gaps and open questions"),
    ("Scientist", "Asks how anybody knows.", "evidence and proof"),
    ("Engineer", "Wants to see how things are done.", "methods and tools"),
)
_SUBJECT = "{view} in connection with {theme}"
_TASKS = (
    "Getting an overview of {subject}",
    "Comparing what different texts say about {subject}",
    "Judging what is known and what is missing on {subject}",
)
_QUESTIONS = (
    "Taken together, what do the texts say about {subject}?",
    "Which patterns run through all that the texts report on {subject}?",
    "How do the texts differ in the way they treat {subject}?",
    "Which other themes of the collection are tied to {subject}, and how?",
    "What can be concluded from the collection as a whole about {subject}?",
    "How much weight does the collection give to {subject}, compared with its other themes?",
    "Which reasons do the texts as a whole give for what they report on {subject}?",
    "Where do the texts agree, and where do they contradict each other, on {subject}?",
    "Which different viewpoints on {subject} are found across the texts?",
    "How does the picture that the texts draw of {subject} shift across the collection?",
    "Who speaks about {subject} in the texts, and whose voice is missing?",
    "How are different groups affected, going by all of the texts, by {subject}?",
    "Which kinds of examples do the texts use when they deal with {subject}?",
    "What would a summary of everything that is said about {subject} have to name?",
    "What do the texts take for granted when they deal with {subject}?",
    "What does the collection leave unsaid about {subject}?",
    "How well do the different statements on {subject} fit together into one picture?",
    "Which lessons can be drawn from everything the texts say about {subject}?",
    "What would surprise a reader of the whole collection about {subject}?",
    "What follows for the future from what the texts as a whole say about {subject}?",
)
#: The second and the third task on a theme begin further on in the list and so seldom share a question.
_STRIDE = 7
_DESCRIBED = 10


class ExtractiveQuestionWriter:
    """Fills templates with the themes of a corpus, the first theme first.

    At most 12 personas, three tasks for each persona and theme, and 20 questions for each task.

    Args:
        themes: short names, the most important first, such as titles of communities or entities; blanks are
            collapsed, repetitions are left out.

    Raises:
        EngineError: there are no themes.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, themes: Sequence[str]) -> None:
        cleaned = (" ".join(theme.split()).strip(" .;:,?!") for theme in themes)
        self._themes = tuple({_key(theme): theme for theme in reversed([*cleaned]) if theme}.values())[::-1]
        if not self._themes:
            raise EngineError(
                "the extractive engine writes questions about the themes of a corpus, and there are none; "
                "index the corpus first, or use a model for the questions"
            )
        self._views = {_key(name): view for name, _, view in _PERSONAS}

    def describe(self, _: Sequence[str]) -> Described:
        """Return a sentence that lists up to ten of the themes; the texts are not read."""
        *first, last = self._themes[:_DESCRIBED]
        if not first:
            return Described(f"A collection of texts. Its main theme is {last}.")
        return Described(f"A collection of texts. Its main themes are {', '.join(first)} and {last}.")

    def personas(self, _: str, count: int, avoid: Sequence[PersonaDraft] = ()) -> Drafts[PersonaDraft]:
        """Return the first personas of the list, the same for every corpus, that are not to be avoided.

        Raises:
            EngineError: more are asked for than the list has.
        """
        self._check(count, len(_PERSONAS), "personas")
        used = {_key(persona.name) for persona in avoid}
        left = [PersonaDraft(name, wants) for name, wants, _ in _PERSONAS if _key(name) not in used]
        return Drafts[PersonaDraft](tuple(left[:count]), self._shortage(count, len(left), "personas"))

    def tasks(self, requests: Sequence[TaskRequest]) -> list[Drafts[str]]:
        """Return for each request tasks on one theme after the other.

        Raises:
            EngineError: more tasks are asked for than can be made, or a persona is not of the list.
        """
        return [self._tasks(request) for request in requests]

    def questions(self, requests: Sequence[QuestionRequest]) -> list[Drafts[str]]:
        """Return for each request questions on the theme of its task.

        Raises:
            EngineError: more questions are asked for than can be made, or a persona or task is not one that
                this engine made.
        """
        return [self._questions(request) for request in requests]

    def _tasks(self, request: TaskRequest) -> Drafts[str]:
        self._check(request.count, len(_TASKS) * len(self._themes), "tasks for each persona")
        made = [task for task, _, _ in self._tasks_of(request.persona)]
        return self._remaining(made, request.avoid, request.count, "tasks for this persona")

    def _questions(self, request: QuestionRequest) -> Drafts[str]:
        self._check(request.count, len(_QUESTIONS), "questions for each task")
        asked = _key(request.task)
        found = next((one for one in self._tasks_of(request.persona) if _key(one[0]) == asked), None)
        if found is None:
            raise EngineError(
                f"the extractive engine did not write the task {request.task!r} of {request.persona.name!r}; "
                "use the same engine for personas, tasks and questions"
            )
        _, kind, subject = found
        first = kind * _STRIDE
        made = [form.format(subject=subject) for form in _QUESTIONS[first:] + _QUESTIONS[:first]]
        return self._remaining(made, request.avoid, request.count, "questions for this task")

    def _tasks_of(self, persona: PersonaDraft) -> list[tuple[str, int, str]]:
        """Return text, kind and subject of all tasks of a persona."""
        view = self._views.get(_key(persona.name))
        if view is None:
            raise EngineError(
                f"the extractive engine has no persona {persona.name!r}; use the same engine for personas, "
                "tasks and questions"
            )
        subjects = [_SUBJECT.format(view=view, theme=theme) for theme in self._themes]
        return [
            (form.format(subject=subject), kind, subject)
            for kind, form in enumerate(_TASKS)
            for subject in subjects
        ]

    def _remaining(self, made: Iterable[str], avoid: Sequence[str], count: int, what: str) -> Drafts[str]:
        used = set(map(_key, avoid))
        left = [one for one in made if _key(one) not in used]
        return Drafts[str](tuple(left[:count]), self._shortage(count, len(left), what))

    def _shortage(self, count: int, left: int, what: str) -> str | None:
        return None if left >= count else f"{left or 'no'} more {what} can be written; {self._possible()}"

    def _check(self, count: int, most: int, what: str) -> None:
        if count > most:
            raise EngineError(
                f"{count} {what} were requested, but the extractive engine can write at most {most}; "
                f"{self._possible()}. Request fewer, or use a model for the questions"
            )

    def _possible(self) -> str:
        # The second and the third task on a theme draw on the same questions as the first.
        people, themes, questions = len(_PERSONAS), len(self._themes), len(_QUESTIONS)
        return (
            f"{people * themes * questions:,} distinct questions are possible: {people} personas x {themes} "
            f"{'theme' if themes == 1 else 'themes'} x {questions} templates, in {len(_TASKS)} tasks "
            "for each theme"
        )


def _key(text: str) -> str:
    return " ".join(text.casefold().split())
