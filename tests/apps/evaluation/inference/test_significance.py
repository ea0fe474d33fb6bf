import importlib.util
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from graphrag_dagster.apps.evaluation.inference.paired_tests import (
    EXACT,
    SignedRank,
    holm,
    pairwise,
    pairwise_scores,
    shapiro_wilk,
    wilcoxon,
)

ROOT = Path(__file__).parents[4]
PAPER = ROOT / "../shared/papers/001_f60418696dad2659.txt"
CONDITIONS = ("C0", "C1", "C2", "C3", "TS", "SS")
# From Local to Global, Table 6: news, comprehensiveness.
PRINTED_Z = (8.44, 8.34, 8.27, 7.78, 6.3, 5.63, 5.07, 4.01, 3.68, 3.62, 2.94, 2.03, 1.54, 0.86, 0.45)
# From Local to Global, Table 3: mean claims per answer, C0–C3, TS, SS.
MEAN_CLAIMS = {
    "C0": (34.18, 32.21),
    "C1": (32.50, 32.20),
    "C2": (31.62, 32.46),
    "C3": (33.14, 32.28),
    "TS": (32.89, 31.39),
    "SS": (25.23, 26.50),
}

paired = st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), max_size=60).map(
    lambda rows: np.array(rows, dtype=float).reshape(-1, 2).T
)
p_values = st.lists(st.floats(0, 1), max_size=30)


@pytest.fixture(scope="module")
def table6():
    spec = importlib.util.spec_from_file_location("table6", ROOT / "benchmarks/table6.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def paper() -> str:
    if not PAPER.is_file():
        pytest.skip("the paper is not beside the checkout")
    return PAPER.read_text()


def two_sided(z: float) -> float:
    return 2 * float(stats.norm.sf(abs(z)))


def scores(length: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(float, length, elements=st.integers(0, 10).map(lambda tenth: 10.0 * tenth))


# -- Wilcoxon ----------------------------------------------------------------------------------------------


def test_wilcoxon_by_hand() -> None:
    # Differences 1, 1, -2, 3, 0: ranks 1.5, 1.5, 3, 4; W- = 3, mean 5, variance 7.5 - 6/48.
    found = wilcoxon([2, 3, 1, 5, 4], [1, 2, 3, 2, 4])
    assert found.n == 5
    assert found.zeros == 1
    assert found.z == pytest.approx(-2 / math.sqrt(7.375))
    # A sum of 3 at most comes of six of sixteen ways to give the signs: none, each alone, both of 1.5.
    assert found.p == 2 * 5 / 16
    assert found.rank_biserial == pytest.approx((7 - 3) / 10)


@pytest.mark.parametrize("values", [[], [3], [1, 2, 5]])
def test_equal_pairs_say_nothing(values: list[int]) -> None:
    assert wilcoxon(values, values) == SignedRank(len(values), len(values), 0.0, 1.0)


def test_balanced_pairs_have_a_positive_zero() -> None:
    found = wilcoxon([1, 0, 2], [0, 1, 2])
    assert (found.z, found.p, math.copysign(1, found.z)) == (0.0, 1.0, 1.0)


@given(paired)
def test_wilcoxon_is_that_of_scipy(pair: np.ndarray) -> None:
    found = wilcoxon(*pair)
    assert found.zeros == (pair[0] == pair[1]).sum()
    if found.zeros < found.n:
        theirs = stats.wilcoxon(*pair, zero_method="wilcox", correction=False, method="asymptotic")
        assert found.z == pytest.approx(-abs(theirs.zstatistic), abs=1e-12)
        if found.n - found.zeros > EXACT:
            assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=10))
