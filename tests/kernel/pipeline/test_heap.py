"""Memory that is free goes back to the system."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HAS_GLIBC = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim")
#: Two hundred megabytes in pieces, of which the last stays: what is free lies below it.
MEASURED = """
import pathlib
from graphrag_dagster.kernel.pipeline.garbage_collection import release_memory, share_malloc_arena
def held():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096 // 1_000_000
share_malloc_arena()
pieces = [bytes([1]) * 100_000 for _ in range(2000)]
del pieces[:-1]
before = held()
release_memory()
print(before - held())
"""
TOLD = """
import os
from graphrag_dagster.kernel.pipeline.garbage_collection import share_malloc_arena
share_malloc_arena()
print(os.environ["_RJEM_MALLOC_CONF"])
"""


def printed(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", code]
    found = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT), **environment}
    )
    return found.stdout.strip()


@pytest.mark.skipif(not HAS_GLIBC, reason="another C library")
def test_what_is_free_is_given_back() -> None:
    assert int(printed(MEASURED)) > 150


def test_what_the_environment_says_of_memory_stays() -> None:
    assert "muzzy_decay_ms:0" in printed(TOLD)
    assert printed(TOLD, _RJEM_MALLOC_CONF="narenas:2") == "narenas:2"
