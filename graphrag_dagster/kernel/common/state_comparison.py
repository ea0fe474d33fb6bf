"""Differences between two states of a corpus: files, documents, and values such as settings."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Paths by kind of change, each sorted; ``renamed`` has pairs of old and new path."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0

    def __len__(self) -> int:
        """Number of changed files."""
        return len(self.added) + len(self.edited) + len(self.renamed) + len(self.removed)

    @property
    def current_count(self) -> int:
        """Current number of files."""
        return len(self.added) + len(self.edited) + len(self.renamed) + self.unchanged


@dataclass(frozen=True, slots=True)
class Change:
    """A changed value; None means missing."""

    key: str
    before: Any
    now: Any


def compare_files(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> FileChanges:
    """Compare two states of a folder, given as path → content hash, None if unknown.

    A path in both states is unchanged if its hash is the same, else edited. A missing and a new path with the
    same content are a renamed file; of several with the same content, the first are paired in the order of
    their paths.
    """
    both = before.keys() & now.keys()
    edited = sorted(path for path in both if before[path] != now[path])
    gone, new = before.keys() - both, now.keys() - both
    renamed = tuple(sorted(_find_renames(before, now, sorted(gone), sorted(new))))
    return FileChanges(
        tuple(sorted(new - {path for _, path in renamed})),
        tuple(edited),
        renamed,
        tuple(sorted(gone - {path for path, _ in renamed})),
        len(both) - len(edited),
    )


def _find_renames(
    before: Mapping[str, str | None], now: Mapping[str, str | None], gone: list[str], new: list[str]
) -> Iterator[tuple[str, str]]:
    by_content: dict[str, list[str]] = defaultdict(list)
    for path in new:
        if content := now[path]:
            by_content[content].append(path)
    for path in gone:
        if taken := by_content.get(before[path] or ""):
            yield path, taken.pop(0)


def compare_values(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """Return the keys whose values differ, sorted; a missing key has the value None."""
    keys = sorted(before.keys() | now.keys())
    return [Change(key, before.get(key), now.get(key)) for key in keys if before.get(key) != now.get(key)]


def flatten(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Flatten nested mappings to dotted keys; empty mappings vanish, lists are kept."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{path}.")
        else:
            flat[path] = value
    return flat


#: The columns of ``corpus.documents`` that locate a document.
PLACE = ("path", "source_id", "row")


def compare_documents(before: pl.DataFrame, now: pl.DataFrame) -> dict[str, int]:
    """Return the numbers of ``added``, ``edited``, ``renamed``, ``removed`` and ``unchanged`` documents.

    They are identified by id, an edited document by its location; renamed are those of a renamed file. A row
    with an id in its file is located by that id, wherever it is in the file.

    Args:
        before: rows of ``corpus.documents`` with the columns ``document_id`` and those of :data:`PLACE`.
        now: the same of another state.
    """
    both = set(before["document_id"]) & set(now["document_id"])
    gone, new = (_places(frame.filter(~pl.col("document_id").is_in(both))) for frame in (before, now))
    edited = (gone & new).total()
    paths = [dict(frame.select("document_id", "path").iter_rows()) for frame in (before, now)]
    renamed = sum(paths[0][one] != paths[1][one] for one in both)
    return {
        "added": new.total() - edited,
        "edited": edited,
        "renamed": renamed,
        "removed": gone.total() - edited,
        "unchanged": len(both) - renamed,
    }


def _places(documents: pl.DataFrame) -> Counter[tuple[object, ...]]:
    rows = documents.select(PLACE).iter_rows()
    return Counter((path, key, None if key is not None else row) for path, key, row in rows)
