"""Arrays and frames derived from an index once, and stored in files that are mapped when read."""

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, get_type_hints

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError

T = TypeVar("T")

#: Changes with the files, and with what the code makes of the same tables.
FORMAT = 3
#: Bytes of a file from which on it is mapped by Arrow, whose import takes longer than to read fewer.
_MAPPED_FROM = 8_000_000
_FRAME = ".arrow"


class Shelf(Protocol):
    """Where things made of one index are kept; they are as good as the index is old."""

    def folder(self, name: str, write: Callable[[Path], None]) -> Path | None:
        """Return the folder of a thing, written into it where it is not there; None: none can be kept.

        Args:
            name: of the thing, with what decides it beside the index.
            write: writes it into a folder that is there; nothing else can be put there meanwhile.
        """


def kept(
    shelf: Shelf | None,
    name: str,
    make: Callable[[], T],
    kind: type[T],
    write: Callable[[Path, T], None] | None = None,
    read: Callable[[Path], T] | None = None,
) -> T:
    """Return a thing as it lies on a shelf, made where it does not; without a shelf it is made in memory.

    Args:
        shelf: where it may lie.
        name: of the thing.
        make: makes it.
        kind: its type, a dataclass as :func:`written` takes it.
        write: writes it into a folder that is there; default: :func:`written`.
        read: returns what was written into a folder; default: :func:`opened`.
    """
    folder = None if shelf is None else shelf.folder(name, lambda place: (write or written)(place, make()))
    if folder is None:
        return make()
    try:
        return read(folder) if read else opened(folder, kind)
    except FileNotFoundError:
        # Its snapshot was deleted just now.
        return make()


def written(folder: Path, thing: Any) -> None:
    """Write a dataclass of arrays, numbers, frames, and dataclasses of these, into a folder that is there."""
    for one in fields(thing):
        value = getattr(thing, one.name)
        if isinstance(value, pl.DataFrame):
            write_frame(folder, one.name, value)
        elif is_dataclass(value):
            (folder / one.name).mkdir()
            written(folder / one.name, value)
        else:
            np.save(folder / f"{one.name}.npy", np.asarray(value, order="C"), allow_pickle=False)


def opened(folder: Path, kind: type[T]) -> T:
    """Return what :func:`written` wrote; large arrays and frames are mapped, not read.

    Raises:
        FileNotFoundError: a file is missing.
        WarehouseError: one is damaged.
    """
    parts: dict[str, Any] = {}
    types = get_type_hints(kind)
    for one in fields(kind):  # type: ignore[arg-type]
        if types[one.name] is pl.DataFrame:
            parts[one.name] = mapped_frame(folder, one.name)
        elif is_dataclass(types[one.name]):
            parts[one.name] = opened(folder / one.name, cast("type[Any]", types[one.name]))
        else:
            try:
                array = mapped_array(folder / f"{one.name}.npy")
            except FileNotFoundError:
                raise
            except (OSError, ValueError) as error:
                raise _damaged(folder, error) from error
            parts[one.name] = array if array.ndim else array.item()
    return kind(**parts)


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


def write_frame(folder: Path, name: str, frame: pl.DataFrame) -> None:
    """Write a frame into a folder."""
    frame.write_ipc(folder / f"{name}{_FRAME}", compression="uncompressed")


def mapped_frame(folder: Path, name: str) -> pl.DataFrame:
    """Return a frame that was written into a folder; a large one is mapped, not read.

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
