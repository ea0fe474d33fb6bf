"""Two orders of text units made one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.retrieval.ranking import fuse_rankings, with_neighbours


@given(st.permutations(range(7)), st.lists(st.floats(0, 9), min_size=7, max_size=7))
def test_passages_that_are_whole_documents_keep_the_order_in_which_they_were_reached(
    followed: list[int], likeness: list[float]
) -> None:
    order, scores = fuse_rankings(np.array(followed), np.array(likeness), 0.0)
    assert order.tolist() == followed
    assert (np.diff(scores) < 0).all()


@given(st.permutations(range(7)), st.floats(0, 1))
def test_what_both_orders_put_first_is_first_and_nothing_is_lost(followed: list[int], length: float) -> None:
    likeness = np.empty(7)
    likeness[followed] = np.arange(7, 0, -1)
    order, _ = fuse_rankings(np.array(followed), likeness, length)
    assert order.tolist() == followed


def test_units_of_long_documents_are_ranked_by_their_own_words_too() -> None:
    followed, likeness = np.array([0, 1, 2, 3]), np.array([0.0, 0.1, 0.2, 9.0])
    near, _ = fuse_rankings(followed, likeness, 1.0)
    assert near.tolist().index(3) < 2
    assert fuse_rankings(followed, likeness, 0.0)[0].tolist()[-1] == 3


def test_what_is_left_out_stays_out_and_what_is_favoured_comes_before() -> None:
    likeness, prior = np.array([5.0, 4.0, 3.0]), np.array([0.0, 1.0, 10.0])
    order, _ = fuse_rankings(np.array([1, 2]), likeness, 1.0, prior)
    assert sorted(order.tolist()) == [1, 2]
    assert fuse_rankings(np.array([2, 1]), likeness, 1.0, prior)[0].tolist() == [2, 1]


def test_units_beside_each_other_in_a_document_lend_their_likeness() -> None:
    likeness, documents = np.array([1.0, 3.0, -1.0, 2.0, 0.0]), np.array([1, 1, 1, 2, 3])
    spread = with_neighbours(likeness, documents)
    assert spread.tolist() == pytest.approx([1 + 1.2, 3 + 0.4, -1 + 1.2, 2 - 0.4, -0.4])
    assert with_neighbours(np.zeros(0), np.zeros(0, dtype=np.int64)).shape == (0,)
