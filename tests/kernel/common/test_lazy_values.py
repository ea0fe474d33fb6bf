"""Values that are made when they are asked for, once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from graphrag_dagster.kernel.common.lazy_values import AsRead, once


def test_members_are_taken_as_far_as_they_are_read() -> None:
    taken: list[int] = []

    def give() -> Iterator[int]:
        for member in (3, 1, 2, 5):
            taken.append(member)
            yield member

    some = AsRead(give())
    assert taken == []
    assert some
    assert taken == [3]
    assert some[1] == 1
    assert [one for one, _ in zip(some, "ab", strict=False)] == [3, 1]
    assert taken == [3, 1, 2]
    assert (list(some), list(some), len(some), some[-1], some[1:3]) == (
        [3, 1, 2, 5],
        [3, 1, 2, 5],
        4,
        5,
        (1, 2),
    )
    assert taken == [3, 1, 2, 5]
    assert some == (3, 1, 2, 5)
    assert some != (3, 1)
    assert some != 3
    assert hash(some) == hash(AsRead([3, 1, 2, 5]))
    assert repr(some) == "[3, 1, 2, 5]"
    with pytest.raises(IndexError):
        some[4]
    assert not AsRead([])


def test_what_many_threads_ask_for_is_made_once() -> None:
    made: list[object] = []
    all_here = Barrier(8)

    def make() -> object:
        made.append(object())
        return made[-1]

    get = once(make)

    def ask(_: int) -> object:
        all_here.wait()
        return get()

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(8))) == {made[0]}
    assert len(made) == 1
