"""Texts and lists in flat arrays read as those they were made of."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.packed_arrays import NumbersByWord, Texts, WeightedLists, WordsInOrder

TRIPLE = st.tuples(st.integers(0, 4), st.integers(0, 6), st.floats(0, 1))
SOME = st.lists(st.text(max_size=4) | st.just("\ud800"), max_size=6)


@given(SOME, st.slices(8))
def test_texts_are_a_sequence_of_those_given(given_texts: list[str], some: slice) -> None:
    texts = Texts.of(given_texts)
    assert list(texts) == [texts[place] for place in range(len(texts))] == given_texts
    assert texts[some] == given_texts[some]
    assert list(copy(texts)) == given_texts


@pytest.mark.parametrize("place", [-1, 2, 3])
def test_there_is_no_text_before_the_first_nor_behind_the_last(place: int) -> None:
    with pytest.raises(IndexError):
        Texts.of(["a", "b"])[place]


@given(st.lists(TRIPLE, max_size=30), st.lists(st.integers(0, 4), max_size=6))
def test_lists_hold_each_pair_once_with_its_largest_weight(triples, asked):
    best: dict[int, dict[int, float]] = {}
    for owner, value, weight in triples:
        best.setdefault(owner, {})[value] = max(weight, best.get(owner, {}).get(value, 0))
    owners, values, weights = (np.array([t[i] for t in triples]) for i in range(3))
    lists = WeightedLists.of_pairs(5, owners.astype(np.int64), values.astype(np.int64), weights.astype(float))
    for owner in range(5):
        assert lists.of(owner).tolist() == sorted(best.get(owner, {}))
    which, found, heavy = lists.of_all(np.array(asked, dtype=np.int64))
    expected = [(i, v, w) for i, owner in enumerate(asked) for v, w in sorted(best.get(owner, {}).items())]
    assert list(zip(which.tolist(), found.tolist(), heavy.tolist(), strict=True)) == expected
    assert lists.owners.tolist() == [owner for owner in range(5) for _ in best.get(owner, ())]
    assert [lists.weights_of(owner).tolist() for owner in range(5)] == [
        [weight for _, weight in sorted(best.get(owner, {}).items())] for owner in range(5)
    ]


@given(st.sets(st.text(max_size=6), max_size=60), st.text(max_size=6))
def test_a_word_has_its_place_among_all_and_others_have_none(known: set[str], other: str) -> None:
    table = WordsInOrder.of(known)
    ordered = sorted(known)
    assert [table.number(word) for word in ordered] == list(range(len(ordered)))
    assert table.number(other) == (ordered.index(other) if other in known else None)


@given(st.dictionaries(st.text(max_size=6), st.lists(st.integers(0, 99), max_size=4), max_size=30))
def test_each_word_has_its_numbers_in_their_order(lists: dict[str, list[int]]) -> None:
    numbers = NumbersByWord.of(lists)
    assert {word: numbers.of_word(word) for word in lists} == lists
    assert numbers.most == max((value for one in lists.values() for value in one), default=0)
    assert "unheard of" not in numbers
    assert numbers.of_word("unheard of") == []
    assert all(word in numbers for word in lists)
