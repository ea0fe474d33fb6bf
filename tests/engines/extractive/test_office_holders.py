"""Who holds an office: what a question asks for, and which sentences say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.answer_types import answer_type_of
from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.engines.extractive.office_holders import Office, holders, office_asked
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer

CFO = Office(("cfo", "chief financial officer"), frozenset({"ostrel"}))


@pytest.mark.parametrize(
    ("question", "names", "body"),
    [
        ("Who is the CFO of Ostrel?", CFO.names, {"ostrel"}),
        ("Who is Ostrel's chief financial officer?", CFO.names[::-1], {"ostrel"}),
        ("who is the cfo?", CFO.names, set()),
        ("Who was the mayor of Port Vessay in 2019?", ("mayor",), {"port", "vessay"}),
        ("Who is the new chairman at Ostrel?", ("chairman",), {"ostrel"}),
        ("Who was prime minister during the strike?", ("prime minister", "pm"), set()),
        ("What is the name of Vask's clerk?", ("clerk",), {"vask"}),
        ("Who is the sister of Orrin Vask?", ("sister",), {"orrin", "vask"}),
        ("Who served as minister of education?", ("minister of education",), set()),
    ],
)
def test_an_office_is_read_from_the_question(question: str, names: tuple[str, ...], body: set[str]) -> None:
    assert office_asked(question) == Office(names, frozenset(body))
    assert answer_type_of(question).kind == "person"


@pytest.mark.parametrize(
    "question",
    ["Who is Ada Rusk?", "Who founded Ostrel?", "What is a CFO?", "Who is responsible for payroll?", "Who chairs it?"],
)  # fmt: skip
def test_other_questions_ask_for_no_office(question: str) -> None:
    assert office_asked(question) is None


@pytest.mark.parametrize(
    ("sentence", "person"),
    [
        ("Here are Selma Dray, chairman and chief executive officer, and Ada Rusk, chief financial officer.", "Ada Rusk"),
        ("Ada Rusk is Ostrel's CFO.", "Ada Rusk"),
        ("Our CFO, Ada Rusk, will speak.", "Ada Rusk"),
        ("In Q2, CFO Ada Rusk of Ostrel said so.", "Ada Rusk"),
        ("Ada Rusk, Executive Vice President and Chief Financial Officer", "Ada Rusk"),
        ("The chief financial officer of Ostrel is Ada M. Rusk.", "Ada M. Rusk"),
        ("Ada Rusk (Chief Financial Officer) spoke.", "Ada Rusk"),
    ],
)  # fmt: skip
def test_an_apposition_a_copula_or_a_title_names_the_holder(sentence: str, person: str) -> None:
    assert [sentence[span.start : span.end] for span in holders(sentence, CFO)] == [person]


@pytest.mark.parametrize(
    ("sentence", "person"),
    [
        ("Tam, Vask's clerk, came late.", "Tam"),
        ("Tam, clerk to Orrin Vask.", "Tam"),
        ("Tam Orde, the young clerk of Vask.", "Tam Orde"),
        ("In May, Vask's clerk left.", None),
        ("So, the clerk left.", None),
    ],
)
def test_one_name_is_enough_in_an_apposition(sentence: str, person: str | None) -> None:
    found = holders(sentence, Office(("clerk",), frozenset({"vask"})))
    assert [sentence[span.start : span.end] for span in found] == ([person] if person else [])


@pytest.mark.parametrize(
    "sentence",
    [
        "Your CFO was a strong standout.",
        "I asked Orrin Vask, whose CFO left.",
        "She met the CFO. Ben Okoro spoke.",
        "The CFO spoke on Monday Morning.",
        "Ada Rusk wrote that the accounts which the CFO signed were false.",
    ],
)
def test_a_name_beside_an_office_does_not_hold_it(sentence: str) -> None:
    assert holders(sentence, CFO) == []


def row(number: int, *sentences: str) -> ContextUnit:
    return ContextUnit(number, "Call", " ".join(sentences), tuple((one, None) for one in sentences), "source")


def marked(said: FinalAnswer) -> list[str]:
    return [said.text[mark.start : mark.end] for mark in said.layout.marks]


def test_the_sentence_that_names_the_holder_is_the_first_statement() -> None:
    rows = [
        row(
            1, "At Ostrel your CFO was a strong standout.", "The CFO of Ostrel spoke to Ben Okoro of margins."
        ),
        row(2, "This is the Ostrel call.", "With me is Ada Rusk, chief financial officer, for questions."),
    ]
    said = ExtractiveAnswerer(StaticEmbedder()).answer("Who is the CFO of Ostrel?", rows, "x" * 4000)
    assert said.quotes[0][0] == "With me is Ada Rusk, chief financial officer, for questions."
    assert marked(said) == ["Ada Rusk"]


def test_nobody_is_marked_where_no_sentence_names_the_holder() -> None:
    rows = [row(1, "The CFO of Ostrel spoke to Ben Okoro of margins.", "The margins of Ostrel grew.")]
    said = ExtractiveAnswerer(StaticEmbedder()).answer("Who is the CFO of Ostrel?", rows, "x" * 4000)
    assert not marked(said)


def test_a_number_of_something_else_is_not_marked() -> None:
    rows = [
        row(
            1,
            "The yard of Ostrel had 12 cranes and many workers.",
            "Ostrel employed 340 workers at the yard.",
        )
    ]
    said = ExtractiveAnswerer(StaticEmbedder()).answer(
        "How many workers had the yard of Ostrel?", rows, "x" * 4000
    )
    assert [quote[0] for quote in said.quotes] == [
        "Ostrel employed 340 workers at the yard.",
        "The yard of Ostrel had 12 cranes and many workers.",
    ]
    assert marked(said) == ["340"]


@given(st.text(max_size=60), st.text("ABab CFO,.is the", max_size=60))
def test_any_words_are_read(question: str, sentence: str) -> None:
    office_asked(f"Who is the {question}?")
    for span in holders(sentence, CFO):
        assert sentence[span.start : span.end].strip()
