"""Reading of NumPy's files by several threads."""

import threading
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

#: NumPy parses a header as Python, which in CPython 3.11 seldom fails with a SystemError where another thread
#: parses at the same moment.
_PARSING = threading.Lock()


def load_array(file: Path, mmap_mode: Literal["r"] | None = None) -> NDArray[Any]:
    """Read an array that ``numpy.save`` wrote; the mode ``r`` maps it.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no complete array.
    """
    with _PARSING:
        array: NDArray[Any] = np.load(file, mmap_mode=mmap_mode, allow_pickle=False)
    return array


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape of an array at the beginning of a stream, whether it goes by columns, and its type."""
    with _PARSING:
        np.lib.format.read_magic(stream)
        return np.lib.format.read_array_header_1_0(stream)
