"""Collects the reference cycles of a step, including frames, before the next step starts."""

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
#: Memory growth since the last full collection that triggers the next: a factor and bytes, both of which must
#: be exceeded, because a small corpus leaves less than its libraries take.
_MORE, _LEAST = 1.1, 100_000_000
_YOUNG = 1
#: Thresholds of new objects for a collection: while a command is loading, and afterwards.
_LOADED, _USED = 1_000_000, 50_000
#: Numbers of young collections before a collection of the next generations.
_OLDER, _ALL = 20, 50


def defer_collection() -> None:
    """Defer the first collection until a command is loaded, because loaded objects live until its end."""
    gc.set_threshold(_LOADED, _OLDER, _ALL)
    gc.callbacks.append(_begin)


def _begin(_phase: str, _info: Mapping[str, Any]) -> None:
    gc.callbacks.remove(_begin)
    gc.set_threshold(_USED, _OLDER, _ALL)


@contextmanager
def collect_only_new_objects() -> Iterator[None]:
    """Within the block, exclude existing objects from collection, and collect after each step.

    Dagster's definitions are a million objects, which take a second to scan.
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
    """Collect the garbage of a step: all generations if the process has grown much, else only the young one.

    Free memory is then returned to the system. The collector itself counts objects, and a frame of a hundred
    megabytes is one.
    """
    global _seen
    # Not by ``gc.get_freeze_count``, which traverses all frozen objects.
    if not _blocks:
        return
    peak = _peak()
    if peak > max(_MORE * _seen, _seen + _LEAST):
        _seen = peak
        gc.collect()
    else:
        gc.collect(_YOUNG)
    release_memory()


def _peak() -> int:
    """Return the peak memory of this process in bytes; a constant if it is unknown."""
    if sys.platform == "win32":
        return 1
    from resource import RUSAGE_SELF, getrusage

    peak = getrusage(RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


#: Setting of the allocator of polars: return pages that are free for half a second.
_POLARS, _HALF_A_SECOND = "_RJEM_MALLOC_CONF", "dirty_decay_ms:500,muzzy_decay_ms:0"
#: Setting of the allocator of glibc, and the number of ``M_ARENA_MAX`` in its ``malloc.h``.
_GLIBC, _ARENA_MAX = "MALLOC_ARENA_MAX", -8


def share_malloc_arena() -> None:
    """Make all threads allocate from one arena, so that one reuses what another freed.

    Call before polars is imported and threads start. Environment variables that are already set take
    precedence.
    """
    os.environ.setdefault(_POLARS, _HALF_A_SECOND)
    if (libc := _glibc()) and _GLIBC not in os.environ:
        libc.mallopt(_ARENA_MAX, 1)


def release_memory() -> None:
    """Return free memory to the system in a few milliseconds; does nothing without glibc."""
    if libc := _glibc():
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") else None
