"""Many conversations at once: order, stragglers, the first error."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat.concurrent_calls import allow_sending, run_in_order

DELAYS = st.lists(st.integers(0, 8), max_size=40)


@given(DELAYS, st.integers(1, 4))
def test_results_come_in_order_whatever_takes_how_long(delays: list[int], calls: int) -> None:
    async def work(job: tuple[int, int]) -> int:
        place, delay = job
        await asyncio.sleep(delay / 4000)
        return place

    assert list(run_in_order(work, list(enumerate(delays)), calls=calls)) == list(range(len(delays)))


@given(DELAYS, st.integers(0, 39))
def test_an_error_comes_after_some_of_the_results_before_it(delays: list[int], bad: int) -> None:
    async def work(job: tuple[int, int]) -> int:
        place, delay = job
        await asyncio.sleep(delay / 4000)
        if place == bad:
            raise ValueError(f"job {bad}")
        return place

    came: list[int] = []
    fails = pytest.raises(ValueError, match=f"^job {bad}$") if bad < len(delays) else nullcontext()
    with fails:
        came.extend(run_in_order(work, list(enumerate(delays)), calls=2))
    assert len(came) == len(delays) if bad >= len(delays) else len(came) <= bad
    assert came == list(range(len(came)))


def test_a_straggler_holds_up_no_other() -> None:
    done: list[int] = []
    last = asyncio.Event()

    async def work(number: int) -> int:
        if number == 0:
            await asyncio.wait_for(last.wait(), 5)
        if number == 999:
            last.set()
        done.append(number)
        return number

    assert list(run_in_order(work, range(1000), calls=1)) == list(range(1000))
    assert done[-1] == 0


def test_items_are_taken_as_others_finish() -> None:
    taken, finished = 0, 0
    most = 0

    def items() -> Iterator[int]:
        nonlocal taken, most
        for number in range(500):
            taken += 1
            most = max(most, taken - finished)
            yield number

    async def work(number: int) -> int:
        nonlocal finished
        await asyncio.sleep(0)
        finished += 1
        return number

    assert sum(run_in_order(work, items(), calls=1)) == sum(range(500))
    assert most <= 40


def test_the_first_error_cancels_what_is_under_way_at_once() -> None:
    cancelled: list[int] = []
    all_cancelled = threading.Event()

    async def work(number: int) -> int:
        try:
            if number == 5:
                await asyncio.sleep(0.02)
                raise ValueError("five")
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(number)
            if len(cancelled) == 19:
                all_cancelled.set()
            raise
        return number

    with pytest.raises(ValueError, match="five"):
        list(run_in_order(work, range(20), calls=8))
    assert all_cancelled.wait(20)
    assert sorted(cancelled) == [*range(5), *range(6, 20)]


def test_an_error_is_not_waited_for_by_a_full_house() -> None:
    begun: list[int] = []
    ended: list[int] = []

    async def work(number: int) -> int:
        begun.append(number)
        if number == 31:
            raise ValueError("last of the first")
        await asyncio.sleep(30)
        ended.append(number)
        return number

    with pytest.raises(ValueError, match="last of the first"):
        list(run_in_order(work, range(1000), calls=1))
    assert len(begun) < 40
    assert ended == []


def test_a_reply_on_its_way_is_taken_in_and_nothing_more_is_sent() -> None:
    told: list[str] = []
    failed = asyncio.Event()

    async def work(number: int) -> None:
        if number == 1:
            failed.set()
            raise ValueError("one")
        with allow_sending():
            await failed.wait()
            # The error is noticed in these turns of the loop.
            await asyncio.sleep(0.05)
        told.append("taken in")
        with allow_sending():
            told.append("sent more")

    with pytest.raises(ValueError, match="one"):
        list(run_in_order(work, range(2), calls=2))
    assert told == ["taken in"]


def test_who_stops_listening_cancels_the_rest() -> None:
    cancelled = threading.Event()

    async def work(number: int) -> int:
        try:
            await asyncio.sleep(30 if number else 0.05)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return number

    results = run_in_order(work, range(5), calls=2)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert cancelled.wait(2)
