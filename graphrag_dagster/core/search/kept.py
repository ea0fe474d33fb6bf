"""What is made of an index once, and kept for whoever asks it later, in files that are read where needed."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError

T = TypeVar("T", bound="Writable")

#: Changes with the files, and with what the code makes of the same tables.
FORMAT = 1


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
            write: writes it into a folder that is there.
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


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write arrays into a folder, each into a file of its name."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)


def mapped_arrays(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return the arrays that :func:`write_arrays` wrote, by name; mapped, not read.

    Raises:
        FileNotFoundError: one is missing.
        WarehouseError: one is damaged.
    """
    try:
        return {
            name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
            for name in names
        }
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise WarehouseError(f"{folder}: what is searched cannot be read ({error}); delete it") from error
