"""Periods as questions name them."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.search.methods.sql.periods import DateError, Period, period_in

DAYS = st.dates(date(1000, 1, 1), date(2999, 12, 31))
WRITTEN = (
    "{0:%Y-%m-%d}",
    "{0.day} {0:%B} {0.year}",
    "{0:%B} {0.day}, {0.year}",
    "{0.day}th of {0:%B} {0.year}",
)


@given(DAYS, st.sampled_from(WRITTEN), st.sampled_from(("in", "on", "dated", "during")))
def test_a_day_is_read_however_it_is_written(day: date, form: str, word: str) -> None:
    assert period_in(f"documents {word} {form.format(day)} here") == (Period(day, day), "documents here")


@given(DAYS, DAYS, st.sampled_from(WRITTEN))
def test_two_days_are_a_period_in_their_order(first: date, last: date, form: str) -> None:
    text = f"documents between {form.format(first)} and {form.format(last)}"
    if first <= last:
        assert period_in(text) == (Period(first, last), "documents")
    else:
        with pytest.raises(DateError, match="ends before it begins"):
            period_in(text)


@given(DAYS)
def test_what_is_open_on_one_side(day: date) -> None:
    one = timedelta(days=1)
    assert period_in(f"x since {day}")[0] == Period(day, None)
    assert period_in(f"x until {day}")[0] == Period(None, day)
    assert period_in(f"x before {day}")[0] == Period(None, day - one)
    assert period_in(f"x after {day}")[0] == Period(day + one, None)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in 2021", "2021-01-01", "2021-12-31"),
        ("from February 2020", "2020-02-01", None),
        ("in 2020-02", "2020-02-01", "2020-02-29"),
        ("from 2019 to May 2020", "2019-01-01", "2020-05-31"),
    ],
)
def test_years_and_months_are_whole(text: str, first: str, last: str | None) -> None:
    assert period_in(text)[0] == Period(date.fromisoformat(first), date.fromisoformat(last) if last else None)


@pytest.mark.parametrize("text", ["30 February 2021", "2021-13", "2021-02-30", "31 June 2020", "0 May 2020"])
def test_a_day_that_is_none_is_named(text: str) -> None:
    with pytest.raises(DateError, match=f"there is no {text} in the calendar"):
        period_in(f"documents in {text}")


@pytest.mark.parametrize("text", ["in 12 documents", "by year", "Expo 2020", "between A and B", "in 99999"])
def test_other_numbers_are_no_periods(text: str) -> None:
    assert period_in(text) == (None, text)
