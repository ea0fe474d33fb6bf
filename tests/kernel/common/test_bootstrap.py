import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.bootstrap_intervals import RESAMPLES, SEED, MeanInterval, mean_interval

numbers = st.lists(st.integers(-100, 100), min_size=2, max_size=30).filter(lambda found: len(set(found)) > 1)


def test_there_is_nothing_to_say_of_no_values() -> None:
    assert mean_interval([]) is None


@pytest.mark.parametrize("values", [[7.1], [0.1] * 125, [0, 0]])
def test_equal_values_have_no_interval(values: list[float]) -> None:
    assert mean_interval(values) == MeanInterval(len(values), values[0], None, None)


@given(numbers, st.randoms(use_true_random=False))
def test_same_values_give_the_same_interval_in_any_order(values: list[int], random) -> None:
    found = mean_interval(values, resamples=100)
    assert found == mean_interval(random.sample(values, len(values)), resamples=100)
    assert min(values) <= found.low <= found.high <= max(values)
    assert found.mean == pytest.approx(sum(values) / len(values))


@given(numbers, st.integers(-50, 50), st.integers(1, 8))
def test_the_interval_moves_and_stretches_with_the_values(values: list[int], by: int, factor: int) -> None:
    plain = mean_interval(values, resamples=100)
    moved = mean_interval([factor * value + by for value in values], resamples=100)
    assert (moved.low, moved.high) == pytest.approx((factor * plain.low + by, factor * plain.high + by))


def test_blocks_draw_what_one_draw_would() -> None:
    values = np.random.default_rng(3).normal(size=2_501)
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    means = np.sort(values)[drawn].mean(axis=1)
    found = mean_interval(values)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), rel=1e-12)


def test_the_seed_decides_the_draws() -> None:
    values = list(range(20))
    assert mean_interval(values, seed=1) != mean_interval(values, seed=2)


def test_the_width_is_that_of_the_standard_error() -> None:
    values = np.random.default_rng(4).normal(30, 8, 125)
    found = mean_interval(values)
    error = values.std() / math.sqrt(125)
    assert found.mean - found.low == pytest.approx(1.96 * error, rel=0.1)
    assert found.high - found.mean == pytest.approx(1.96 * error, rel=0.1)


def test_the_interval_holds_the_mean_about_as_often_as_it_says() -> None:
    samples = np.random.default_rng(5).normal(size=(400, 60))
    held = sum(found.low <= 0 <= found.high for found in (mean_interval(s, resamples=400) for s in samples))
    assert 0.91 <= held / 400 <= 0.98


@pytest.mark.parametrize("values", [[1, math.nan], [1, math.inf], [[1, 2]]])
def test_what_has_no_interval_is_refused(values: list) -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval(values)
