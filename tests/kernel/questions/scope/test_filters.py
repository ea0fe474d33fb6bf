from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.document_filters import Condition, Filters
from graphrag_dagster.kernel.questions.scope.favoured_documents import (
    documents_below,
    find_documents,
    names_of,
)
from graphrag_dagster.kernel.questions.scope.scope_selection import restrict_index, scope_of, selected
from support.scoped_index import graphs, of_documents, titled


def chosen(index: IndexSnapshot, **filters: object) -> set[str]:
    return set(selected(Filters(**filters), index).document_ids)


@pytest.fixture
def minutes() -> IndexSnapshot:
    """Three documents with metadata, of which one has a date, and one a period."""
    return of_documents(
        [
            {"title": "Budget", "path": "council/2019/budget.md", "text": "x", "date": "2019-07-12",
             "metadata": '{"speaker": ["Anna Lee", "Ben"], "year": 2019, "open": true, "code": "007"}'},
            {"title": "Harbour review of 2020", "path": "council/2020/review.pdf", "text": "x",
             "metadata": '{"speaker": "Ben", "Year": "2020", "open": "no", "signed": "2020-03-04"}'},
            {"title": "Letter", "path": "letters/a.txt", "text": "x", "source_id": "L-7"},
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("where", "documents"),
    [
        ("speaker=anna lee", {"d0"}),
        ("speaker=Ben", {"d0", "d1"}),
        ("speaker!=Anna Lee", {"d1"}),
        ("year>=2020", {"d1"}),
        ("year<2020", {"d0"}),
        ("year=2019.0", {"d0"}),
        ("open=yes", {"d0"}),
        ("open=false", {"d1"}),
        ("code=007", {"d0"}),
        ("signed>2020-02", {"d1"}),
        ("signed=March 2020", {"d1"}),
        ("signed<=2020", {"d1"}),
        ("date>=2019", {"d0"}),
        ("title=letter", {"d2"}),
        ("id = L-7", {"d2"}),
    ],
)
def test_conditions_compare_values_as_what_they_are(
    minutes: IndexSnapshot, where: str, documents: set[str]
) -> None:
    assert chosen(minutes, where=(where,)) == documents


@given(st.integers(-50, 50), st.integers(-50, 50), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
def test_numbers_are_compared_as_numbers(held: int, asked: int, sign: str) -> None:
    index = of_documents(
        [
            {"title": "A", "path": "a", "text": "x", "metadata": f'{{"n": "{held}"}}'},
            {"title": "B", "path": "b", "text": "x", "metadata": '{"n": "none"}'},
        ]
    )
    holds = {"=": held == asked, "!=": held != asked, "<": held < asked, "<=": held <= asked}
    holds |= {">": held > asked, ">=": held >= asked}
    expected = {"d0"} if holds[sign] else set()
    expected |= {"d1"} if sign == "!=" else set()
    if expected:
        assert chosen(index, where=(f"n{sign}{asked}",)) == expected
    else:
        with pytest.raises(QuestionError, match="none fits"):
            chosen(index, where=(f"n{sign}{asked}",))


@pytest.mark.parametrize(
    ("filters", "documents"),
    [
        ({"date_from": "2020"}, {"d1"}),
        ({"date_to": "July 2019"}, {"d0"}),
        ({"date_from": "2019-07-12", "date_to": "2020-01-01"}, {"d0", "d1"}),
        ({"folders": ("council",)}, {"d0", "d1"}),
        ({"folders": ("Council/2019/",)}, {"d0"}),
        ({"folders": ("2020", "letters")}, {"d1", "d2"}),
        ({"documents": ("BUDGET", "letters/a.txt")}, {"d0", "d2"}),
        ({"documents": ("budget", "letter"), "folders": ("council",)}, {"d0"}),
        ({}, {"d0", "d1", "d2"}),
    ],
)
def test_all_that_is_given_has_to_hold(
    minutes: IndexSnapshot, filters: dict[str, object], documents: set[str]
) -> None:
    assert chosen(minutes, **filters) == documents


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"date_from": "2020", "date_to": "2019"}, "contradict each other: from '2020' to '2019'"),
        ({"date_from": "2019-02-30"}, "the date from '2019-02-30' is not a valid day or period"),
        ({"date_to": "soon"}, "the date to 'soon' is not a valid day or period"),
        ({"date_from": "03/04/2019"}, "may be 2019-04-03 or 2019-03-04; write the year first"),
        ({"date_from": "1850", "date_to": "1860"}, "none fits the filter .*are of 2019-07-12 to 2020-12-31"),
        (
            {"where": ("speakr=Anna",)},
            "no document has a value 'speakr'; the keys are Year, code, open, signed",
        ),
        ({"where": ("speaker",)}, "'speaker' is not a condition; write a key, one of"),
        ({"where": ("speaker>Anna",)}, "compares by order, but"),
        ({"where": ("signed>=2020-02-30",)}, "'2020-02-30' is neither"),
        ({"where": ("signed=03/04/2020",)}, "may be 2020-04-03 or 2020-03-04"),
        (
            {"where": ("year>2019", "year<2020")},
            r"none fits all filters \(where year>2019: 1, where year<2020: 1",
        ),
        ({"where": ("speaker=Zoe",)}, r"of 3 documents none fits the filter \(where speaker=Zoe: 0\)"),
        ({"folders": ("cuoncil",)}, "no folder 'cuoncil' holds documents .*'council', 'council/2019'"),
        ({"documents": ("xylophone",)}, "no document is called 'xylophone'; there are 'Budget'"),
        ({"documents": ("letter",), "folders": ("council",)}, r"document 'letter': 1, folder 'council': 2"),
    ],
)
def test_a_filter_that_cannot_be_met_is_one_clear_error(
    minutes: IndexSnapshot, filters: dict[str, object], told: str
) -> None:
    with pytest.raises(QuestionError, match=told):
        chosen(minutes, **filters)


