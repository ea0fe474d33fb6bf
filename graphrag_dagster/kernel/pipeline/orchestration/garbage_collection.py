"""Collects the reference cycles of a step, frames among them, before the next step starts."""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

_blocks = 0
_seen = 0
#: How much more memory than at the last whole collection makes the next one worth its time: by what factor,
#: and by how many bytes, since what a small corpus leaves is less than what its libraries take.
_MORE, _LEAST = 1.1, 100_000_000
_YOUNG = 1
#: Objects more than at the last collection that make the collector look, while a command is loaded and after.
_LOADED, _USED = 1_000_000, 50_000
#: Collections of the young that make it look at those that are older, and at all.
_OLDER, _ALL = 20, 50


def defer_collection() -> None:
    """Have the collector begin when there is more than what a command loads, which lives until its end."""
    gc.set_threshold(_LOADED, _OLDER, _ALL)
    gc.callbacks.append(_begin)


def _begin(_phase: str, _told: Mapping[str, Any]) -> None:
    gc.callbacks.remove(_begin)
    gc.set_threshold(_USED, _OLDER, _ALL)


@contextmanager
def collecting_new_objects() -> Iterator[None]:
    """Let the collector pass over what is there when the block begins, and do its work after each step.

    That is a million objects of Dagster's definitions, which take a second to look through.
    """
    global _blocks, _seen
    gc.freeze()
    _blocks += 1
    _seen = _peak()
    try:
        yield
    finally:
        _blocks -= 1
        gc.unfreeze()


def collect() -> None:
    """Collect what a step has left: all where the process has grown much, else what is young, in no time.

    What is free then goes back to the system.

    The collector itself comes by the number of objects, of which a frame of a hundred megabytes is one.
    """
    global _seen
    # Not told by the collector's own count of what it passes over, which goes through all of it.
    if not _blocks:
        return
    peak = _peak()
    if peak > max(_MORE * _seen, _seen + _LEAST):
        _seen = peak
        gc.collect()
    else:
        gc.collect(_YOUNG)
    give_back()


def _peak() -> int:
    """The most bytes that this process has taken by now; always the same where it is not told."""
    if sys.platform == "win32":
        return 1
    from resource import RUSAGE_SELF, getrusage

    told = getrusage(RUSAGE_SELF).ru_maxrss
    return told if sys.platform == "darwin" else told * 1024


#: How polars' allocator is told, and what: pages that are free for half a second are given back.
_POLARS, _HALF_A_SECOND = "_RJEM_MALLOC_CONF", "dirty_decay_ms:500,muzzy_decay_ms:0"
#: How glibc's is, and the number of ``M_ARENA_MAX`` in its ``malloc.h``.
_GLIBC, _ARENA_MAX = "MALLOC_ARENA_MAX", -8


def share() -> None:
    """Have all threads take memory from one place, so that one uses what another gave back.

    To be called before polars is imported and threads begin. What the environment sets stays.
    """
    os.environ.setdefault(_POLARS, _HALF_A_SECOND)
    if (libc := _glibc()) and _GLIBC not in os.environ:
        libc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Give back what is free, in a few milliseconds; nothing where the C library is another than glibc."""
    if libc := _glibc():
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") else None
