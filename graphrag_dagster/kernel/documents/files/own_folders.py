"""Folders for files that this package can rebuild, safe for several processes at once."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


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
