from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.questions.persona_questions import QuestionSet, write_questions
from graphrag_dagster.apps.evaluation.tasks import (
    Described,
    Drafts,
    PersonaDraft,
    QuestionRequest,
    TaskRequest,
)
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.task_ports import Engine

ONE_CALL = Usage(1, 10, 5)


@dataclass
class Planned:
    """A writer that says what it is told to: ``say(request, round)`` for questions, the rest is numbered.

    The round is how often the same persona and task were asked for before.
    """

    say: Callable[[QuestionRequest, int], Sequence[str]]
    people: Callable[[int, int], Sequence[PersonaDraft]] | None = None
    work: Callable[[TaskRequest, int], Sequence[str]] | None = None
    problem: str | None = None
    engine: Engine = "llm"
    asked: list[QuestionRequest] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)

    def describe(self, texts: Sequence[str]) -> Described:
        return Described(" ".join(texts))

    def personas(
        self, description: str, count: int, avoid: Sequence[PersonaDraft] = ()
    ) -> Drafts[PersonaDraft]:
        again = self._round("personas")
        made = (
            self.people(count, again)
            if self.people
            else [PersonaDraft(f"P{n}", f"Who is {n}") for n in range(count)]
        )
        return Drafts(tuple(made), usage=ONE_CALL)

    def tasks(self, requests: Sequence[TaskRequest]) -> list[Drafts[str]]:
        return [self._tasks(one) for one in requests]

    def questions(self, requests: Sequence[QuestionRequest]) -> list[Drafts[str]]:
        self.asked += requests
        return [
            Drafts(
                tuple(self.say(one, self._round((one.persona.name, one.task)))), self.problem, usage=ONE_CALL
            )
            for one in requests
        ]

    def _tasks(self, request: TaskRequest) -> Drafts[str]:
        again = self._round(request.persona.name)
        if self.work:
            return Drafts(tuple(self.work(request, again)), usage=ONE_CALL)
        made = (f"T{n} of {request.persona.name}" for n in range(request.count))
        return Drafts(tuple(made), usage=ONE_CALL)

    def _round(self, key: Any) -> int:
        self.seen.append(key)
        return self.seen.count(key) - 1


def distinct(request: QuestionRequest, _: int) -> list[str]:
    made = (f"Q{n} of {request.task}?" for n in count())
    return [
        text
        for text, _ in zip((t for t in made if t not in request.avoid), range(request.count), strict=False)
    ]


def write(writer: Planned, personas: int = 1, tasks: int = 1, questions: int = 2, **more: Any) -> QuestionSet:
    return write_questions(writer, "About it", personas=personas, tasks=tasks, questions=questions, **more)


def texts(made: QuestionSet) -> list[str]:
    return [one["question"] for one in made.questions]


def test_a_set_has_every_row_in_its_place() -> None:
    made = write(Planned(distinct), 2, 3, 4)
    assert [(one["position"], one["name"]) for one in made.personas] == [(0, "P0"), (1, "P1")]
    assert [one["position"] for one in made.tasks] == [0, 1, 2] * 2
    assert [one["persona_id"] for one in made.tasks] == [
        one["persona_id"] for one in made.personas for _ in "abc"
    ]
    assert [one["position"] for one in made.questions] == [0, 1, 2, 3] * 6
    assert [one["task_id"] for one in made.questions] == [
        one["task_id"] for one in made.tasks for _ in "abcd"
    ]
    assert {one["repeats"] for one in made.questions} == {0}
    assert (made.usage, made.problems) == (Usage(9, 90, 45), ())


def test_ids_depend_on_the_texts_alone() -> None:
    made = write(Planned(lambda *_: ["  Why\nnot? ", "What else?"]))
    person, task = made.personas[0], made.tasks[0]
    assert person["persona_id"] == stable_id("persona", "P0", "Who is 0")
    assert task["task_id"] == stable_id("task", person["persona_id"], "T0 of P0")
    assert texts(made) == ["Why not?", "What else?"]
    assert made.questions[0]["question_id"] == stable_id("question", "Why not?")


def test_the_default_is_five_of_each() -> None:
    made = write_questions(Planned(distinct), "About it")
    assert (len(made.personas), len(made.tasks), len(made.questions)) == (5, 25, 125)


def test_surplus_fills_the_place_of_repetitions_and_is_cut() -> None:
    made = write(Planned(lambda *_: ["A?", " a? ", "", "…", "B?", "C?"]))
    assert texts(made) == ["A?", "B?"]
    assert {one["repeats"] for one in made.questions} == {0}


def test_what_another_task_asks_already_is_asked_for_again_and_told() -> None:
    def say(request: QuestionRequest, again: int) -> list[str]:
        if again:
            return ["b?", "D?", "E?"]
        return ["A?", "B?"] if request.task.startswith("T0") else ["C?", "B ?".replace(" ", "")]

    writer = Planned(say)
    made = write(writer, tasks=2)
    assert texts(made) == ["A?", "B?", "C?", "D?"]
    assert [one["repeats"] for one in made.questions] == [0, 0, 0, 1]
    assert [(one.count, one.avoid) for one in writer.asked] == [(2, ()), (2, ()), (2, ("C?", "B?"))]


