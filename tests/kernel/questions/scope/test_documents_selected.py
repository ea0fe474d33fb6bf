"""Which documents alone are searched: those that a question names exactly, and no others."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.question_clues import favour_of
from support.scoped_index import of_documents, titled

ORDINALS = ("First", "Second", "Third", "Fourth")
#: The day of a call is in the calendar quarter before that which its fiscal quarter is called like.
CALLS = [
    {
        "title": f"TranscriptFY{year}Q{number}",
        "path": f"TranscriptFY{year}Q{number}.docx",
        "text": f"Ostrel FY{year} {ordinal} Quarter Earnings Conference Call\n{day} 20{year}\nRevenue rose.",
    }
    for year in (23, 24)
    for number, ordinal, day in zip(
        (1, 2, 3, 4),
        ORDINALS,
        ("Tuesday, February 3,", "Tuesday, January 30,", "Thursday, April 25,", "Tuesday, July 30,"),
        strict=True,
    )
]
DISTRICTS = {"at": "Sixth", "kc": "Tenth", "sl": "Eighth", "bo": "First"}
SURVEYS = [
    {
        "title": f"{month}-{code}",
        "path": f"{month}-{code}.txt",
        "text": f"The {ordinal} District grew.\nTourism was mixed.",
    }
    for month in ("2008-10", "2009-04", "2010-06")
    for code, ordinal in DISTRICTS.items()
]
MIXED = [
    {"title": "Harbour board", "path": "2019-07-25-harbour.md", "text": "Minutes\nThey met."},
    {"title": "School board", "path": "2019-07-25-school.md", "text": "Minutes\nThey met."},
    {"title": "School board", "path": "2018-07-25-school.md", "text": "Minutes\nThey met."},
    {"title": "Annual report 2022", "path": "a.md", "text": "All."},
    {"title": "Release notes", "path": "one/notes.md", "text": "One."},
    {"title": "Release notes", "path": "two/notes.md", "text": "Two."},
    {"title": "HTTP/2", "path": "http2.md", "text": "Protocols."},
    {"title": "Ep-9_The_Tide_Podcast_with_Ada-Rusk", "path": "ep9.txt", "text": "Hello."},
    {"title": "Microsoft", "path": "podcast/microsoft.txt", "text": "A company."},
    {"title": "Pump assistance", "path": "incidents.csv", "source_id": "INC-2017-04", "row": 0, "text": "A."},
]


def index_of(rows: Sequence[dict[str, object]]) -> IndexSnapshot:
    return of_documents([{"metadata": "{}", **row} for row in rows])


def selected(question: str, rows: Sequence[dict[str, object]], index: IndexSnapshot) -> set[object] | None:
    found = favour_of(question, index).selected
    return None if found is None else {rows[int(one[1:])]["path"] for one in found}


@pytest.fixture(scope="module")
def calls() -> IndexSnapshot:
    return index_of(CALLS)


@pytest.fixture(scope="module")
def surveys() -> IndexSnapshot:
    return index_of(SURVEYS)


@pytest.fixture(scope="module")
def mixed() -> IndexSnapshot:
    return index_of(MIXED)


@pytest.mark.parametrize(
    "period",
    [
        *("FY24 Q2", "Q2 FY24", "FY2024Q2", "the second quarter of fiscal 2024", "FY24 Second Quarter"),
        *("the second quarter of fiscal year 2024", "fiscal Q2 2024", "the second fiscal quarter of 2024"),
        *("quarter 2 of FY24", "the 2nd quarter of FY2024"),
    ],
)
def test_a_fiscal_quarter_selects_its_call_however_it_is_written(period: str, calls: IndexSnapshot) -> None:
    assert selected(f"What was revenue in {period}?", CALLS, calls) == {"TranscriptFY24Q2.docx"}


@pytest.mark.parametrize(
    ("question", "quarters"),
    [
        ("Compare revenue in FY23 Q4 and FY24 Q4.", {"23Q4", "24Q4"}),
        ("How did revenue change from FY23 Q3 to FY24 Q1?", {"23Q3", "23Q4", "24Q1"}),
        ("How did revenue change between FY23 Q4 and FY24 Q2?", {"23Q4", "24Q1", "24Q2"}),
        ("What is in TranscriptFY24Q3?", {"24Q3"}),
        ("Who spoke on the call of April 25, 2024?", {"24Q3"}),
    ],
)
def test_all_periods_and_calls_that_are_named_are_searched(
    question: str, quarters: set[str], calls: IndexSnapshot
) -> None:
    assert selected(question, CALLS, calls) == {f"TranscriptFY{one}.docx" for one in quarters}


@pytest.mark.parametrize(
    "question",
    [
        *(
            "What was revenue in FY24?",
            "What was revenue in 2024?",
            "Over the years, how did revenue change?",
        ),
        *("What was revenue in the second quarter of 2024?", "What was revenue before FY24 Q2?"),
        *("What was revenue in FY31 Q1?", "What was sold in the fourth quarter?", "Combien en 2024 ?"),
    ],
)
def test_a_year_other_times_and_periods_of_no_document_exclude_nothing(
    question: str, calls: IndexSnapshot
) -> None:
    assert selected(question, CALLS, calls) is None


def test_the_day_of_a_call_goes_before_a_fiscal_quarter_around_it(calls: IndexSnapshot) -> None:
    favour = favour_of("What was said in January 2024?", calls)
    assert {CALLS[int(one[1:])]["path"] for one in favour.weights()} == {"TranscriptFY24Q2.docx"}


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("What did the Atlanta district report about tourism in April 2009?", {"2009-04-at"}),
        ("How was tourism in the Kansas City district in 2009-04?", {"2009-04-kc"}),
        ("According to the St. Louis Fed's October 2008 report, how was tourism?", {"2008-10-sl"}),
        ("How did the district of Boston see tourism in June 2010?", {"2010-06-bo"}),
        ("What did the Boston and Atlanta districts say in June 2010?", {"2010-06-bo", "2010-06-at"}),
        ("How was tourism in April 2009?", {f"2009-04-{code}" for code in DISTRICTS}),
        # No code stands for these, or only a name that no division makes a part.
        ("What did hotels in Attleboro say in April 2009?", {f"2009-04-{code}" for code in DISTRICTS}),
        ("How was tourism in the Sixth District in April 2009?", {f"2009-04-{code}" for code in DISTRICTS}),
        (
            "How did tourism in the Atlanta district change between October 2008 and April 2009?",
            {"2008-10-at", "2009-04-at"},
        ),
        ("What does 2010-06-kc.txt say?", {"2010-06-kc"}),
    ],
)
def test_a_month_and_a_code_select_reports_that_their_names_tell_apart(
    question: str, paths: set[str], surveys: IndexSnapshot
) -> None:
    assert selected(question, SURVEYS, surveys) == {f"{path}.txt" for path in paths}


def test_the_summary_beside_others_is_one_of_them_and_a_summary_is_none() -> None:
    rows = [*SURVEYS, *({"title": f"{month}-su", "path": f"{month}-su.txt", "text": "All grew."} for month in ("2008-10", "2009-04", "2010-06"))]  # fmt: skip
    index = index_of(rows)
    for question in (
        "What did the national summary say in April 2009?",
        "What is in the summary of April 2009?",
    ):
        assert selected(question, rows, index) == {"2009-04-su.txt"}
    assert len(selected("Give me a summary of April 2009.", rows, index) or ()) == 5


def test_first_lines_favour_one_of_the_documents_of_a_month(surveys: IndexSnapshot) -> None:
    weights = favour_of("How was tourism in the Sixth District in April 2009?", surveys).weights()
    assert SURVEYS[int(max(weights, key=lambda one: weights[one])[1:])]["path"] == "2009-04-at.txt"


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("What does the annual report 2022 say?", {"a.md"}),
        ("What is in the Release Notes?", {"one/notes.md", "two/notes.md"}),
        ("What does “Annual report 2022” the report say?", {"a.md"}),
        ("In the interview with Ada Rusk, what was welded?", {"ep9.txt"}),
        ("What happened in INC-2017-04?", {"incidents.csv"}),
        ("Who spoke at the meeting of 25 July 2019?", {"2019-07-25-harbour.md", "2019-07-25-school.md"}),
        ("In the 25 July 2019 meeting of the school board, who spoke?", {"2019-07-25-school.md"}),
        ("What does http2.md say?", {"http2.md"}),
        ("What is in the folder one?", {"one/notes.md"}),
    ],
)
def test_a_document_that_is_spelled_out_is_searched_alone(
    question: str, paths: set[str], mixed: IndexSnapshot
) -> None:
    assert selected(question, MIXED, mixed) == paths


@pytest.mark.parametrize(
    "question",
    [
        "What happened on 25 July 2019?",
        "Did 2019 employees meet in Room 2018?",
        "How many of 2022 people came?",
        "Does it support HTTP/2?",
        "In the talk with Microsoft, what was sold?",
        "What did Microsoft say in July 2019?",
        "What do release managers note?",
        "Who wrote “HTTP/2”?",
        "Was geschah am 25. Juli 2019?",
        "What was reported about the harbour?",
        "",
    ],
)
def test_what_only_sounds_like_a_document_excludes_nothing(question: str, mixed: IndexSnapshot) -> None:
    assert selected(question, MIXED, mixed) is None


def test_kinds_hold_together_and_one_that_contradicts_selects_nothing(surveys: IndexSnapshot) -> None:
    favour = favour_of("What does 2010-06-kc.txt say of the Atlanta district in April 2009?", surveys)
    assert favour.selected == {f"d{[row['title'] for row in SURVEYS].index('2010-06-kc')}"}
    assert favour.description == (
        "searched only: the document 2010-06-kc.txt, documents of 2010-06 (1 of 12); favoured: documents of April "
        "2009 (4 of 12), documents of Atlanta (“at” in their names) (3 of 12)"
    )
    assert [one.only for one in favour.all] == [True, True, False, False]


def test_a_period_of_no_document_is_told_with_the_nearest(surveys: IndexSnapshot) -> None:
    favour = favour_of("How was tourism in December 2009?", surveys)
    assert favour.selected is None
    assert favour.description == "no document is of December 2009; the nearest are of 2009-04 and 2010-06"


def test_other_documents_have_no_weight_and_without_exactness_all_have_some(surveys: IndexSnapshot) -> None:
    question, ids = "How was tourism in the Atlanta district in April 2009?", {f"d{n}": n for n in range(12)}
    exact, soft = favour_of(question, surveys), favour_of(question, surveys, exact=False)
    assert np.flatnonzero(exact.prior(ids)).tolist() == [4]
    assert soft.selected is None
    assert soft.prior(ids).min() == 1.0
    assert int(soft.prior(ids).argmax()) == 4


@pytest.mark.parametrize(
    ("question", "inside"),
    [
        ("What did the Atlanta district report about tourism in April 2009?", "What did they report about tourism?"),
        ("In April 2009, how was tourism?", ", how was tourism?"),
        ("How was tourism in 2009-04 in the district of Boston?", "How was tourism in they?"),
        ("What does 2009-04-at.txt say about tourism?", "What does they say about tourism?"),
        ("How was tourism in 2009?", "How was tourism in 2009?"),
        ("What does the April 2009 report of the Boston district say?", "What does they of they say?"),
        ("What do the reports of April 2009 say?", "What do they say?"),
    ],
)  # fmt: skip
def test_words_that_select_are_not_looked_for(question: str, inside: str, surveys: IndexSnapshot) -> None:
    favour = favour_of(question, surveys)
    assert favour.asked_inside(question) == inside
    assert favour.asked_inside("Who came?") == "Who came?"


WORDS = st.sampled_from(
    [
        "what",
        "in",
        "of",
        "the",
        "April",
        "2009",
        "2009-04",
        "FY24",
        "Q2",
        "Atlanta",
        "district",
        "report",
        "Kansas",
        "City",
        "from",
        "to",
        "and",
        "2008-10",
        "meeting",
    ]
)


@given(st.lists(WORDS, max_size=12))
def test_whatever_is_selected_is_favoured_and_some_of_the_documents(words: list[str]) -> None:
    index = index_of(SURVEYS)
    favour = favour_of(" ".join(words), index)
    if favour.selected is not None:
        assert 0 < len(favour.selected) < len(SURVEYS)
        assert favour.selected <= favour.weights().keys()
        assert any(one.only for one in favour.all)
    else:
        assert not any(one.only for one in favour.all)
    favour.asked_inside(" ".join(words))


def test_documents_of_one_kind_without_periods_or_codes_are_told_apart_by_nothing() -> None:
    index = titled("Notes", "Notes", text="Tourism was mixed in April 2009.")
    assert favour_of("How was tourism in the Atlanta district in April 2009?", index).clues == ()
