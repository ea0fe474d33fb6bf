"""Files that are replaced atomically, and folders for files that can be rebuilt."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
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


def own_folders(name: str) -> Iterator[Path]:
    """Yield the folders in which things of a kind may lie, the better ones first; none need be there."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with suppress(RuntimeError):
        yield (Path(cache) if cache else Path.home() / ".cache") / "graphrag_dagster" / name
    user = getattr(os, "getuid", lambda: "user")()
    yield Path(tempfile.gettempdir()) / f"graphrag_dagster-{user}" / name


def write_whole(file: Path, content: bytes) -> None:
    """Write so that other processes see the whole file or none.

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
