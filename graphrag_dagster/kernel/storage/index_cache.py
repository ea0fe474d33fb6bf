"""A cache of arrays and frames derived from an index, stored in files that are memory-mapped when read."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, get_type_hints

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.common.array_files import load_array, read_header
from graphrag_dagster.kernel.tables.table_declaration import Table

T = TypeVar("T")

#: Changes with the file format, and with what the code derives from the same tables.
FORMAT = 5
#: Size in bytes from which files are memory-mapped; for smaller ones importing Arrow takes longer.
_MAPPED_FROM = 8_000_000
_FRAME = ".arrow"


class Shelf(Protocol):
    """Stores what was derived from one index."""

    def folder(self, name: str, write: Callable[[Path], None]) -> Path | None:
        """Return the folder of a cached item, writing it if missing; None if nothing can be stored.

        Args:
            name: of the item; includes whatever else it depends on besides the index.
            write: writes the item into an existing folder, under a lock.
        """

    def read(self, tables: Sequence[Table]) -> dict[Table, pl.DataFrame]:
        """Return some tables of the snapshot that the index was opened from; what was never made is empty.

        Raises:
            WarehouseError: it cannot be read, or was replaced by a newer one.
        """


def load_or_build(shelf: Shelf | None, name: str, make: Callable[[], T], kind: type[T]) -> T:
    """Return an item from a shelf; make and store it if missing. Without a shelf it is only made.

    Args:
        shelf: the cache.
        name: of the item.
        make: makes it.
        kind: its type, a dataclass that :func:`write_cached` supports.
    """
    folder = None if shelf is None else shelf.folder(name, lambda target: write_cached(target, make()))
    if folder is None:
        return make()
    try:
        return open_cached(folder, kind)
    except FileNotFoundError:
        # The snapshot was deleted in the meantime.
        return make()


def write_cached(folder: Path, thing: Any) -> None:
    """Write a dataclass of arrays, numbers, frames and nested dataclasses into an existing folder."""
    for field in fields(thing):
        value = getattr(thing, field.name)
        if isinstance(value, pl.DataFrame):
            write_frame(folder, field.name, value)
        elif is_dataclass(value):
            (folder / field.name).mkdir()
            write_cached(folder / field.name, value)
        else:
            np.save(folder / f"{field.name}.npy", np.asarray(value, order="C"), allow_pickle=False)


def open_cached(folder: Path, kind: type[T]) -> T:
    """Read what :func:`write_cached` wrote; large arrays and frames are memory-mapped.

    Raises:
        FileNotFoundError: a file is missing.
        WarehouseError: a file is damaged.
    """
    parts: dict[str, Any] = {}
    types = get_type_hints(kind)
    for field in fields(kind):  # type: ignore[arg-type]
        if types[field.name] is pl.DataFrame:
            parts[field.name] = mapped_frame(folder, field.name)
        elif is_dataclass(types[field.name]):
            parts[field.name] = open_cached(folder / field.name, cast("type[Any]", types[field.name]))
        else:
            with _damage_named(folder):
                array = mapped_array(folder / f"{field.name}.npy")
            parts[field.name] = array if array.ndim else array.item()
    return kind(**parts)


def mapped_array(file: Path) -> NDArray[Any]:
    """Read an array that ``numpy.save`` wrote; a large one is memory-mapped.

    NumPy's own mapping keeps files open, and an index has about a hundred of them.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no complete array.
    """
    if file.stat().st_size < _MAPPED_FROM:
        return load_array(file)
    from pyarrow import memory_map

    with file.open("rb") as stream:
        shape, by_column, kind = read_header(stream)
        offset = stream.tell()
    with memory_map(str(file)) as source:
        values = np.frombuffer(source.read_buffer(), kind, math.prod(shape), offset)
    return values.reshape(shape, order="F" if by_column else "C")


def write_frame(folder: Path, name: str, frame: pl.DataFrame) -> None:
    """Write a frame into a folder."""
    frame.write_ipc(folder / f"{name}{_FRAME}", compression="uncompressed")


def mapped_frame(folder: Path, name: str) -> pl.DataFrame:
    """Read a frame from a folder; a large one is memory-mapped.

    Raises:
        FileNotFoundError: the file is missing.
        WarehouseError: the file is damaged.
    """
    file = folder / f"{name}{_FRAME}"
    with _damage_named(folder):
        if file.stat().st_size < _MAPPED_FROM:
            return pl.read_ipc(file)
        from pyarrow import ipc, memory_map

        with memory_map(str(file)) as source:
            return cast("pl.DataFrame", pl.from_arrow(ipc.open_file(source).read_all(), rechunk=False))


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise WarehouseError(f"{folder}: what is searched cannot be read ({error}); delete it") from error
