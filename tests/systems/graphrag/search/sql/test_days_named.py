"""Periods as questions name them."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.systems.graphrag.search.sql.document_scope import Days, ScopeError, days_in

DAYS = st.dates(date(1000, 1, 1), date(2999, 12, 31))
WRITTEN = (
    "{0:%Y-%m-%d}",
    "{0.day} {0:%B} {0.year}",
    "{0:%B} {0.day}, {0.year}",
    "{0.day}th of {0:%B} {0.year}",
)


@given(DAYS, st.sampled_from(WRITTEN), st.sampled_from(("in", "on", "dated", "during")))
def test_a_day_is_read_however_it_is_written(day: date, form: str, word: str) -> None:
    assert days_in(f"documents {word} {form.format(day)} here") == (Days(day, day), "documents here")


@given(DAYS, DAYS, st.sampled_from(WRITTEN))
def test_two_days_are_a_period_in_their_order(first: date, last: date, form: str) -> None:
    text = f"documents between {form.format(first)} and {form.format(last)}"
    if first <= last:
        assert days_in(text) == (Days(first, last), "documents")
    else:
        with pytest.raises(ScopeError, match="ends before it begins"):
            days_in(text)


@given(DAYS)
def test_what_is_open_on_one_side(day: date) -> None:
    one = timedelta(days=1)
    assert days_in(f"x since {day}")[0] == Days(day, None)
    assert days_in(f"x until {day}")[0] == Days(None, day)
    assert days_in(f"x before {day}")[0] == Days(None, day - one)
    assert days_in(f"x after {day}")[0] == Days(day + one, None)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in 2021", "2021-01-01", "2021-12-31"),
        ("from February 2020", "2020-02-01", None),
        ("in 2020-02", "2020-02-01", "2020-02-29"),
        ("from 2019 to May 2020", "2019-01-01", "2020-05-31"),
        ("from 2019 to 2021-05", "2019-01-01", "2021-05-31"),
        ("between 2019 and 2021", "2019-01-01", "2021-12-31"),
        ("from 2019 to 2021", "2019-01-01", "2021-12-31"),
        ("from March to May 2020", "2020-03-01", "2020-05-31"),
        ("from 2019 onwards", "2019-01-01", None),
        ("in the second quarter of 2020", "2020-04-01", "2020-06-30"),
        ("during FY24 Q2", "2024-04-01", "2024-06-30"),
        ("dated summer 2019", "2019-06-01", "2019-08-31"),
    ],
)
def test_years_and_months_are_whole(text: str, first: str, last: str | None) -> None:
    assert days_in(text)[0] == Days(date.fromisoformat(first), date.fromisoformat(last) if last else None)


@pytest.mark.parametrize("text", ["30 February 2021", "2021-13", "2021-02-30", "31 June 2020", "0 May 2020"])
def test_a_day_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ScopeError, match=f"there is no {text} in the calendar"):
        days_in(f"documents in {text}")


def test_an_end_that_is_no_day_is_named_too() -> None:
    with pytest.raises(ScopeError, match="there is no 31 June 2020"):
        days_in("documents between 1 May 2020 and 31 June 2020")


def test_what_may_be_two_days_has_to_be_said_plainly() -> None:
    with pytest.raises(ScopeError, match="may be 2019-04-03 or 2019-03-04"):
        days_in("documents since 03/04/2019")


@pytest.mark.parametrize(
    "text",
    [
        "in 12 documents",
        "by year",
        "Expo 2020",
        "between A and B",
        "between 2019 others",
        "Form 2019-99-99",
        "in 99999",
    ],
)
def test_other_numbers_are_no_periods(text: str) -> None:
    assert days_in(text) == (None, text)
