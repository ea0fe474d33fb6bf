"""Format and reader of a file."""

from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath

from graphrag_dagster.kernel.catalogue.registry import formats, loaded, named
from graphrag_dagster.kernel.documents.files.records import Reader


@cache
def extensions() -> Mapping[str, str]:
    """Return the extensions that are read, sorted, with the name of the format of each.

    One that two formats have is that of the format that was declared first.
    """
    found: dict[str, str] = {}
    for one in formats().values():
        for extension in one.extensions:
            found.setdefault(extension, one.name)
    return dict(sorted(found.items()))


def format_of(path: str) -> str | None:
    """Return the format that the extension of a path means, or None for one that is not read."""
    return extensions().get(PurePosixPath(path).suffix.lower())


def reader_of(name: str) -> Reader:
    """Return who reads the files of a format.

    Raises:
        CatalogueError: there is no such format.
    """
    reader: Reader = loaded(named(formats(), name, "file format").read)
    return reader
