"""What is made of an index once, and kept for whoever asks it later, in files that are read where needed."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError

T = TypeVar("T", bound="Writable")

#: Changes with the files, and with what the code makes of the same tables.
FORMAT = 2
#: Bytes of a file from which on it is mapped by Arrow, whose import takes longer than to read fewer.
_MAPPED_FROM = 8_000_000
_FRAME = ".arrow"


class Writable(Protocol):
    """What can be written into a folder that is there."""

    def write(self, folder: Path) -> None:
        """Write it."""


class Shelf(Protocol):
    """Where things made of one index are kept; they are as good as the index is old."""

    def folder(self, name: str, write: Callable[[Path], None]) -> Path | None:
        """Return the folder of a thing, written into it where it is not there; None: none can be kept.

        Args:
            name: of the thing, with what decides it beside the index.
            write: writes it into a folder that is there; nothing else can be put there meanwhile.
        """


def kept(shelf: Shelf | None, name: str, make: Callable[[], T], opened: Callable[[Path], T]) -> T:
    """Return a thing as it lies on a shelf, made where it does not; without a shelf it is made in memory."""
    folder = None if shelf is None else shelf.folder(name, lambda place: make().write(place))
    if folder is None:
        return make()
    try:
        return opened(folder)
    except FileNotFoundError:
        # Its snapshot was deleted just now.
        return make()


def write_parts(folder: Path, parts: Mapping[str, Writable]) -> None:
    """Write parts of a thing, each into a folder of its name."""
    for name, part in parts.items():
        (folder / name).mkdir()
        part.write(folder / name)


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write arrays into a folder, each into a file of its name."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)


def mapped_arrays(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return the arrays that :func:`write_arrays` wrote, by name; large ones are mapped, not read.

    Raises:
        FileNotFoundError: one is missing.
        WarehouseError: one is damaged.
    """
    try:
        return {name: mapped_array(folder / f"{name}.npy") for name in names}
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error


def mapped_array(file: Path) -> NDArray[Any]:
    """Return an array that ``numpy.save`` wrote; a large one is mapped.

    NumPy's own mapping keeps the file open, and an index has about a hundred of them.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no array, or not the whole of it.
    """
    if file.stat().st_size < _MAPPED_FROM:
        whole: NDArray[Any] = np.load(file, allow_pickle=False)
        return whole
    from pyarrow import memory_map

    with file.open("rb") as opened:
        np.lib.format.read_magic(opened)
        shape, by_column, kind = np.lib.format.read_array_header_1_0(opened)
        begin = opened.tell()
    with memory_map(str(file)) as source:
        values = np.frombuffer(source.read_buffer(), kind, math.prod(shape), begin)
    return values.reshape(shape, order="F" if by_column else "C")


def write_frames(folder: Path, frames: Mapping[str, pl.DataFrame]) -> None:
    """Write frames into a folder, each into a file of its name."""
    for name, frame in frames.items():
        frame.write_ipc(folder / f"{name}{_FRAME}", compression="uncompressed")


def mapped_frame(folder: Path, name: str) -> pl.DataFrame:
    """Return a frame that :func:`write_frames` wrote; a large one is mapped, not read.

    Raises:
        FileNotFoundError: it is missing.
        WarehouseError: it is damaged.
    """
    file = folder / f"{name}{_FRAME}"
    try:
        if file.stat().st_size < _MAPPED_FROM:
            return pl.read_ipc(file)
        return _mapped(file)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise _damaged(folder, error) from error


def _mapped(file: Path) -> pl.DataFrame:
    from pyarrow import ipc, memory_map

    with memory_map(str(file)) as source:
        frame = pl.from_arrow(ipc.open_file(source).read_all(), rechunk=False)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"{file} holds no frame")
    return frame


def _damaged(folder: Path, error: Exception) -> WarehouseError:
    return WarehouseError(f"{folder}: what is searched cannot be read ({error}); delete it")
