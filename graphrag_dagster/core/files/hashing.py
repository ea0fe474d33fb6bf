"""What the files of a corpus folder hold, without reading them as documents."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from graphrag_dagster.core.files.discovery import FoundFile, discover, opened


def hash_files(folder: Path, *, max_bytes: int, ignore: Sequence[str] = ()) -> dict[str, str | None]:
    """Return path → SHA-256 of the content of every file of the corpus, sorted by path.

    Ignored files are none of it. None for a file that must not or cannot be read. Which files there are:
    :func:`.files.discover`.

    Raises:
        CorpusError: the folder does not exist, is not a folder, or cannot be listed.
    """
    return {
        file.path: None if file.problem else _hash_of(file)
        for file in discover(folder, max_bytes=max_bytes, ignore=ignore)
        if file.problem != "ignored"
    }


def _hash_of(file: FoundFile) -> str | None:
    try:
        with opened(file.location) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None
