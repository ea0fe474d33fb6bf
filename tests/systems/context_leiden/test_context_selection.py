import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.systems.context_leiden.index.context_node_selection import (
    ContextCandidates,
    budgets,
    select,
)
from graphrag_dagster.systems.context_leiden.settings import ContextSettings
from graphrag_dagster.systems.context_leiden.tables import OUTCOMES


def candidates(*rows: tuple[float, int, float], target: int = 0) -> ContextCandidates:
    """Candidates of one community by similarity, distance and centrality."""
    similarity, distance, centrality = np.array(rows, dtype=float).reshape(-1, 3).T
    return ContextCandidates(
        np.arange(len(rows)),
        np.full(len(rows), target),
        similarity,
        distance.astype(np.int32),
        centrality,
    )


def outcomes(found: ContextCandidates, options: ContextSettings) -> list[str]:
    return [OUTCOMES[number] for number in select(found, options).outcome]


@pytest.mark.parametrize(
    ("count", "budget"), [(0, 0), (1, 1), (2, 1), (3, 2), (7, 3), (15, 4), (1023, 10), (10**9, 10)]
)
def test_the_budget_grows_with_the_logarithm(count: int, budget: int) -> None:
    assert budgets(np.array([count]), ContextSettings()).tolist() == [budget]


@given(st.integers(0, 10**6), st.integers(0, 12), st.floats(0, 1000))
def test_the_budget_is_capped_and_never_falls(count: int, most: int, alpha: float) -> None:
    options = ContextSettings(lambda_max=most, alpha=alpha)
    fewer, more = budgets(np.array([count, count + 1]), options)
    assert 0 <= fewer <= more <= most


@pytest.mark.parametrize("exponent", range(1, 50))
def test_powers_of_two_are_not_rounded_below(exponent: int) -> None:
    options = ContextSettings(lambda_max=100)
    assert budgets(np.array([2**exponent - 1]), options).tolist() == [exponent]


def test_scores_are_squared_similarity_over_one_more_than_the_distance_and_halved_for_the_most_central() -> (
    None
):
    found = select(candidates((1, 3, 0), (1, 3, 1), (0.8, 1, 0.5)), ContextSettings())
    assert np.allclose(found.score, [1 / 4, 1 / 4, 0.32])
    assert np.allclose(found.penalised, [1 / 4, 1 / 8, 0.32 / 1.5])
    assert found.rank.tolist() == [1, 3, 2]
    taken = select(candidates((1, 3, 0), (1, 3, 1)), ContextSettings(penalty="subtract", gamma=0.2))
    assert np.allclose(taken.penalised, [0.25, 0.05])


def test_of_equals_the_more_similar_comes_first_then_the_lower_number() -> None:
    # 0.8² / 2 = 0.4² · 2 is none; 0.6²/(1+2) = 0.12 and √.24²/(1+1) = 0.12.
    found = select(
        candidates((0.24**0.5, 1, 0), (0.6, 2, 0), (0.6 + 1e-12, 2, 0), (0.6, 2, 0)), ContextSettings()
    )
    assert found.rank.tolist() == [4, 1, 2, 3]


def test_what_becomes_of_candidates() -> None:
    rows = candidates((0.9, 1, 0), (0.8, 1, 0), (0.2, 1, 1), (0.9, -1, 0), (-0.1, 1, 0), (0, 1, 0))
    options = ContextSettings(penalty="subtract", gamma=0.1)
    assert outcomes(rows, options) == [
        *("taken", "over_budget", "penalised", "unreachable"),
        *("dissimilar", "dissimilar"),
    ]
    far = ContextSettings(unreachable="far", lambda_max=5, alpha=9)
    assert outcomes(rows, far) == ["taken"] * 4 + ["dissimilar"] * 2
    assert select(rows, far).score[3] == pytest.approx(0.81 / 8)
    assert outcomes(rows, ContextSettings(lambda_max=0)) == [
        *["over_budget"] * 3,
        *("unreachable", "dissimilar", "dissimilar"),
    ]


def test_dropped_candidates_do_not_count_for_the_budget() -> None:
    dropped = [(0.9, -1, 0.0)] * 60
    assert outcomes(candidates((0.9, 1, 0), (0.8, 1, 0), *dropped), ContextSettings())[:2] == [
        "taken",
        "over_budget",
    ]


def test_communities_have_budgets_of_their_own() -> None:
    three, one = candidates(*[(0.9, 1, 0)] * 3), candidates((0.1, 6, 1))
    both = ContextCandidates(
        np.arange(4),
        np.array([5, 5, 2, 5]),
        np.concatenate([three.similarity, one.similarity]),
        np.concatenate([three.distance, one.distance]),
        np.concatenate([three.centrality, one.centrality]),
    )
    assert outcomes(both, ContextSettings()) == ["taken", "taken", "taken", "over_budget"]
    assert select(both, ContextSettings()).rank.tolist() == [1, 2, 1, 3]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lambda_max", -1),
        ("alpha", -0.5),
        ("alpha", float("nan")),
        ("alpha", float("inf")),
        ("gamma", -1),
        ("pivots", 0),
        ("max_hops", 0),
        ("min_sim", -1.5),
        ("penalty", "divide"),
        ("centrality", "largest"),
        ("unreachable", "keep"),
    ],
)
def test_options_out_of_range_are_named(key: str, value: object) -> None:
    with pytest.raises(SettingsError, match=rf"context\.{key}"):
        parse_settings({"context": {key: value}}, "corpus.yaml")