def test_few_pairs_have_the_p_of_all_their_signs(differences: list[int]) -> None:
    found = wilcoxon(differences, [0] * len(differences))
    ranks = stats.rankdata(np.abs(differences))
    sums = [sum(chosen) for chosen in product(*((0, rank) for rank in ranks))]
    positive = ranks[np.array(differences) > 0].sum()
    smaller = min(positive, ranks.sum() - positive)
    assert found.p == pytest.approx(min(1, 2 * sum(one <= smaller for one in sums) / len(sums)))
    assert found.rank_biserial == pytest.approx((2 * positive - ranks.sum()) / ranks.sum())


def test_five_equal_differences_are_not_significant_and_six_are() -> None:
    found = [wilcoxon([7] * count, [0] * count).p for count in (1, 5, 6, EXACT + 1)]
    assert found[:3] == [1.0, 2 / 32, 2 / 64]
    assert found[3] == pytest.approx(two_sided(math.sqrt(EXACT + 1)))


@given(paired, st.randoms(use_true_random=False))
def test_neither_sides_nor_order_nor_scale_matter(pair: np.ndarray, random) -> None:
    found = wilcoxon(*pair)
    order = random.sample(range(found.n), found.n)
    assert wilcoxon(pair[1], pair[0]) == replace(found, rank_biserial=-found.rank_biserial)
    assert wilcoxon(pair[0][order], pair[1][order]) == found
    assert wilcoxon(pair[0] * 0.1, pair[1] * 0.1) == found
    assert found.z <= 0
    assert 0 <= found.p <= 1


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_rounding_of_scores_breaks_no_tie(sixths: list[int]) -> None:
    """Scores of three replicates are sixths of 100; exactly, their differences are whole thirds."""
    score = np.array([100 * sixth / 6 for sixth in sixths])
    exact = [float(Fraction(100 * sixth, 6) * 6 - 300) for sixth in sixths]
    assert wilcoxon(score, 100 - score) == wilcoxon(exact, np.zeros(len(exact)))


def test_a_sum_that_was_rounded_is_equal() -> None:
    assert wilcoxon([0.1 + 0.2, 1.0], [0.3, 0.5]).zeros == 1


@pytest.mark.parametrize(
    ("first", "second"), [([1, 2], [1]), ([1, math.nan], [1, 2]), ([1, math.inf], [1, 2]), ([[1]], [[2]])]
)
def test_values_that_are_not_pairs_are_refused(first: list, second: list) -> None:
    with pytest.raises(ValueError, match="values"):
        wilcoxon(first, second)


# -- Holm --------------------------------------------------------------------------------------------------


def test_holm_of_the_specified_example() -> None:
    raw = [two_sided(z) for z in PRINTED_Z]
    adjusted = dict(zip(PRINTED_Z, holm(raw), strict=True))
    assert raw[11] == pytest.approx(0.0424, abs=5e-5)
    assert adjusted[2.03] == pytest.approx(4 * raw[11])
    assert round(adjusted[2.03], 3) == 0.169
    assert round(adjusted[2.03], 2) == 0.17
    assert round(adjusted[1.54], 3) == 0.371
    assert round(adjusted[0.86], 2) == 0.78
    assert adjusted[0.45] == adjusted[0.86]


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.03, 0.9]) == pytest.approx([0.09, 0.04, 0.09, 0.9])
    assert list(holm([0.6, 0.6])) == [1.0, 1.0]
    assert list(holm([])) == []
    assert list(holm([0.2])) == [0.2]


@given(p_values)
def test_holm_keeps_the_order_and_raises_no_evidence(raw: list[float]) -> None:
    adjusted = holm(raw)
    assert all(raw[i] <= adjusted[i] <= min(1.0, len(raw) * raw[i]) for i in range(len(raw)))
    for i, j in combinations(range(len(raw)), 2):
        assert raw[i] != raw[j] or adjusted[i] == adjusted[j]
        assert not raw[i] < raw[j] or adjusted[i] <= adjusted[j]


