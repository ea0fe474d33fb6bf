import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.apps.evaluation.extractive import ExtractiveQuestionWriter
from graphrag_dagster.apps.evaluation.questions.persona_questions import QuestionSet, write_questions
from graphrag_dagster.apps.evaluation.tasks import PersonaDraft, QuestionRequest, TaskRequest
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder

THEMES = (
    "Harbour Authority",
    "Ropewalk Museum",
    "herring fishery",
    "north quay",
    "Vell & Daughters",
    "church choirs",
    "potato blight",
    "mail boat",
    "lighthouse keepers",
    "net making",
)


def whole(themes: tuple[str, ...], personas: int, tasks: int, questions: int) -> QuestionSet:
    writer = ExtractiveQuestionWriter(themes)
    return write_questions(
        writer, writer.describe([]).text, personas=personas, tasks=tasks, questions=questions
    )


def test_ten_themes_give_a_thousand_distinct_questions() -> None:
    made = whole(THEMES, 10, 10, 10)
    assert (len(made.personas), len(made.tasks), len(made.questions)) == (10, 100, 1000)
    assert len({one["question"].casefold() for one in made.questions}) == 1000
    assert len({one["question_id"] for one in made.questions}) == 1000
    assert len({one["task"].casefold() for one in made.tasks}) == 100
    assert {one["repeats"] for one in made.questions} == {0}
    assert (made.problems, made.usage.calls) == ((), 0)


def test_every_question_is_one_sentence_about_one_theme_and_the_texts_as_a_whole() -> None:
    for one in whole(THEMES, 12, 10, 20).questions:
        assert re.fullmatch(r"[A-Z][^?.!]*\?", one["question"]), one["question"]
        assert sum(theme in one["question"] for theme in THEMES) == 1
        assert re.search(r"\b(?:texts|collection|everything|statements)\b", one["question"]), one["question"]
        assert len(one["question"]) < 160


def test_a_known_question() -> None:
    made = whole(THEMES, 1, 1, 2)
    assert made.personas[0]["name"] == "Journalist"
    assert made.tasks[0]["task"] == (
        "Getting an overview of points of dispute in connection with Harbour Authority"
    )
    assert [one["question"] for one in made.questions] == [
        "Taken together, what do the texts say about points of dispute in connection with Harbour Authority?",
        "Which patterns run through all that the texts report on points of dispute in connection with "
        "Harbour Authority?",
    ]


@given(st.integers(1, 12), st.integers(1, 10), st.integers(1, 20), st.permutations(THEMES).map(tuple))
@settings(max_examples=15, deadline=None)
def test_the_same_themes_give_the_same_questions_of_the_asked_number(
    personas: int, tasks: int, questions: int, themes: tuple[str, ...]
) -> None:
    made = whole(themes, personas, tasks, questions)
    assert made == whole(themes, personas, tasks, questions)
    texts = {" ".join(one["question"].casefold().split()) for one in made.questions}
    assert len(texts) == len(made.questions) == personas * tasks * questions


def test_few_themes_serve_several_tasks() -> None:
    made = whole(("mail boat", "north quay"), 5, 5, 5)
    assert len({one["question"] for one in made.questions}) == 125
    assert len({one["task"] for one in made.tasks}) == 25
    again = whole(("mail boat",), 1, 3, 6)
    assert len({one["question"] for one in again.questions}) == 18


def test_themes_that_are_blank_or_the_same_count_once() -> None:
    writer = ExtractiveQuestionWriter(["  Mail\n boat. ", "MAIL BOAT", " ", "", "north quay"])
    assert writer.describe(["unread"]).text == (
        "A collection of texts. Its main themes are Mail boat and north quay."
    )
    assert ExtractiveQuestionWriter(["mail boat"]).describe([]).text == (
        "A collection of texts. Its main theme is mail boat."
    )
    with pytest.raises(EngineError, match="there are none; index the corpus first"):
        ExtractiveQuestionWriter([" ", "."])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            (13, 1, 1),
            r"13 personas were requested, but the extractive engine can write at most 12; 480 distinct questions",
        ),
        (
            (1, 7, 1),
            r"7 tasks for each persona were requested, .* write at most 6; 480 .*12 personas x 2 themes x 20",
        ),
        ((1, 1, 21), r"21 questions for each task were requested, .* write at most 20; 480 distinct"),
    ],
)
def test_more_than_can_be_made_is_refused_with_what_is_possible(
    sizes: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        whole(("mail boat", "north quay"), *sizes)


def test_tasks_that_share_a_theme_and_use_up_its_questions_are_told() -> None:
    with pytest.raises(
        EngineError,
        match=r"^25 of 45 are still missing.*\(no more questions for this task can be written; 240 distinct questions are possible",
    ) as told:
        whole(("mail boat",), 1, 3, 15)
    assert "Judging what is known" in str(told.value)
    assert str(told.value).endswith(
        "Request fewer personas, tasks or questions, or use a model to write them"
    )


def test_what_is_there_already_is_not_made_again() -> None:
    writer = ExtractiveQuestionWriter(THEMES)
    first = writer.personas("", 2).items
    second = writer.personas("", 12, [PersonaDraft(" JOURNALIST", "x"), first[1]])
    assert len(second.items) == 10
    assert not set(first) & set(second.items)
    assert (second.problem or "").startswith("10 more personas can be written; 2,400 distinct")
    [tasks] = writer.tasks([TaskRequest("", first[0], 2)])
    [more] = writer.tasks([TaskRequest("", first[0], 2, tasks.items)])
    assert not set(tasks.items) & set(more.items)
    request = QuestionRequest("", first[0], tasks.items[0], 3)
    [asked] = writer.questions([request])
    [next_] = writer.questions([QuestionRequest("", first[0], tasks.items[0], 3, asked.items)])
    assert len({*asked.items, *next_.items}) == 6


def test_personas_and_tasks_of_another_writer_are_refused() -> None:
    writer = ExtractiveQuestionWriter(THEMES)
    with pytest.raises(EngineError, match="no persona 'Ann Lee'"):
        writer.tasks([TaskRequest("", PersonaDraft("Ann Lee", "x"), 1)])
    [one] = writer.personas("", 1).items
    with pytest.raises(EngineError, match="did not write the task 'Reading'"):
        writer.questions([QuestionRequest("", one, "Reading", 1)])


def test_the_choice_among_twice_as_many_is_stable() -> None:
    writer = ExtractiveQuestionWriter(THEMES)
    embed = StaticEmbedder().embed
    chosen = [
        write_questions(writer, "x", personas=2, tasks=2, questions=5, oversample=2, embed=embed)
        for _ in range(2)
    ]
    assert chosen[0] == chosen[1]
    assert len({one["question"] for one in chosen[0].questions}) == 20
    assert [one["question"] for one in chosen[0].questions[:5]] != [
        one["question"] for one in whole(THEMES, 2, 2, 5).questions[:5]
    ]
