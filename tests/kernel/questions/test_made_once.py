"""What is made once per snapshot: by the function and its arguments, whatever they are called."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from support.index_frames import index_of


def test_each_function_and_argument_has_a_result_of_its_own() -> None:
    index, made = index_of({}), []

    def first(_: object, level: int | None = None) -> list[int | None]:
        made.append(level)
        return [level]

    def second(_: object, level: int | None = None) -> str:
        return f"level {level}"

    assert index.once(first, 1) is index.once(first, 1)
    assert (index.once(first), index.once(first, 1), index.once(first, level=2)) == ([None], [1], [2])
    assert (index.once(second, 1), index.once(second)) == ("level 1", "level None")
    assert made == [1, None, 2]
    assert index_of({}).once(first, 1) == [1]
    assert made == [1, None, 2, 1]


def test_threads_that_ask_at_the_same_time_get_the_same() -> None:
    index, together = index_of({}), Barrier(8)

    def slow(_: object) -> list[int]:
        together.wait(10)
        return []

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: index.once(slow), range(8)))
    assert all(one is found[0] for one in found)
