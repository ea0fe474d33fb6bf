"""Areas in proportion, nothing outside, nothing on top of another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.pipeline.result_display import Rectangle, squarify

FRAME = Rectangle(3.0, 5.0, 60.0, 40.0)
VALUES = st.lists(st.integers(1, 10_000), min_size=1, max_size=60).map(
    lambda all_: sorted(all_, reverse=True)
)


@given(VALUES)
def test_areas_are_in_proportion_and_fill_the_frame(values: list[int]) -> None:
    made = squarify(values, FRAME)
    scale = FRAME.width * FRAME.height / sum(values)
    assert [one.width * one.height for one in made] == pytest.approx([value * scale for value in values])
    for one in made:
        assert one.x >= FRAME.x - 1e-6
        assert one.y >= FRAME.y - 1e-6
        assert one.x + one.width <= FRAME.x + FRAME.width + 1e-6
        assert one.y + one.height <= FRAME.y + FRAME.height + 1e-6


@given(VALUES)
def test_no_two_share_more_than_an_edge(values: list[int]) -> None:
    made = squarify(values, FRAME)
    for place, one in enumerate(made):
        for other in made[place + 1 :]:
            wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert wide <= 1e-6 or high <= 1e-6


def test_the_example_of_its_authors_comes_out_as_theirs() -> None:
    made = squarify([6, 6, 4, 3, 2, 2, 1], Rectangle(0, 0, 6, 4))
    assert [(one.width, one.height) for one in made[:3]] == [
        pytest.approx((3, 2)),
        pytest.approx((3, 2)),
        pytest.approx((12 / 7, 7 / 3)),
    ]


def test_nothing_is_made_of_nothing() -> None:
    assert squarify([], FRAME) == []


@pytest.mark.parametrize("values", [[1, 0], [-1], [1, 2]])
def test_values_that_cannot_be_areas_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="positive|largest"):
        squarify(values, FRAME)
