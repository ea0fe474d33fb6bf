from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.search.reranking.lexical import LexicalReranker
from graphrag_dagster.core.search.reranking.port import Sought
from graphrag_dagster.core.search.reranking.reordering import Moved, Reranked, reordered, told_of
from graphrag_dagster.core.search.reranking.windows import windows
from graphrag_dagster.core.search.retrieval.lexical import LexicalIndex
from graphrag_dagster.errors import EngineError

SOUGHT = Sought("Who?", (), ())


@dataclass
class Fixed:
    """Gives the scores that it was made with."""

    given: list[float]
    name: str = "fixed@1"

    def scores(self, sought: Sought, texts: list[str]) -> np.ndarray:
        return np.array(self.given[: len(texts)])


def put(scores: list[float], first: int | None = None) -> tuple[list[str], Reranked]:
    ids = [f"u{place}" for place in range(len(scores))]
    return reordered(ids, str, SOUGHT, Fixed(scores), len(ids) if first is None else first)


scores_of_units = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0]), max_size=30)


@given(scores_of_units, st.integers(1, 40))
def test_the_first_are_permuted_and_nothing_else(scores: list[float], first: int) -> None:
    before = [f"u{place}" for place in range(len(scores))]
    after, made = put(scores, first)
    assert sorted(after[:first]) == sorted(before[:first])
    assert after[first:] == before[first:]
    assert put(scores, first) == (after, made)
    assert made.units == len(before[:first])
    ranks = {one: rank for rank, one in enumerate(after, 1)}
    assert list(made.moved) == [
        Moved(one, old, ranks[one])
        for one, old in sorted(
            ((one, rank) for rank, one in enumerate(before, 1) if ranks[one] != rank),
            key=lambda p: ranks[p[0]],
        )
    ]


@given(scores_of_units)
def test_what_both_orders_prefer_stays_before(scores: list[float]) -> None:
    after, _ = put(scores)
    rank = {one: place for place, one in enumerate(after)}
    rounded = np.array(scores).round(12)
    for place, score in enumerate(rounded):
        assert all(
            rank[f"u{place}"] < rank[f"u{worse}"]
            for worse in range(place + 1, len(scores))
            if rounded[worse] <= score
        )


def test_a_reranker_that_tells_nothing_apart_or_agrees_moves_nothing() -> None:
    for scores in ([3.0] * 9, [float(-place) for place in range(9)], [1.0], []):
        after, made = put(scores)
        assert after == [f"u{place}" for place in range(len(scores))]
        assert made.moved == ()
    assert told_of([put([3.0] * 9)[1]]) == "reranked by fixed@1: none of the first 9 text units moved"


def test_what_moved_is_told_with_the_ranks_before_and_after() -> None:
    after, made = put([0.0, 0.0, 5.0, 0.0], first=3)
    assert after == ["u0", "u2", "u1", "u3"]
    assert made == Reranked("Who?", "fixed@1", 3, (Moved("u2", 3, 2), Moved("u1", 2, 3)))
    assert told_of([made]) == "reranked by fixed@1: 2 of the first 3 text units moved"
    turned = put([0.0, 4.0, 9.0, 8.0])[1]
    assert told_of([turned]).endswith("3 of the first 4 text units moved, number 3 to the front")
    assert told_of([turned, made]) == "reranked by fixed@1: 5 of 7 text units for 2 questions moved"
    assert told_of([]) == ""


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")], [float("inf"), 1.0]])
def test_scores_that_are_none_are_an_error_that_names_the_reranker(scores: list[float]) -> None:
    with pytest.raises(
        EngineError, match="the reranker fixed@1 gave no finite score for each of 2 text units"
    ):
        reordered(["a", "b"], str, SOUGHT, Fixed(scores), 60)


TEXTS = [
    "The harbour was dredged. It took a year. Nobody watched the ferry.",
    "A ferry crossed. The harbour was busy. In May the harbour was dredged by Selma Dray.",
    "Bread is baked at night.",
    "",
    "Гавань была углублена. Её углубила Селма.",
]


def sought(question: str) -> Sought:
    terms = LexicalIndex(TEXTS).terms(question)
    return Sought(question, terms.stems, tuple(terms.weights.tolist()))


def test_words_that_stand_close_together_count() -> None:
    found = LexicalReranker().scores(sought("Was the harbour dredged by Selma Dray?"), TEXTS)
    assert found[1] == found.max() == 1.0
    assert 0 < found[0] < 1
    assert found[2:].tolist() == [0, 0, 0]
    far = [
        "Selma came. It rained. It rained again. The harbour was dredged.",
        "Selma came. The harbour was dredged.",
    ]
    one, two = LexicalReranker().scores(sought("Selma dredged harbour"), far)
    assert one < two == 1.0


def test_other_scripts_and_questions_without_words() -> None:
    assert LexicalReranker().scores(sought("Гавань углубила?"), TEXTS).argmax() == 4
    for question in ("?", "who is the of", "港は浚渫されたか"):
        assert LexicalReranker().scores(sought(question), TEXTS).tolist() == [0] * 5
    assert LexicalReranker().scores(sought("harbour"), []).shape == (0,)


@given(st.text(max_size=300), st.text(max_size=60))
def test_words_give_shares_for_whatever_text(text: str, question: str) -> None:
    index = LexicalIndex([text, question])
    terms = index.terms(question)
    wanted = Sought(question, terms.stems, tuple(terms.weights.tolist()))
    found = LexicalReranker().scores(wanted, [text, question])
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()
    assert LexicalReranker().scores(wanted, [question, text])[::-1].tolist() == found.tolist()


@given(st.text(max_size=400) | st.text("ab. \n", max_size=400), st.integers(1, 50))
def test_windows_fit_and_together_are_the_text(text: str, room: int) -> None:
    cut = list(windows(text, lambda part: len(part) <= room))
    assert "".join(cut) == text
    assert all(len(one) <= room for one in cut)
    assert all(len(one) + len(two) > room for one, two in pairwise(cut)) or len(cut) > 2


def test_windows_are_cut_between_sentences_then_between_words() -> None:
    text = "One is here. Two is there. Three is not. Four is far away."
    assert list(windows(text, lambda part: len(part) < 35)) == [text[:27], text[27:]]
    assert list(windows("never ending words", lambda part: len(part) < 14)) == ["never ", "ending words"]
    assert list(windows("abcdef", lambda part: len(part) < 4)) == ["abc", "def"]
