import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

from graphrag_dagster.apps.evaluation.measures.answer_claims import (
    THRESHOLDS,
    cluster_claims,
    distances,
    repeated_claims,
    tokens,
)

# From Local to Global, §4.2, by hand: distances .25, .5, .5, 1.
EXAMPLE = ["a b c d", "a b c e", "a b f g", "h i j k"]
FINE = tuple(n / 20 for n in range(1, 21))

claim_texts = st.lists(
    st.lists(st.sampled_from(["a", "B", "c", "d", "e", "-"]), max_size=7).map(" ".join), max_size=12
)


def count(labels: Sequence[int]) -> int:
    assert set(labels) == set(range(len(set(labels))))
    return len(set(labels))


def counts(claims: Sequence[str], thresholds: Sequence[float], inclusive: bool) -> list[int]:
    clusters = cluster_claims(claims, thresholds)
    return [count(clusters[threshold, inclusive]) for threshold in thresholds]


@pytest.mark.parametrize(
    ("threshold", "strict", "inclusive"),
    [(0.25, 4, 3), (0.5, 3, 2), (0.6, 2, 2), (1.0, 2, 1)],
)
def test_example_of_the_spec(threshold: float, strict: int, inclusive: int) -> None:
    assert counts(EXAMPLE, [threshold], False) == [strict]
    assert counts(EXAMPLE, [threshold], True) == [inclusive]


def test_labels_are_numbered_by_first_claim() -> None:
    claims = ["h i j k", "a b f g", "a b c d", "h i j k", "a b c e"]
    found = cluster_claims(claims)
    assert found[0.5, False] == (0, 1, 2, 0, 2)
    assert found[0.5, True] == (0, 1, 1, 0, 1)


def test_complete_not_single_linkage() -> None:
    # Neighbours are 1/4 apart, the ends of the chain 3/4.
    chain = ["a b c d", "b c d e", "c d e f", "d e f g"]
    assert counts(chain, [0.6], False) == [2]


@pytest.mark.parametrize(
    ("words", "same", "threshold"),
    [(5, 2, 0.6), (10, 4, 0.6), (5, 1, 0.8), (10, 3, 0.7), (30, 12, 0.6), (45, 18, 0.6), (10, 5, 0.5)],
)
def test_the_boundary_is_exact(words: int, same: int, threshold: float) -> None:
    one = [f"w{n}" for n in range(words)]
    other = one[:same] + [f"v{n}" for n in range(words - same)]
    claims = [" ".join(one), " ".join(other)]
    assert counts(claims, [threshold], False) == [2]
    assert counts(claims, [threshold], True) == [1]


@pytest.mark.parametrize("claims", [[], ["one claim"], ["?"]])
def test_fewer_than_two_claims(claims: list[str]) -> None:
    for labels in cluster_claims(claims).values():
        assert count(labels) == len(labels) == len(claims)


def test_claims_without_words_are_one_cluster() -> None:
    found = cluster_claims(["a b", "Ελλάδα", "日本", "c d"])
    assert found[0.8, False] == (0, 1, 1, 2)


def test_defaults_are_those_of_the_paper() -> None:
    assert list(cluster_claims(EXAMPLE)) == [
        (one, inclusive) for one in THRESHOLDS for inclusive in (False, True)
    ]


@given(claim_texts)
def test_counts_fall_with_the_threshold_and_strict_is_never_less(claims: list[str]) -> None:
    strict, inclusive = (counts(claims, FINE, rule) for rule in (False, True))
    for each in (strict, inclusive):
        assert all(one <= len(claims) for one in each)
        assert each == sorted(each, reverse=True)
    assert all(more >= fewer for more, fewer in zip(strict, inclusive, strict=True))


@given(claim_texts, st.randoms(use_true_random=False))
def test_partition_does_not_depend_on_the_order_of_claims(claims: list[str], rng: random.Random) -> None:
    order = list(range(len(claims)))
    rng.shuffle(order)
    before = cluster_claims(claims, FINE)
    after = cluster_claims([claims[i] for i in order], FINE)
    for at, one in before.items():
        moved = [one[i] for i in order]
        assert len(set(zip(moved, after[at], strict=True))) == count(one) == count(after[at])


@given(claim_texts, st.lists(st.integers(0, 11), max_size=4))
def test_repeated_claims_change_nothing(claims: list[str], repeats: list[int]) -> None:
    longer = claims + [f" {claims[i].upper()} ." for i in repeats if i < len(claims)]
    again = repeated_claims(longer)
    assert again.keys() >= set(range(len(claims), len(longer)))
    kept = [claim for position, claim in enumerate(longer) if position not in again]
    for rule in (False, True):
        assert counts(longer, FINE, rule) == counts(kept, FINE, rule)


@given(claim_texts)
def test_no_cluster_is_wider_than_the_threshold(claims: list[str]) -> None:
    found = cluster_claims(claims, FINE)
    apart = distances([tokens(claim) for claim in claims]).tolist()
    pairs = [(i, j) for i in range(len(claims)) for j in range(i + 1, len(claims))]
    for (threshold, inclusive), labels in found.items():
        widest = max((d for (i, j), d in zip(pairs, apart, strict=True) if labels[i] == labels[j]), default=0)
        assert widest <= threshold if inclusive else widest < threshold


@given(claim_texts)
def test_partitions_are_those_of_scipy(claims: list[str]) -> None:
    words = [tuple(tokens(claim)) for claim in claims]
    kinds = sorted(set(words))
    tree = linkage(distances(kinds), method="complete") if len(kinds) > 1 else None
    for (threshold, inclusive), ours in cluster_claims(claims, FINE).items():
        height = threshold if inclusive else np.nextafter(threshold, 0)
        of_kind = [1] if tree is None else fcluster(tree, height, "distance")
        theirs = [of_kind[kinds.index(one)] for one in words]
        assert len(set(zip(ours, theirs, strict=True))) == len(set(theirs)) == count(ours)
