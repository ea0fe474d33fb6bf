"""What a step leaves behind in cycles, frames among it, collected before the next step makes more."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_blocks = 0


@contextmanager
def collecting_what_is_new() -> Iterator[None]:
    """Let the collector pass over what is there when the block begins, and do its work after each step.

    That is a million objects of Dagster's definitions, which take a second to look through.
    """
    global _blocks
    gc.freeze()
    _blocks += 1
    try:
        yield
    finally:
        _blocks -= 1
        gc.unfreeze()


def collect() -> None:
    """Collect what a step has left, where that takes milliseconds.

    The collector itself comes by the number of objects, of which a frame of a hundred megabytes is one.
    """
    # Not told by the collector's own count of what it passes over, which goes through all of it.
    if _blocks:
        gc.collect()
