"""Which documents a question favours: what it names, and what only sounds like it."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot, PassagesById
from graphrag_dagster.kernel.questions.scope.course_of_time import course_of, in_course
from graphrag_dagster.kernel.questions.scope.document_names import numbered_in
from graphrag_dagster.kernel.questions.scope.favoured_documents import LIKELY, NAMED
from graphrag_dagster.kernel.questions.scope.question_clues import favour_of
from graphrag_dagster.kernel.retrieval.ranking import rank_by_score
from graphrag_dagster.kernel.tables import core_tables as tables
from support.index_frames import filled, index_of_texts
from support.scoped_index import of_documents, titled

ROWS = [
    {"title": "The Valdora floats", "path": "news/2023-09-11-valdora.md"},
    {"title": "Annual report 2022", "path": "business/tolvaig-annual-report-2022.pdf"},
    {"title": "Earnings call FY24 Q2", "path": "calls/fy24q2.txt"},
    {"title": "Earnings call FY24 Q3", "path": "calls/fy24q3.txt"},
    {"title": "Episode 12: The long winter", "path": "show/e12.txt"},
    {"title": "Episode 13: Main themes", "path": "show/e13.txt"},
    {"title": "Council meeting of 25 July 2019", "path": "council/july.md"},
    {"title": "Committee on Fish, meeting 22", "path": "fish/22.md"},
    {"title": "Committee on Boats, meeting 22", "path": "boats/22.md"},
    {"title": "Pump assistance", "path": "incidents.csv", "source_id": "INC-2017-04", "row": 0},
    {"title": "Diary", "path": "diary.txt", "metadata": '{"location": "Saint-Bréac", "chapter": 7}'},
    {"title": "Castellan Memorandum", "path": "x/2021-castellan-memorandum.txt"},
    {"title": "Ep-9_The_Tide_Podcast_with_Ada-Rusk", "path": "show/e9.txt"},
]


@pytest.fixture(scope="module")
def index() -> IndexSnapshot:
    return of_documents([{"text": "Some words.", "metadata": "{}", **row} for row in ROWS])


def favoured(question: str, index: IndexSnapshot) -> dict[str, float]:
    return {
        ROWS[int(one[1:])]["title"]: weight for one, weight in favour_of(question, index).weights().items()
    }


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ('What did "The Valdora floats" say?', "The Valdora floats"),
        ("What did ‘Valdora floats’ say?", "The Valdora floats"),
        ("According to the Valdora floats, who came?", "The Valdora floats"),
        ("According to tolvaig-annual-report-2022.pdf, what was lost?", "Annual report 2022"),
        ("what does the annual report 2022 say", "Annual report 2022"),
        ("What was revenue in FY24 Q2?", "Earnings call FY24 Q2"),
        ("What was revenue in Q2 of FY2024?", "Earnings call FY24 Q2"),
        ("In the interview with Ada Rusk, what was welded?", "Ep-9_The_Tide_Podcast_with_Ada-Rusk"),
        ("Who speaks in episode 12?", "Episode 12: The long winter"),
        ("Who speaks in the twelfth episode?", "Episode 12: The long winter"),
        ("In the July 2019 meeting, who spoke?", "Council meeting of 25 July 2019"),
        ("Who spoke at the council meeting of 25 July 2019?", "Council meeting of 25 July 2019"),
        (
            "What was said of nets in meeting number 22 of the committee on fish?",
            "Committee on Fish, meeting 22",
        ),
        ("What happened in INC-2017-04?", "Pump assistance"),
        ("What is in chapter 7?", "Diary"),
        ("What does the Castellan memorandum say?", "Castellan Memorandum"),
    ],
)
def test_what_is_clearly_named_comes_first(question: str, title: str, index: IndexSnapshot) -> None:
    weights = favoured(question, index)
    assert max(weights, key=lambda one: weights[one]) == title
    assert weights[title] >= NAMED
    assert [one for one, weight in weights.items() if weight == weights[title]] == [title]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What happened when the Valdora floats free?", "The Valdora floats"),
        ("What happened in Saint-Bréac?", "Diary"),
        ("What happened in July 2019?", "Council meeting of 25 July 2019"),
    ],
)
def test_what_is_likely_meant_is_favoured_less(question: str, title: str, index: IndexSnapshot) -> None:
    assert favoured(question, index)[title] == LIKELY


@pytest.mark.parametrize(
    "question",
    [
        "Why does the Valdora float so well?",
        "How many floats does the Valdora have?",
        "who built the valdora floats",
        "What are the main themes?",
        "Who called during the long winter?",
        "What did the council decide at its meeting?",
        "How long is the diary of the captain?",
        "How many of 22 boats came?",
        "Where did 2022 people go?",
        "What happened before 2022 and after July 2019?",
        "Who reports every year?",
        "",
    ],
)
def test_common_words_and_other_times_name_no_document(question: str, index: IndexSnapshot) -> None:
    assert favour_of(question, index).clues == ()


def test_a_folder_counts_where_it_is_called_one(index: IndexSnapshot) -> None:
    assert set(favoured("What do the files in the folder calls say?", index)) == {
        "Earnings call FY24 Q2",
        "Earnings call FY24 Q3",
    }
    assert favour_of("Who calls the council?", index).clues == ()


def test_what_no_document_is_of_is_said_and_restricts_nothing(index: IndexSnapshot) -> None:
    favour = favour_of("What was revenue in FY31 Q1?", index)
    assert (favour.clues, favour.description) == (
        (),
        "no document is of FY31 Q1; the nearest are of FY24 Q3",
    )
    assert favour_of("What was revenue in FY31 Q1?", titled("A", "B")).description == ""


def test_it_is_told_how_many_documents_are_favoured(index: IndexSnapshot) -> None:
    assert (
        favour_of("What was revenue in FY24 Q2?", index).description
        == "searched only: documents of FY24 Q2 (1 of 13)"
    )
    unsure = favour_of("What was said on 07/25/2019 or 03/04/2019?", index)
    assert unsure.description == (
        "favoured: documents of 07/25/2019 (1 of 13); 03/04/2019 was read as 2019-04-03; "
        "no document is of 03/04/2019; the nearest are of 25 July 2019"
    )


def test_what_all_documents_are_called_tells_none_apart() -> None:
    index = titled("Notes of the harbour board", "Notes of the harbour board")
    assert favour_of("What do the Notes of the harbour board say?", index).clues == ()


def test_a_clue_gives_way_to_one_that_says_more() -> None:
    index = titled("Committee on Fish and Boats: nets", "Committee on Fish and Boats: sails", "Other")
    narrow = favour_of('What did the Committee on Fish and Boats say of "sails"?', index)
    assert [(clue.document_ids, clue.weight) for clue in narrow.clues] == [({"d1"}, NAMED)]
    wide = favour_of("What did the Committee on Fish and Boats say?", index)
    assert [clue.document_ids for clue in wide.clues] == [{"d0", "d1"}]


@given(st.text(max_size=80))
def test_any_question_favours_documents_there_are(question: str) -> None:
    index = titled("A b c", "Episode 1", folder="x/")
    favour = favour_of(question, index)
    assert set(favour.weights()) <= {"d0", "d1"}
    assert all(weight > 1 for weight in favour.weights().values())


@given(st.lists(st.text("ab123 ", max_size=5), max_size=8))
def test_numbers_are_those_of_the_words(found: list[str]) -> None:
    assert all(str(number) in " ".join(found) for _, number in numbered_in(found))


SCORES = st.lists(st.integers(-20, 20), min_size=1, max_size=12)


@given(SCORES, st.data())
def test_a_prior_leaves_out_favours_and_otherwise_keeps_the_order(
    scores: list[int], data: st.DataObject
) -> None:
    ids = [str(place) for place in range(len(scores))]
    values = np.array(scores, dtype=float)
    neutral = rank_by_score(ids, values, prior=np.ones(len(ids)))
    assert neutral.ids == rank_by_score(ids, values).ids
    weights = data.draw(st.lists(st.sampled_from([0.0, 1.0, 3.0]), min_size=len(ids), max_size=len(ids)))
    most = data.draw(st.none() | st.integers(0, len(ids)))
    found = rank_by_score(ids, values, most, prior=np.array(weights))
    kept = [one for one in ids if weights[int(one)] > 0]
    assert set(found.ids) <= set(kept)
    assert len(found.ids) == (len(kept) if most is None else min(most, len(kept)))
    for weight in (1.0, 3.0):
        alike = [one for one in found.ids if weights[int(one)] == weight]
        assert [values[int(one)] for one in alike] == sorted(
            (values[int(one)] for one in alike), reverse=True
        )


TOOLS = [
    {"title": "quaylog", "path": "quaylog.md", "text": "It writes a log of what a program does."},
    {"title": "tide-table", "path": "tide-table.md", "text": "tide-table knows when the water is high."},
    {"title": "boats", "path": "boats.md", "text": "The quaylog of the boats is read with tide-table."},
    *(
        {"title": f"Port {number}", "path": f"p{number}.md", "text": f"Here are boats, {number} of them."}
        for number in range(30)
    ),
]


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("What does quaylog write?", {"d0"}),
        ("When is the water high in tide-table?", {"d1"}),
        ("How does quaylog differ from tide-table?", {"d0", "d1"}),
        # Other documents say as much of boats as the one that is called so, or more.
        ("How many boats are there?", set()),
        # Two words are the name of a tool where they are written as one.
        ("Which tide table is right?", set()),
    ],
)
def test_a_name_that_only_its_document_says_much_of_favours_it(question: str, documents: set[str]) -> None:
    favour = favour_of(question, of_documents(TOOLS))
    assert set(favour.weights()) == documents
    assert favour.names_documents == bool(documents)
    assert favour.selected is None


def test_periods_take_turns_and_no_text_unit_is_read_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    years = {"a": 2003, "b": 2001, "c": 2001, "d": 2002}
    index = index_of_texts(dict.fromkeys(years, "Rents rose."))
    days = [
        {"document_id": f"d-{name}", "period_start": date(year, 1, 1), "period_end": date(year, 12, 31)}
        for name, year in years.items()
    ]
    index = replace(index, periods=filled(tables.DOCUMENT_PERIODS, days))

    def unread(*_: object) -> None:
        raise AssertionError("a text unit was read")

    monkeypatch.setattr(PassagesById, "__getitem__", unread)
    course = course_of("How did rents change over the years?")
    assert course
    units = [f"u-{name}" for name in years]
    assert in_course(course, units, index) == ["u-b", "u-d", "u-a", "u-c"]
