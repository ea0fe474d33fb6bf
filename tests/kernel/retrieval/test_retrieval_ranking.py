import logging
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.stable_values import cosines, unit_rows
from graphrag_dagster.kernel.retrieval.lexical_index import LexicalIndex
from graphrag_dagster.kernel.retrieval.ranking import (
    TextRanker,
    first_places,
    rank_by_score,
    rows_of,
    z_scores,
)

TEXTS = ["red fox jumps", "red hen", "grey wolf howls loudly tonight"]
VECTORS = np.array([[1, 0], [0, 1], [0, 0]], dtype=np.float32)
EAST = np.array([1, 0], dtype=np.float32)


def test_bm25_is_that_of_lucene():
    idf = {word: math.log(1 + (3 - d + 0.5) / (d + 0.5)) for word, d in {"red": 2, "fox": 1}.items()}
    average = (3 + 2 + 5) / 3

    def term(word: str, length: int) -> float:
        return idf[word] / (1 + 1.5 * (1 - 0.75 + 0.75 * length / average))

    found = LexicalIndex(TEXTS).scores("Red foxes?")
    assert found.dtype == np.float64
    assert found == pytest.approx([term("red", 3) + term("fox", 3), term("red", 2), 0], rel=1e-5)


def test_inflected_words_are_the_same_word():
    assert LexicalIndex(["The wolves howled", "A hen"]).scores("howling wolf")[0] > 0


@pytest.mark.parametrize("question", ["", "the of and", "zebra", "什么是图", "?!", "кто это"])
def test_a_question_that_shares_no_word_scores_nothing(question):
    assert LexicalIndex(TEXTS).scores(question).tolist() == [0, 0, 0]


@pytest.mark.parametrize("texts", [[], [""], ["", "  "], ["the"], ["!"]])
def test_texts_without_words(texts):
    for mode in ("hybrid", "vector", "lexical"):
        ranker = TextRanker([str(i) for i in range(len(texts))], texts, np.zeros((len(texts), 2), np.float32))
        assert ranker.scores("red fox", EAST, mode).tolist() == [0] * len(texts)


def test_another_language_is_found_by_its_words():
    assert LexicalIndex(["Die Werft in Hamburg", "Лиса прыгает"]).scores("лиса").argmax() == 1


def test_the_index_is_made_once_and_in_silence(caplog, monkeypatch):
    import bm25s

    made = []
    index = bm25s.BM25.index
    monkeypatch.setattr(bm25s.BM25, "index", lambda self, *a, **k: (made.append(1), index(self, *a, **k))[1])
    ranker = TextRanker("abc", TEXTS)
    assert made == []
    with caplog.at_level(logging.DEBUG):
        first, second = ranker.scores("red fox", None), ranker.scores("red fox", None)
    assert made == [1]
    assert first.tolist() == second.tolist()
    assert not [record for record in caplog.records if record.name.startswith("bm25s")]


def test_vectors_rank_by_cosine():
    ranker = TextRanker("abc", TEXTS, VECTORS)
    assert ranker.scores("hen", EAST, "vector").tolist() == [1, 0, 0]


def test_hybrid_is_the_sum_of_both_z_scores():
    ranker = TextRanker("abc", TEXTS, VECTORS)
    words = ranker.scores("red hen", EAST, "lexical")
    both = z_scores(np.array([1.0, 0, 0])) + z_scores(words)
    assert ranker.scores("red hen", EAST, "hybrid") == pytest.approx(both)


def test_without_vectors_every_mode_is_by_words():
    by_words = TextRanker("abc", TEXTS).scores("red hen", None, "lexical").tolist()
    assert TextRanker("abc", TEXTS).scores("red hen", EAST, "vector").tolist() == by_words
    assert TextRanker("abc", TEXTS, VECTORS).scores("red hen", None, "hybrid").tolist() == by_words


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="as many"):
        TextRanker(["a"], [])


def test_equal_scores_keep_the_order_of_the_table():
    assert rank_by_score("abcd", np.array([1.0, 2.0, 1.0, 2.0])).ids == ("b", "d", "a", "c")


@given(st.lists(st.integers(0, 4).map(float), max_size=30), st.integers(0, 35))
def test_so_many_are_the_first_of_all(values, most):
    scores = np.array(values, dtype=np.float64)
    assert first_places(scores, most).tolist() == first_places(scores).tolist()[:most]


@given(
    st.integers(0, 70_000),
    st.integers(1, 40),
    st.none() | st.integers(0, 3_000),
    st.booleans(),
    st.integers(),
)
@settings(max_examples=30, deadline=None)
def test_what_is_ranked_in_parts_stands_as_it_would_at_once(size, values, most, weighed, seed):
    random = np.random.default_rng(abs(seed))
    # Few values make ties across the edges of parts; one of them is 0.1 + 0.2 - 0.3, which is nought.
    scores = random.integers(-values, values, size) + random.choice([0.0, 0.1 + 0.2 - 0.3], size)
    prior = random.choice([0.0, 1.0, 2.5], size) if weighed else np.ones(size)
    weights = (scores - (scores.min() if size else 0)) * prior if weighed else scores
    allowed = np.flatnonzero(prior > 0)
    whole = allowed[np.argsort(-weights[allowed].round(12), kind="stable")][:most].tolist()
    found = rank_by_score(range(size), scores, most, prior=prior if weighed else None)
    assert [one for one, _ in zip(found.ids, range(1_500), strict=False)] == whole[:1_500]
    assert list(found.ids) == whole
    # Scores that are equal to twelve digits count as one.
    assert list(found.scores) == pytest.approx(weights[whole].tolist(), abs=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_z_scores_have_mean_nought_and_deviation_one(values):
    found = z_scores(np.array(values, dtype=np.float64))
    assert len(found) == len(values)
    assert np.isfinite(found).all()
    if found.any():
        assert found.mean() == pytest.approx(0, abs=1e-6)
        assert found.std() == pytest.approx(1, abs=1e-6)


def test_vectors_come_in_the_order_of_the_ids_and_zeros_where_missing():
    frame = pl.DataFrame({"key": ["b", "x", "a"], "vector": [[0.0, 1.0], [9.0, 9.0], [1.0, 0.0]]})
    as_array = frame.with_columns(pl.col("vector").cast(pl.Array(pl.Float32, 2)))
    for given_frame in (frame, as_array):
        found = rows_of(["a", "b", "c"], given_frame, "key")
        assert found is not None
        assert found.dtype == np.float32
        assert found.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert rows_of(["c"], frame, "key") is None
    assert rows_of(["a"], None, "key") is None
    assert rows_of(["a"], frame.clear(), "key") is None
    assert rows_of([], frame, "key") is None


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_a_cosine_does_not_depend_on_the_order_of_its_parts(parts, random):
    order = list(range(len(parts)))
    random.shuffle(order)
    row = unit_rows(np.array([parts], dtype=np.float32))
    assert cosines(row[:, order], row[0, order]).tolist() == cosines(row, row[0]).tolist()


def test_vectors_are_brought_to_length_1_and_zeros_stay():
    rows = unit_rows(np.array([[3, 4], [0, 0]]))
    assert rows.dtype == np.float32
    assert rows.tolist() == [pytest.approx([0.6, 0.8]), [0, 0]]


def test_scores_that_differ_by_the_order_of_a_sum_are_equal_and_the_first_comes_first():
    assert first_places(np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]) - 0.6).tolist() == [0, 1]
    assert first_places(np.array([0.3 + 0.2 + 0.1, 0.1 + 0.2 + 0.3]), 1).tolist() == [0]