def test_a_corpus_without_dates_says_so() -> None:
    with pytest.raises(QuestionError, match="no document of this corpus has a date"):
        chosen(titled("A"), date_from="2019")


@pytest.mark.parametrize(
    ("name", "documents", "taken_for"),
    [
        ("The Valdora floats", {"d0"}, None),
        ("THE VALDORA FLOATS", {"d0"}, None),
        ("news/valdora.md", {"d0"}, None),
        ("./news/valdora.md", {"d0"}, None),
        ("valdora.md", {"d0"}, None),
        ("valdora", {"d0"}, None),
        ("d0", {"d0"}, None),
        ("Minutes", {"d1", "d2"}, None),
        ("rows.csv", {"d3", "d4"}, None),
        ("INC-2", {"d4"}, None),
        ("The Vald", {"d0"}, "'The Valdora floats' (news/valdora.md)"),
        ("floats", {"d0"}, "'The Valdora floats' (news/valdora.md)"),
        ("The Valdora flots", {"d0"}, "'The Valdora floats' (news/valdora.md)"),
    ],
)
def test_a_name_means_what_is_called_so_then_what_is_called_alike(
    name: str, documents: set[str], taken_for: str | None
) -> None:
    meant = find_documents(name, names_of(named_documents()))
    assert set(meant.document_ids) == documents
    assert meant.taken_for == (taken_for and f"{name!r} is taken for {taken_for}")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Minu", r"'Minu' may mean|is taken for"),
        (
            "council",
            "'council' may mean several documents; name one of 'Minutes' .*council/a.md.*council/b.md",
        ),
        ("Annual balance", "no document is called 'Annual balance'"),
    ],
)
def test_a_name_that_may_mean_several_lists_them(name: str, told: str) -> None:
    index = of_documents(
        [
            {"title": "Minutes", "path": "council/a.md", "text": "x"},
            {"title": "Minute book", "path": "council/b.md", "text": "x"},
        ]
    )
    with pytest.raises(QuestionError, match=told):
        find_documents(name, names_of(index))


