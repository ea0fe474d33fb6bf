import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.systems.context_leiden.index import cosine_similarity as similarity
from graphrag_dagster.systems.context_leiden.index.cosine_similarity import (
    CommunityAlignment,
    UnitVectors,
    alignment,
    community_means,
)


def matrix(seed: int, nodes: int, width: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((nodes, width)).astype(np.float32)


def partition(seed: int, nodes: int, communities: int) -> np.ndarray:
    found = np.random.default_rng(seed).integers(0, communities, nodes)
    return np.unique(found, return_inverse=True)[1]


def aligned(vectors: np.ndarray, labels: np.ndarray, *, include_self: bool = True) -> CommunityAlignment:
    return alignment(UnitVectors(vectors), np.arange(len(vectors)), labels, include_self=include_self)


def pairwise(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1)
    cosines = units @ units.T
    return np.stack([cosines[:, labels == c].mean(axis=1) for c in range(labels.max() + 1)], axis=1)


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 9), st.integers(1, 12))
def test_the_product_with_the_mean_is_the_mean_of_the_cosines(
    seed: int, nodes: int, communities: int, width: int
) -> None:
    vectors, labels = matrix(seed, nodes, width), partition(seed, nodes, communities)
    units = UnitVectors(vectors)
    means, sizes = community_means(units, np.arange(nodes), labels)
    assert sizes.tolist() == np.bincount(labels).tolist()
    expected = pairwise(vectors, labels)
    assert np.allclose(units.double(np.arange(nodes)) @ means.T, expected, atol=1e-6)
    found = aligned(vectors, labels)
    assert np.allclose(found.similarity, expected.max(axis=1), atol=1e-6)
    assert np.allclose(found.home, expected[np.arange(nodes), labels], atol=1e-6)


def test_it_is_not_the_cosine_to_the_centroid() -> None:
    vectors = np.array([[1, 0], [0, 1]], dtype=np.float32)
    assert aligned(vectors, np.zeros(2, dtype=np.int64)).home.tolist() == [0.5, 0.5]


@given(st.integers(0, 2**32), st.sampled_from([7.0, 1e-20, 1e20]))
def test_the_length_of_a_vector_changes_nothing(seed: int, factor: float) -> None:
    vectors, labels = matrix(seed, 30, 5), partition(seed, 30, 4)
    longer = vectors.copy()
    longer[::3] *= np.float32(factor)
    one, other = aligned(vectors, labels), aligned(longer, labels)
    assert one.target.tolist() == other.target.tolist()
    assert np.allclose(one.similarity, other.similarity, atol=1e-6)


def test_a_node_does_not_count_in_its_own_community_where_that_is_left_out() -> None:
    vectors = np.array([[1, 0], [0, 1], [1, 1], [0, 2]], dtype=np.float32)
    labels = np.array([0, 0, 1, 0])
    with_itself, without = (
        aligned(vectors, labels, include_self=include_self) for include_self in (True, False)
    )
    assert np.allclose(with_itself.home, [1 / 3, 2 / 3, 1, 2 / 3])
    assert np.allclose(without.home, [0, 0.5, 0, 0.5])
    assert with_itself.target.tolist() == [1, 1, 1, 1]
    assert without.target.tolist() == [1, 1, 0, 1]


def test_a_community_of_one_is_never_misaligned_but_where_it_does_not_count_itself() -> None:
    vectors, labels = matrix(3, 50, 4), np.arange(50)
    assert aligned(vectors, labels).target.tolist() == labels.tolist()
    without = aligned(vectors, labels, include_self=False)
    assert (without.target != labels).all()
    assert not without.home.any()


@pytest.mark.parametrize("include_self", [True, False])
def test_of_equal_communities_the_own_one_comes_first(include_self: bool) -> None:
    vectors = np.tile(matrix(0, 1, 128), (90, 1)) * np.arange(1, 91, dtype=np.float32)[:, None]
    labels = np.arange(90) % 9
    found = aligned(vectors, labels, include_self=include_self)
    assert found.target.tolist() == labels.tolist()
    assert np.allclose(found.similarity, 1)


def test_of_other_equal_communities_the_lowest_number_comes_first() -> None:
    vectors = np.array([[3, 1, 0], [0, 0, 1], [0, 0, 1], [9, 3, 0], [3, 1, 0], [6, 2, 0]], dtype=np.float32)
    assert aligned(vectors, np.array([0, 0, 0, 3, 1, 2])).target.tolist() == [1, 0, 0, 3, 1, 2]


def test_a_difference_that_single_precision_cannot_tell_decides() -> None:
    near, nearer = [1, 3e-4, 0], [1, 2.9e-4, 0]
    vectors = np.array([[1, 0, 0], [0, 0, 1], near, nearer], dtype=np.float32)
    assert aligned(vectors, np.array([0, 0, 1, 2])).target.tolist() == [2, 0, 1, 2]


def test_a_node_without_a_vector_stays_and_counts_in_its_community() -> None:
    vectors = np.array([[0, 0], [1, 0], [1, 1], [0, 0]], dtype=np.float32)
    found = aligned(vectors, np.array([0, 0, 1, 2]))
    assert found.target.tolist() == [0, 1, 1, 2]
    assert found.home[1] == 0.5
    assert found.similarity[0] == found.home[0] == 0


def test_blocks_find_what_the_whole_does(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, labels = matrix(1, 300, 16), partition(1, 300, 70)
    whole = aligned(vectors, labels)
    monkeypatch.setattr(similarity, "_ROWS", 7)
    monkeypatch.setattr(similarity, "_COLUMNS", 5)
    parts = aligned(vectors, labels)
    assert parts.target.tolist() == whole.target.tolist() == pairwise(vectors, labels).argmax(axis=1).tolist()