def test_every_repetition_asks_for_one_more_so_that_no_prompt_comes_twice() -> None:
    def say(_: QuestionRequest, again: int) -> list[str]:
        return ["A?"] if again < 3 else ["A?", "B?", "C?"]

    writer = Planned(say)
    made = write(writer)
    assert [(one["question"], one["repeats"]) for one in made.questions] == [("A?", 0), ("B?", 3)]
    assert [one.count for one in writer.asked] == [2, 2, 3, 4]
    assert made.usage.calls == 6


def test_what_is_missing_after_three_repetitions_is_told() -> None:
    writer = Planned(lambda *_: ["A?", "a?"], problem="the model is tired")
    with pytest.raises(EngineError) as told:
        write(writer, tasks=2, questions=3)
    assert str(told.value) == (
        "5 of 6 are still missing after 3 repetitions, because the replies were blank, repeated or unusable: "
        "2 of 3 questions of the task 'T0 of P0' of the persona 'P0' (the model is tired); "
        "3 of 3 questions of the task 'T1 of P0' of the persona 'P0' (the model is tired). "
        "Use a model that follows instructions better, describe the corpus in more detail, or request fewer "
        "personas, tasks or questions"
    )
    assert len(writer.asked) == 8


def test_many_gaps_are_counted_and_the_first_are_named() -> None:
    with pytest.raises(EngineError, match=r"^18 of 18 .*and so on, in 9 places\. Use a model") as told:
        write(Planned(lambda *_: []), 3, 3)
    assert str(told.value).count("of the task") == 5


def test_personas_are_told_apart_by_their_names() -> None:
    def people(asked: int, again: int) -> list[PersonaDraft]:
        first = [
            PersonaDraft("Teacher", "One"),
            PersonaDraft("teacher ", "Two"),
            PersonaDraft("", "x"),
            PersonaDraft("Y", " "),
        ]
        return [PersonaDraft("Judge", "Three"), PersonaDraft("Nurse", "Four")] if again else first

    made = write(Planned(distinct, people=people), 2)
    assert [(one["name"], one["description"]) for one in made.personas] == [
        ("Teacher", "One"),
        ("Judge", "Three"),
    ]
    with pytest.raises(EngineError, match=r"^1 of 2 .*: 1 of 2 personas\. "):
        write(Planned(distinct, people=lambda *_: people(0, 0)), 2)


def test_tasks_are_distinct_over_all_personas() -> None:
    def work(request: TaskRequest, again: int) -> list[str]:
        return ["Comparing", f"Tracing {request.persona.name}"] if again else ["Comparing"]

    made = write(Planned(distinct, work=work), 2)
    assert [one["task"] for one in made.tasks] == ["Comparing", "Tracing P1"]


def test_problems_of_a_complete_set_are_kept() -> None:
    made = write(Planned(distinct, problem="cut off"))
    assert made.problems == ("questions of the task 'T0 of P0' of the persona 'P0': cut off",)


@pytest.mark.parametrize("description", ["", " \n"])
def test_a_blank_description_is_refused(description: str) -> None:
    with pytest.raises(EngineError, match="it is blank; set one"):
        write_questions(Planned(distinct), description)


def test_counts_below_one_and_a_choice_without_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        write(Planned(distinct), tasks=0)
    with pytest.raises(ValueError, match="takes embed"):
        write(Planned(distinct), oversample=2)


PLANE = {
    "T0 of P0": (1.0, 0.0),
    "Near?": (2.0, 0.0),
    "Nearly near?": (0.9, 0.1),
    "Aside?": (0.6, 0.8),
    "Away?": (-1.0, 0.0),
}


def plane(asked: Sequence[str]) -> NDArray[np.float64]:
    return np.array([PLANE[text] for text in asked])


def test_among_twice_as_many_those_are_chosen_that_fit_the_task_and_differ() -> None:
    """Values after Near?: .5·.994 − .5·.994 = 0 for Nearly near?, 0 for Aside? too; the first wins the tie."""
    offered = ["Away?", "Aside?", "Nearly near?", "Near?"]
    writer = Planned(lambda *_: offered)
    made = write(writer, oversample=2, embed=plane)
    assert writer.asked[0].count == 4
    assert texts(made) == ["Aside?", "Near?"]
    assert [one["position"] for one in made.questions] == [0, 1]
    assert texts(write(Planned(lambda *_: offered), questions=1, oversample=4, embed=plane)) == ["Near?"]


def test_fewer_than_twice_as_many_are_enough_and_only_gaps_are_asked_for_again() -> None:
    writer = Planned(lambda request, again: ["Near?", "Aside?", "Away?"] if again else ["Near?"])
    made = write(writer, oversample=2, embed=plane)
    assert [one.count for one in writer.asked] == [4, 2]
    assert [(one["question"], one["repeats"]) for one in made.questions] == [("Near?", 0), ("Aside?", 1)]
    plenty = Planned(lambda *_: ["Near?", "Aside?", "Away?"])
    write(plenty, oversample=2, embed=plane)
    assert len(plenty.asked) == 1


@given(st.lists(st.sampled_from(["a?", "A ?", " A?", "b?", "c?", "d?", "", "?"]), min_size=1, max_size=8))
def test_whatever_comes_the_set_is_complete_and_distinct_or_refused(said: list[str]) -> None:
    try:
        made = write(Planned(lambda *_: said), tasks=1, questions=3)
    except EngineError:
        assert len({text.casefold().strip() for text in said if any(map(str.isalnum, text))}) < 3
    else:
        keys = [" ".join(text.casefold().split()) for text in texts(made)]
        assert len(set(keys)) == len(keys) == 3