def named_documents() -> IndexSnapshot:
    return of_documents(
        [
            {"title": "The Valdora floats", "path": "news/valdora.md", "text": "x"},
            {"title": "Minutes", "path": "council/a.md", "text": "x"},
            {"title": "Minutes", "path": "council/b.md", "text": "x"},
            {"title": "One", "path": "rows.csv", "row": 0, "text": "x", "source_id": "INC-1"},
            {"title": "Two", "path": "rows.csv", "row": 1, "text": "x", "source_id": "INC-2"},
        ]
    )


def test_a_folder_that_several_are_called_lists_them() -> None:
    index = of_documents(
        [
            {"title": "A", "path": "x/minutes/a", "text": "x"},
            {"title": "B", "path": "y/minutes/b", "text": "x"},
        ]
    )
    with pytest.raises(QuestionError, match="several folders are called 'minutes': 'x/minutes', 'y/minutes'"):
        documents_below("minutes", names_of(index))
    assert documents_below("x/minutes", names_of(index)) == {"d0"}


@given(st.text(max_size=30))
def test_any_name_means_something_or_is_one_error(name: str) -> None:
    known = names_of(named_documents())
    with suppress(QuestionError):
        assert find_documents(name, known).document_ids <= set(known.ids)


@given(st.text(max_size=30))
def test_any_condition_is_read_or_is_one_error(text: str) -> None:
    try:
        made = Condition.read(text)
    except QuestionError:
        return
    assert made.key
    assert made.value.text


def test_what_was_restricted_is_told(minutes: IndexSnapshot) -> None:
    filters = Filters(documents=("Budg",), date_from="2019")
    found = selected(filters, minutes)
    scope = scope_of(filters, found, minutes, restrict_index(minutes, found.document_ids))
    assert scope.description == (
        "restricted to 1 of 3 documents (1 of 3 text units); 'Budg' is taken for 'Budget' "
        "(council/2019/budget.md); 1 document without a date left out"
    )
    assert scope.filters == {"documents": ("Budg",), "date_from": "2019"}


@given(graphs(), st.data())
def test_nothing_outside_is_left_in_a_restricted_index(index: IndexSnapshot, data: st.DataObject) -> None:
    ids = set(data.draw(st.lists(st.sampled_from(list(index.documents["document_id"])), unique=True)))
    inside = restrict_index(index, ids)
    units = set(inside.text_chunks["text_unit_id"])
    assert units == {f"u{one[1:]}" for one in ids}
    assert set(inside.passages) == units
    whole = {}
    for name, key in (
        ("entities", "entity_id"),
        ("relationships", "relationship_id"),
        ("claims", "claim_id"),
    ):
        before = dict(getattr(index, name).select(key, "text_unit_ids").iter_rows())
        for row in getattr(inside, name).iter_rows(named=True):
            assert row["text_unit_ids"]
            assert set(row["text_unit_ids"]) == set(before[row[key]]) & units
            if row.get("description"):
                assert set(before[row[key]]) <= units
        whole |= {one: set(found) <= units for one, found in before.items()}
    assert all(whole[one] for one in inside.claims["claim_id"])
    # Nothing that a report was written from lies outside.
    for report in inside.reports["report_id"]:
        members = set(index.members.filter(community_id=report)["entity_id"])
        assert all(whole[one] for one in members)
        for row in index.relationships.iter_rows(named=True):
            assert whole[row["relationship_id"]] or not members & {row["source_id"], row["target_id"]}
        for row in index.claims.iter_rows(named=True):
            assert whole[row["claim_id"]] or f"e{row['subject'][1:]}" not in members
    # And what lies wholly inside is not lost.
    if units == set(index.text_chunks["text_unit_id"]):
        assert inside.reports.equals(index.reports)
        assert inside.entities.equals(index.entities)


def test_days_of_filters_are_whole_periods() -> None:
    first, last = Filters(date_from="FY24 Q2", date_to="2024").days()
    assert first
    assert last
    assert (first.start, last.end) == (date(2024, 4, 1), date(2024, 12, 31))
