"""Atomic replacement of files, deletion of what was written, and folders for files that can be rebuilt."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4


@contextmanager
def replacing(place: Path) -> Iterator[IO[str]]:
    """Write a text file that takes its place only when it is whole; a pipe or a device is written as it is.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
    """
    if place.exists() and not place.is_file() and not place.is_dir():
        with place.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    making = place.with_name(f".{uuid4().hex}.tmp")
    try:
        try:
            with making.open("x", encoding="utf-8", newline="") as file:
                yield file
            making.replace(place)
        finally:
            making.unlink(missing_ok=True)
    except OSError as error:
        if error.filename != str(making):
            raise
        # Whoever reads the message knows the file by its own name.
        raise OSError(error.errno, error.strerror, str(place)) from None


def write_durably(place: Path, text: str) -> None:
    """Write a text file atomically and durably: after a crash, the old or the new content is complete.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
    """
    with replacing(place) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
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


def delete_written(folder: Path, written: re.Pattern[str]) -> None:
    """Delete what this program has written into a folder, and the folder if nothing else is in it.

    Args:
        folder: it need not exist.
        written: matches the whole name of each entry that this program writes there; all others stay.

    Raises:
        OSError: one of them cannot be deleted.
    """
    ours = [entry for entry in folder.glob("*") if written.fullmatch(entry.name)]
    for entry in ours:
        delete(entry)
    if ours:
        with suppress(OSError):
            folder.rmdir()


def delete(entry: Path) -> None:
    """Delete a file, a link, or a folder with all that is in it; what is gone already is no error.

    Raises:
        OSError: it cannot be deleted.
    """
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)
