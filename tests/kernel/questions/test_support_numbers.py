import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.text.names_and_numbers import is_among, numbers_of


def values(text: str) -> list[tuple[float, str]]:
    return [(one.value, one.kind) for one in numbers_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,200 people", [(1200, "count")]),
        ("twelve hundred people", [(1200, "count")]),
        ("1\u00a0200 people", [(1200, "count")]),
        ("one hundred and five", [(105, "count")]),
        ("two million three hundred thousand", [(2_300_000, "count")]),
        ("$1.2 million", [(1_200_000, "count")]),
        ("3.5bn", [(3.5e9, "count")]),
        ("twenty-one and thirty", [(21, "count"), (30, "count")]),
        ("three four", [(3, "count"), (4, "count")]),
        ("a dozen boats", [(12, "count")]),
        ("37 %, 37 per cent, thirty percent", [(37, "percent"), (37, "percent"), (30, "percent")]),
        ("the 1980s", [(1980, "decade")]),
        ("the 19th century, the fifth boat", [(19, "century"), (5, "count")]),
        ("11 September 2023", [(11, "count"), (9, "month"), (2023, "count")]),
        ("2023-09-11", [(2023, "count"), (9, "month"), (11, "count")]),
        ("in May 2021 they may march", [(5, "month"), (2021, "count")]),
        ("one of the first, the second", []),
        ("from 1939–1975", [(1939, "count"), (1975, "count")]),
        ("٣٧", [(37, "count")]),
        ("0 %", [(0, "percent")]),
        ("2023-99-99", [(2023, "count"), (99, "month"), (99, "count")]),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, expected: list[tuple[float, str]]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("said", "known", "same"),
    [
        ("1,200", "twelve hundred", True),
        ("37", "38", False),
        ("37 percent", "37 people", False),
        ("about 5,000", "4,870", True),
        ("about 5,000", "4,000", False),
        ("5,000", "nearly 4,870", True),
        ("more than 40", "43", True),
        ("more than 40", "39", False),
        ("at most 40", "38", True),
        ("under 40", "45", False),
        ("1.2 million", "1,234,567", True),
        ("1,234,567", "1.2 million", False),
        ("the 1980s", "in 1984", True),
        ("the 1980s", "in 1990", False),
        ("the 20th century", "in 1984", True),
        ("in 1984", "in 1985", False),
        ("about 1984", "in 1985", False),
        ("September", "2023-09-11", True),
        ("October", "2023-09-11", False),
    ],
)
def test_a_number_is_the_same_as_exactly_as_it_is_meant(said: str, known: str, same: bool) -> None:
    [number] = numbers_of(said)
    assert is_among(number, numbers_of(known)) == same


@given(st.integers(2, 10**9))
def test_a_number_stands_in_itself_however_it_is_grouped(number: int) -> None:
    [plain], [grouped] = numbers_of(f"{number} of"), numbers_of(f"{number:,} of")
    assert plain.value == grouped.value == number
    assert is_among(plain, [grouped])
    assert is_among(grouped, [plain])


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert all(is_among(one, numbers_of(text)) for one in numbers_of(text))
