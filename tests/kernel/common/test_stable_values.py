"""Ids and scores are the same wherever and in whatever order they are made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common import stable_values
from graphrag_dagster.kernel.common.stable_values import cosines, round_for_comparison, stable_id, unit_rows

PARTS = st.lists(st.text(max_size=3) | st.integers(-20, 20), max_size=3)


def test_an_id_is_the_hash_of_its_parts_with_their_lengths() -> None:
    assert stable_id() == "e3b0c44298fc1c149afbf4c8996fb924"
    assert stable_id("a", "bc") != stable_id("ab", "c")
    assert stable_id(1, None) == stable_id("1", "None")
    assert len(stable_id("\ud800")) == 32


@given(PARTS, PARTS)
def test_ids_are_equal_where_all_parts_are(one: list[object], other: list[object]) -> None:
    assert (stable_id(*one) == stable_id(*other)) == (list(map(str, one)) == list(map(str, other)))


def test_scores_that_differ_by_the_order_of_their_parts_are_equal() -> None:
    one, other = round_for_comparison(np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]))
    assert one == other
    apart, near = round_for_comparison(np.array([1e-11, 1e-13]))
    assert (apart, near) == (1e-11, 0.0)


@pytest.mark.parametrize("at_once", [1, 2, 5, 6, 2**17])
def test_cosines_are_products_with_unit_rows_however_many_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(stable_values, "_AT_ONCE", at_once)
    rows = unit_rows(np.array([[3, 4], [0, 0], [0, -2], [1, 0], [-6, 8]], dtype=np.float32))
    assert rows.tolist() == [pytest.approx(one) for one in ([0.6, 0.8], [0, 0], [0, -1], [1, 0], [-0.6, 0.8])]
    assert cosines(rows, np.array([0.0, 1.0])) == pytest.approx([0.8, 0, -1, 0, 0.8])
    assert cosines(rows[:0], np.array([0.0, 1.0])).shape == (0,)
