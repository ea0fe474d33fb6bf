"""Files that are replaced atomically and flushed to disk."""

import os
from pathlib import Path
from uuid import uuid4


def write_durably(place: Path, text: str) -> None:
    """Put a text file in its place in one step; killed at any moment, the old one or the new one is there.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    making = place.with_name(f".{uuid4().hex}.tmp")
    try:
        with making.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        making.replace(place)
    finally:
        making.unlink(missing_ok=True)
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder written to the disk, where the system lets a folder be opened.

    Raises:
        OSError: the disk does not take them.
    """
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