@given(p_values, st.randoms(use_true_random=False))
def test_holm_does_not_depend_on_order(raw: list[float], random) -> None:
    order = random.sample(range(len(raw)), len(raw))
    assert list(holm([raw[i] for i in order])) == [holm(raw)[i] for i in order]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(raw: list[float]) -> None:
    members = range(len(raw))
    subsets = [s for size in range(1, len(raw) + 1) for s in combinations(members, size)]
    closed = [max(min(1.0, len(s) * min(raw[i] for i in s)) for s in subsets if k in s) for k in members]
    assert holm(raw) == pytest.approx(closed)


# -- Shapiro–Wilk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[], [1], [1, 2]])
def test_too_few_values_for_normality(values: list[int]) -> None:
    found = shapiro_wilk(values)
    assert (found.n, found.w, found.p) == (len(values), None, None)
    assert found.reason == f"{len(values)} of at least 3 values"


@pytest.mark.parametrize("values", [[50] * 125, [0, 0, 0], [0.3, 0.1 + 0.2, 0.3]])
def test_constant_values_have_no_normality(values: list[float]) -> None:
    found = shapiro_wilk(values)
    assert (found.w, found.p, found.reason) == (None, None, "all values are equal")


def test_normality_is_that_of_scipy_in_any_order() -> None:
    values = np.random.default_rng(1).integers(0, 11, 125) * 10.0
    found = shapiro_wilk(values)
    theirs = stats.shapiro(values)
    assert (found.w, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-5)
    assert found.p < 0.05
    assert found.reason is None
    assert shapiro_wilk(values[::-1]) == found
    assert shapiro_wilk(np.random.default_rng(1).normal(size=125)).p > 0.05


# -- families of pairs -------------------------------------------------------------------------------------


def test_all_pairs_of_six_conditions_are_one_family() -> None:
    generator = np.random.default_rng(2)
    values = {name: generator.poisson(30 + at, 125) for at, name in enumerate(CONDITIONS)}
    tests = pairwise(values, CONDITIONS)
    assert [(t.condition_a, t.condition_b) for t in tests] == list(combinations(CONDITIONS, 2))
    assert [t.p_holm for t in tests] == list(holm([t.p for t in tests]))
    for test in tests:
        a, b = values[test.condition_a], values[test.condition_b]
        assert (test.z, test.p) == (wilcoxon(a, b).z, wilcoxon(a, b).p)
        assert test.n == 125
        assert test.zeros == (a == b).sum()
        assert (test.mean_a, test.mean_b) == pytest.approx((a.mean(), b.mean()))
        assert test.difference == pytest.approx(a.mean() - b.mean())
        assert test.low < test.difference < test.high


@given(st.integers(1, 12).flatmap(lambda n: st.lists(scores(n), min_size=3, max_size=3)))
def test_the_order_of_conditions_only_turns_signs(columns: list[np.ndarray]) -> None:
    values = dict(zip("abc", columns, strict=True))
    forward = {frozenset((t.condition_a, t.condition_b)): t for t in pairwise(values, "abc", resamples=50)}
    for back in pairwise(dict(reversed(values.items())), "cba", resamples=50):
        test = forward[frozenset((back.condition_a, back.condition_b))]
        assert (test.n, test.zeros, test.z, test.p) == (back.n, back.zeros, back.z, back.p)
        assert test.p_holm == back.p_holm
        assert (test.mean_a, test.mean_b, test.difference) == (back.mean_b, back.mean_a, -back.difference)
    assert pairwise(values, "abc", resamples=50) == list(forward.values())


def test_conditions_must_be_paired_and_finite() -> None:
    with pytest.raises(ValueError, match="not paired"):
        pairwise({"a": [1, 2], "b": [2]}, ["a", "b"])
    with pytest.raises(ValueError, match="b values: number 1 is not finite"):
        pairwise({"a": [1, 2], "b": [2, math.nan]}, ["a", "b"])


