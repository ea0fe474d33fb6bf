"""Atomic replacement of files, and folders for files that can be rebuilt."""

import os
import tempfile
from pathlib import Path
from uuid import uuid4


def write_durably(place: Path, text: str) -> None:
    """Write a text file atomically and durably: after a crash, the old or the new content is complete.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
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
    """Flush the entries of a folder to disk, where the system can open a folder.

    Raises:
        OSError: flushing failed.
    """
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing.

    Raises:
        OSError: it cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
