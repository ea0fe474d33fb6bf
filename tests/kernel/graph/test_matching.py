import random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.hierarchical_leiden import match_clusters, name_clusters

partitions = st.lists(st.integers(0, 5), min_size=1, max_size=30)


def rows(*communities: tuple[str, str], level: int = 0) -> pl.DataFrame:
    """Communities given as a name and a text whose letters are the members."""
    return pl.DataFrame(
        [(name, level, member) for name, members in communities for member in members],
        schema={"community_id": pl.String, "level": pl.Int32, "entity_id": pl.String},
        orient="row",
    )


def partition(numbers: list[int], prefix: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "community_id": [f"{prefix}{number}" for number in numbers],
            "level": 0,
            "entity_id": [f"n{place}" for place in range(len(numbers))],
        }
    )


def clusters(*members: str, level: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "cluster": range(len(members)),
            "level": [level] * len(members),
            "entity_id": [sorted(one) for one in members],
        }
    )


def test_a_community_goes_on_in_the_one_with_most_of_its_members() -> None:
    before = rows(("x", "abcdef"), ("y", "ghij"))
    assert match_clusters(rows(("1", "abcde"), ("2", "ghijf")), before) == {"1": "x", "2": "y"}
    assert match_clusters(rows(("1", "abcdefghij")), before) == {"1": "x"}


def test_half_of_all_members_is_enough_and_less_is_not() -> None:
    before = rows(("x", "abcd"))
    assert match_clusters(rows(("1", "ab")), before) == {"1": "x"}
    assert match_clusters(rows(("1", "abcdefgh")), before) == {"1": "x"}
    assert not match_clusters(rows(("1", "abcdefghi")), before)
    assert not match_clusters(rows(("1", "abef")), before)


def test_of_equal_halves_the_one_with_the_smaller_id_goes_on() -> None:
    before = rows(("x", "abcd"))
    assert match_clusters(rows(("2", "ab"), ("1", "cd")), before) == {"1": "x"}


def test_levels_are_matched_apart() -> None:
    assert not match_clusters(rows(("1", "abc"), level=1), rows(("x", "abc")))


@given(partitions, st.data())
def test_matching_is_one_to_one_and_only_of_large_overlaps(old: list[int], data: st.DataObject) -> None:
    new = data.draw(st.lists(st.integers(0, 5), min_size=len(old), max_size=len(old) + 5))
    found = match_clusters(partition(new, "new"), partition(old, "old"))
    assert len(set(found.values())) == len(found)
    for name, before in found.items():
        one = {n for n, number in enumerate(new) if f"new{number}" == name}
        other = {n for n, number in enumerate(old) if f"old{number}" == before}
        assert 2 * len(one & other) >= len(one | other)


@given(partitions)
def test_what_did_not_change_keeps_its_name(numbers: list[int]) -> None:
    found = match_clusters(partition(numbers, "new"), partition(numbers, "old"))
    assert found == {f"new{number}": f"old{number}" for number in set(numbers)}


@given(partitions, partitions, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(old: list[int], new: list[int], order: random.Random) -> None:
    frames = [partition(new, "new"), partition(old, "old")]
    shuffled = [frame[order.sample(range(len(frame)), len(frame))] for frame in frames]
    assert match_clusters(*shuffled) == match_clusters(*frames)


def test_a_first_clustering_is_named_by_its_members() -> None:
    assert name_clusters(clusters("ab", "cd"), None) == {
        0: stable_id("community", 0, "a", "b"),
        1: stable_id("community", 0, "c", "d"),
    }


def test_a_new_community_never_takes_an_id_that_another_bore() -> None:
    hashed = stable_id("community", 0, "a", "b", "c")
    before = rows((hashed, "defgh"))
    found = name_clusters(clusters("abc", "defgh"), before)
    assert found[1] == hashed
    assert found[0] not in {hashed, ""}
    assert found == name_clusters(clusters("abc", "defgh"), before)