def test_without_questions_there_are_no_means() -> None:
    (test,) = pairwise({"a": [], "b": []}, ["a", "b"])
    assert (test.n, test.zeros, test.z, test.p, test.p_holm) == (0, 0, 0.0, 1.0, 1.0)
    assert (test.mean_a, test.mean_b, test.difference, test.low, test.high) == (None,) * 5
    assert pairwise({"a": [1]}, ["a"]) == []
    assert pairwise_scores({}) == []


@given(st.integers(1, 20).flatmap(lambda n: st.lists(scores(n), min_size=3, max_size=3)))
def test_win_rates_and_their_mirror_add_up_to_100(columns: list[np.ndarray]) -> None:
    judged = dict(zip(combinations("abc", 2), columns, strict=True))
    mirrored = {(b, a): 100 - values for (a, b), values in judged.items()}
    tests = {(t.condition_a, t.condition_b): t for t in pairwise_scores(judged, resamples=50)}
    assert list(tests) == sorted(judged)
    for back in pairwise_scores(mirrored, resamples=50):
        test = tests[back.condition_b, back.condition_a]
        assert test.mean_a + test.mean_b == pytest.approx(100)
        assert test.mean_a + back.mean_a == pytest.approx(100)
        assert (test.z, test.p, test.p_holm, test.zeros) == (back.z, back.p, back.p_holm, back.zeros)
        assert test.zeros == (judged[test.condition_a, test.condition_b] == 50).sum()


def test_scores_are_tested_against_their_rest() -> None:
    score = np.array([100, 80, 60, 50, 40, 90, 70, 30])
    (test,) = pairwise_scores({("C2", "TS"): score})
    against = wilcoxon(score, 100 - score)
    assert (test.zeros, test.z, test.p) == (1, against.z, against.p)
    assert (test.mean_a, test.mean_b, test.difference) == (65.0, 35.0, 30.0)
    assert 50 + test.low / 2 < test.mean_a < 50 + test.high / 2


def test_judged_pairs_may_have_different_questions() -> None:
    tests = pairwise_scores({("b", "c"): [], ("a", "c"): [50, 50], ("a", "b"): [100] * 9})
    assert [(t.condition_a, t.condition_b, t.n) for t in tests] == [
        ("a", "b", 9),
        ("a", "c", 2),
        ("b", "c", 0),
    ]
    assert [t.p_holm for t in tests] == [min(1.0, 3 * tests[0].p), 1.0, 1.0]


# -- the paper's tables ------------------------------------------------------------------------------------


def test_table_6_is_read_whole(table6, paper: str) -> None:
    rows = table6.table_6(paper)
    assert len(rows) == 120
    families = {(row.data_set, row.criterion) for row in rows}
    assert len(families) == 8
    for family in families:
        pairs = [row.pair for row in rows if (row.data_set, row.criterion) == family]
        assert {frozenset(pair) for pair in pairs} == {frozenset(p) for p in combinations(CONDITIONS, 2)}
    assert all(row.z <= 0 for row in rows)
    assert all(sum(row.means) == pytest.approx(100) for row in rows)
    news = [row for row in rows if (row.data_set, row.criterion) == ("News", "comprehensiveness")]
    assert sorted((-row.z for row in news), reverse=True) == list(PRINTED_Z)


def test_table_6_was_corrected_in_families_of_15(table6, paper: str) -> None:
    assert table6.missed(table6.table_6(paper), 15) == []


def test_table_6_was_not_corrected_in_families_of_60(table6, paper: str) -> None:
    assert len(table6.missed(table6.table_6(paper), 60)) == 64


def test_table_6_was_not_left_uncorrected(table6, paper: str) -> None:
    assert len(table6.missed(table6.table_6(paper), 1)) > 0


def test_mean_claims_add_up_to_the_stated_total(table6) -> None:
    assert table6.total_claims(MEAN_CLAIMS) == pytest.approx(47_075, abs=1e-6)


def test_mean_claims_are_those_of_table_3(table6, paper: str) -> None:
    assert table6.table_3(paper) == MEAN_CLAIMS
    assert "47,075uniqueclaims" in paper
