"""What the files of a corpus folder hold, without reading them as documents."""

import hashlib
from collections.abc import Sequence

from graphrag_dagster.core.files.discovery import FoundFile, opened


def hash_files(found: Sequence[FoundFile]) -> dict[str, str | None]:
    """Return path → SHA-256 of the content of files, as they are sorted; ignored files are left out.

    None for a file that must not or cannot be read.
    """
    return {
        file.path: None if file.problem else _hash_of(file) for file in found if file.problem != "ignored"
    }


def _hash_of(file: FoundFile) -> str | None:
    try:
        with opened(file.location) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None
