"""Several ways to one thing at the same time."""

import asyncio
from collections.abc import Awaitable
from typing import Generic, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


class AllLost(Exception, Generic[E]):
    """No way came to its end; ``errors`` has why, in the order of the ways."""

    def __init__(self, errors: list[E]) -> None:
        super().__init__(*errors)
        self.errors = errors


async def first_done(*ways: Awaitable[T], lost: type[E]) -> T:
    """Return what the first way gives that comes to its end; the others are given up.

    Args:
        ways: all begun at once; of several that are done together the first counts.
        lost: what a way raises that does not come to its end; any other error ends all.

    Raises:
        AllLost: none did.
    """
    tasks = [asyncio.ensure_future(way) for way in ways]
    errors: dict[asyncio.Future[T], E] = {}
    try:
        while len(errors) < len(tasks):
            waited = [task for task in tasks if task not in errors]
            done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            for task in waited:
                if task in done:
                    try:
                        return task.result()
                    except lost as error:
                        errors[task] = error
        raise AllLost([errors[task] for task in tasks])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
