from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.retrieval.rerankers import LexicalReranker, Moved, Reranked, rerank, windows
from graphrag_dagster.kernel.tasks.answering_ports import Sought

SOUGHT = Sought("Who?")


@dataclass
class Fixed:
    """Gives the scores that it was made with."""

    given: list[float]
    name: str = "fixed@1"

    def counts(self, sought: Sought) -> float:
        return 1.0

    def scores(self, sought: Sought, texts: list[str]) -> np.ndarray:
        return np.array(self.given[: len(texts)])


def put(scores: list[float], first: int | None = None) -> tuple[list[str], Reranked]:
    ids = [f"u{place}" for place in range(len(scores))]
    after, made = rerank(ids, str, SOUGHT, Fixed(scores), len(ids) if first is None else first)
    return list(after), made


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


def test_what_moved_is_told_with_the_ranks_before_and_after() -> None:
    after, made = put([0.0, 0.0, 5.0, 0.0], first=3)
    assert after == ["u0", "u2", "u1", "u3"]
    assert made == Reranked("Who?", "fixed@1", 3, (Moved("u2", 3, 2), Moved("u1", 2, 3)))


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")], [float("inf"), 1.0]])
def test_scores_that_are_none_are_an_error_that_names_the_reranker(scores: list[float]) -> None:
    with pytest.raises(
        EngineError, match="the reranker fixed@1 gave no finite score for each of 2 text units"
    ):
        rerank(["a", "b"], str, SOUGHT, Fixed(scores), 60)


TEXTS = [
    "The harbour was dredged. It took a year. Nobody watched the ferry.",
    "A ferry crossed. The harbour was busy. In May the harbour was dredged by Selma Dray.",
    "Bread is baked at night.",
    "",
    "Гавань была углублена. Её углубила Селма.",
]


def scores(question: str, texts: list[str]) -> np.ndarray:
    return LexicalReranker().scores(Sought(question), texts)


def test_the_text_with_the_sentence_that_answers_is_the_best() -> None:
    found = scores("Was the harbour dredged by Selma Dray?", TEXTS)
    assert found.argmax() == 1
    assert found[0] > found[2]
    far = [
        "Selma came. It rained. It rained again. It did not stop. Then the harbour was dredged.",
        "Selma came. The harbour was dredged. It rained. It rained again. It did not stop.",
    ]
    apart, together = scores("Selma dredged harbour", far)
    assert apart < together


def test_what_somebody_says_of_themselves_is_about_them() -> None:
    said = "I learned to weld at nine."
    texts = [f"BO LIND: {said} It was cold.", f"ADA RUSK: {said} It was cold."]
    assert scores("When did Ada Rusk learn to weld?", texts).argmax() == 1


def test_the_order_counts_in_long_documents_that_were_followed_only() -> None:
    counts = LexicalReranker().counts
    assert counts(Sought("Who dredged the harbour?", 0.9)) == pytest.approx(1.8)
    for sought in (Sought("harbour", 0.0), Sought("harbour", 0.9, followed=False), Sought("?", 0.9)):
        assert counts(sought) == 0


def test_other_scripts_and_questions_without_words() -> None:
    assert scores("Гавань углубила?", TEXTS).argmax() == 4
    for question in ("?", "who is the of"):
        assert scores(question, TEXTS).tolist() == [0] * 5
    assert scores("harbour", []).shape == (0,)


@given(st.text(max_size=300), st.text(max_size=60))
def test_whatever_texts_have_a_score_each_that_depends_on_no_order(text: str, question: str) -> None:
    found = scores(question, [text, question])
    assert np.isfinite(found).all()
    assert scores(question, [question, text])[::-1].tolist() == pytest.approx(found.tolist())


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
