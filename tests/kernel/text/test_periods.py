import calendar
import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.tables.core_tables import FORMS
from graphrag_dagster.kernel.text.periods import PATTERNS, month_first_in, only_period, periods_in

DAYS = st.dates(datetime.date(1000, 1, 1), datetime.date(2999, 12, 31))
WAYS_TO_WRITE = (
    "{d:%Y-%m-%d}",
    "{d:%Y}_{d:%m}_{d:%d}",
    "{d:%d}.{d:%m}.{d:%Y}",
    "{d.day} {d:%B} {d.year}",
    "{d.day} {d:%b}. {d.year}",
    "{d.day}th of {d:%B} {d.year}",
    "{d:%B} {d.day}, {d.year}",
    "{d:%b} {d.day} {d.year}",
    "{d:%A} {d.day} {d:%B} {d.year}",
)


@given(DAYS, st.sampled_from(WAYS_TO_WRITE))
def test_a_day_is_found_however_it_is_written(day: datetime.date, written: str) -> None:
    (found,) = periods_in(f"Minutes ({written.format(d=day)}).")
    assert (found.period.start, found.period.end, found.form) == (day, day, "day")
    assert not found.ambiguous


@given(st.text(max_size=200) | st.text("0123456789-/. QFYWH'MarchSummer,", max_size=60))
def test_periods_stand_where_they_say_in_order_and_apart(text: str) -> None:
    found = periods_in(text)
    for one in found:
        assert text[one.start : one.end] == one.words
        assert one.period.start <= one.period.end
        assert one.form in FORMS
    assert all(one.end <= other.start for one, other in pairwise(found))


@given(st.integers(1000, 2999), st.integers(1, 12))
def test_months_quarters_halves_and_years_hold_whole_months(year: int, month: int) -> None:
    last = datetime.date(year, month, calendar.monthrange(year, month)[1])
    name = calendar.month_name[month]
    for written in (f"{name} {year}", f"{name} of {year}", f"{year}-{month:02}", f"{year} {name}"):
        named = only_period(written)
        assert named
        assert (named.period.start, named.period.end) == (last.replace(day=1), last)
    quarter, half = only_period(f"Q{(month + 2) // 3} {year}"), only_period(f"H{(month + 5) // 6} {year}")
    whole = only_period(str(year))
    assert quarter
    assert half
    assert whole
    assert quarter.period.start <= last <= quarter.period.end
    assert quarter.period.within(half.period)
    assert half.period.within(whole.period)


@given(DAYS)
def test_an_iso_week_is_that_of_the_calendar(day: datetime.date) -> None:
    year, week, weekday = day.isocalendar()
    if not 1000 <= year <= 2999:
        return
    named, its_day = only_period(f"{year}-W{week:02}"), only_period(f"{year}-W{week:02}-{weekday}")
    assert named
    assert its_day
    assert (named.period.end - named.period.start).days == 6
    assert named.period.start.isoweekday() == 1
    assert its_day.period.start == its_day.period.end == day
    assert its_day.period.within(named.period)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("FY24 Q2", "2024-04-01", "2024-06-30"),
        ("Q2 FY2024", "2024-04-01", "2024-06-30"),
        ("second quarter of fiscal 2024", "2024-04-01", "2024-06-30"),
        ("FY24 Second Quarter", "2024-04-01", "2024-06-30"),
        ("second fiscal quarter of 2024", "2024-04-01", "2024-06-30"),
        ("fiscal Q2 2024", "2024-04-01", "2024-06-30"),
        ("quarter 2 of FY24", "2024-04-01", "2024-06-30"),
        ("2nd quarter, 2024", "2024-04-01", "2024-06-30"),
        ("2024 second quarter", "2024-04-01", "2024-06-30"),
        ("first half of FY24", "2024-01-01", "2024-06-30"),
        ("second half 2019", "2019-07-01", "2019-12-31"),
        ("1H24", "2024-01-01", "2024-06-30"),
        ("FY2024", "2024-01-01", "2024-12-31"),
        ("FY2023-24", "2023-01-01", "2024-12-31"),
        ("3Q19", "2019-07-01", "2019-09-30"),
        ("2019Q3", "2019-07-01", "2019-09-30"),
        ("2016-17", "2016-01-01", "2017-12-31"),
        ("1999-00", "1999-01-01", "2000-12-31"),
        ("2011-12", "2011-12-01", "2011-12-31"),
        ("2011/12", "2011-01-01", "2012-12-31"),
        ("1998–2001", "1998-01-01", "2001-12-31"),
        ("Summer 2019", "2019-06-01", "2019-08-31"),
        ("winter 2019", "2019-12-01", "2020-02-29"),
        ("winter 2019/20", "2019-12-01", "2020-02-29"),
        ("March to May 2014", "2014-03-01", "2014-05-31"),
        ("2014-03-12T10:00:00Z", "2014-03-12", "2014-03-12"),
        ("week 7 of 2019", "2019-02-11", "2019-02-17"),
    ],
)
def test_what_is_named_is_these_days(text: str, start: str, end: str) -> None:
    named = only_period(text)
    assert named
    assert (named.period.start.isoformat(), named.period.end.isoformat()) == (start, end)


@pytest.mark.parametrize(
    "text",
    [
        *("2019-02-30", "31/02/2019", "2019-W60", "99/99/2019", "FY24 Q5", "Q7 2019", "30 Feb 2019"),
        *(
            "$2015",
            "2,015",
            "2015%",
            "2015.5",
            "TL-2015",
            "12345",
            "meeting 22",
            "May I ask?",
            "winter 2019/25",
        ),
        *("INC-2017-04", "version 3.14", "", "no figures here", "2019-2018"),
    ],
)
def test_what_does_not_exist_or_is_no_date_names_nothing(text: str) -> None:
    assert periods_in(text) == []


def test_the_order_of_figures_is_said_decided_or_told_to_be_unsure() -> None:
    (day_first,), (month_first,) = periods_in("03/04/2019"), periods_in("03/04/2019", month_first=True)
    assert day_first.period.start == datetime.date(2019, 4, 3)
    assert month_first.period.start == datetime.date(2019, 3, 4)
    assert day_first.ambiguous
    assert month_first.ambiguous
    for text, month_is_first in (("13/04/2019", True), ("04/13/2019", False), ("05/05/2019", True)):
        (found,) = periods_in(text, month_first=month_is_first)
        assert not found.ambiguous
    assert month_first_in(["03/04/2019", "04/13/2019"])
    assert not month_first_in(["03/04/2019"])
    assert not month_first_in(["04/13/2019", "13/04/2019"])


def test_the_forms_are_those_of_the_table() -> None:
    assert {pattern.form for pattern in PATTERNS} == set(FORMS)
