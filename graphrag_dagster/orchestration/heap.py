"""Memory that is free goes back to the system, instead of staying with the allocators that had it."""

import ctypes
import os
import sys
from functools import cache

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
