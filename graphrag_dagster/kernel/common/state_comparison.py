"""Differences between two states of a corpus: files, documents, and values such as settings."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Paths by what became of them, each sorted; ``renamed`` are pairs of the old and the new path."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0

    def __len__(self) -> int:
        """How many files changed."""
        return len(self.added) + len(self.edited) + len(self.renamed) + len(self.removed)

    @property
    def now(self) -> int:
        """How many files there are now."""
        return len(self.added) + len(self.edited) + len(self.renamed) + self.unchanged


@dataclass(frozen=True, slots=True)
class Change:
    """A value that differs; None where there is none."""

    key: str
    before: Any
    now: Any


def compare_files(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> FileChanges:
    """Compare two states of a folder, each path → hash of the content, None where that is unknown.

    A path is unchanged where its hash is the same, else edited. A path that has gone and one that is new are
    a renamed file where both hold the same content; of several with one content, the first take each other,
    in the order of their paths.
    """
    both = before.keys() & now.keys()
    edited = sorted(path for path in both if before[path] != now[path])
    gone, new = before.keys() - both, now.keys() - both
    renamed = tuple(sorted(_renamed(before, now, sorted(gone), sorted(new))))
    return FileChanges(
        tuple(sorted(new - {path for _, path in renamed})),
        tuple(edited),
        renamed,
        tuple(sorted(gone - {path for path, _ in renamed})),
        len(both) - len(edited),
    )


def _renamed(
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
    """Return the keys whose values differ, sorted; a key that is missing has the value None."""
    keys = sorted(before.keys() | now.keys())
    return [Change(key, before.get(key), now.get(key)) for key in keys if before.get(key) != now.get(key)]


def flattened(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return nested mappings as one, keys joined by dots; empty mappings vanish, lists stay as they are."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{path}.")
        else:
            flat[path] = value
    return flat


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """How many documents were added, edited, removed, or stayed as they were."""

    added: int
    edited: int
    removed: int
    unchanged: int


#: Where a document stands, in the columns of ``corpus.documents``.
PLACE = ("path", "source_id", "row")


def compare_documents(before: pl.DataFrame, now: pl.DataFrame) -> DocumentChanges:
    """Count what became of documents, each known by its id, and where it is edited by where it stands.

    A row that has an id in its file stands there wherever in the file that is.

    Args:
        before: rows of ``corpus.documents`` with the columns ``document_id`` and those of :data:`PLACE`.
        now: the same of another state.
    """
    both = set(before["document_id"]) & set(now["document_id"])
    gone, new = (_places(frame.filter(~pl.col("document_id").is_in(both))) for frame in (before, now))
    edited = (gone & new).total()
    return DocumentChanges(new.total() - edited, edited, gone.total() - edited, len(both))


def _places(documents: pl.DataFrame) -> Counter[tuple[object, ...]]:
    rows = documents.select(PLACE).iter_rows()
    return Counter((path, key, None if key is not None else row) for path, key, row in rows)
