"""Meaning of the columns of a table-like file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

#: Columns that hold what several people say.
CONVERSATIONS = (
    "messages",
    "chat_messages",
    "conversations",
    "conversation",
    "dialogue",
    "dialog",
    "turns",
    "mapping",
)
TEXT = (
    *("text", "body", "content", "contents", "full_text", "document", "article", "passage", "transcript"),
    *CONVERSATIONS,
)
TITLE = ("title", "headline", "heading", "subject", "name")
ID = ("id", "document_id", "doc_id", "docid", "uuid", "guid", "_id")
DATE = (
    *("date", "published", "published_at", "publication_date", "created_at", "created", "timestamp"),
    *(
        "datetime",
        "date_time",
        "date_published",
        "published_date",
        "pub_date",
        "pubdate",
        "posted_at",
        "posted",
    ),
    *(
        "sent_at",
        "created_utc",
        "create_time",
        "creation_date",
        "created_date",
        "date_created",
        "created_time",
    ),
)

#: Where a word begins in a name such as ``publishedAt``.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LONGEST_SHOWN = 60
_ROWS_WEIGHED = 20


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Columns as a person set them; None means: guess, and for ``metadata``: all others."""

    text: str | None = None
    title: str | None = None
    id: str | None = None
    date: str | None = None
    metadata: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """Columns of one file, all of which exist."""

    text: str
    title: str | None
    id: str | None
    date: str | None
    metadata: tuple[str, ...]


class ColumnError(Exception):
    """A column that is needed does not exist; names file, column, the columns there are, and the fix."""


def choose_columns(
    names: ColumnNames | None,
    available: Sequence[str],
    path: str,
    rows: Iterable[Mapping[str, object]] = (),
) -> ChosenColumns:
    """Decide the columns of a file: as set where set, else by their usual names (case-insensitive).

    ``rows`` are looked at only where no column is chosen, to name the one that holds the longest texts.

    Raises:
        ColumnError: a column that was set does not exist, or no column looks like text.
    """
    names = names or ColumnNames()
    given = {
        role: _match_column(getattr(names, role), available, path) for role in ("text", "title", "id", "date")
    }
    for role, usual in (("text", TEXT), ("title", TITLE), ("id", ID), ("date", DATE)):
        free = [column for column in available if column not in given.values()]
        given[role] = given[role] or _guess_column(usual, free)
    text = given["text"]
    if text is None:
        likely = list_columns(_columns_with_most_words(available, rows)) or "…"
        raise ColumnError(
            f"no column of {path} is known to hold the text; the columns are {list_columns(available)}; name "
            f"one in corpus.yaml, e.g. tables: {{'{path}': {{text: {likely}}}}}"
        )
    if names.metadata is None:
        metadata = tuple(column for column in available if column not in given.values())
    else:
        metadata = tuple(_match_column(name, available, path) or name for name in names.metadata)
    return ChosenColumns(text, given["title"], given["id"], given["date"], metadata)


def _columns_with_most_words(available: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Sequence[str]:
    lengths = dict.fromkeys(available, 0)
    for values in islice(rows, _ROWS_WEIGHED):
        for name in available:
            value = values.get(name)
            lengths[name] += len(value) if isinstance(value, str) else 0
    return sorted(available, key=lambda name: -lengths[name])[:1]


def _match_column(name: str | None, available: Sequence[str], path: str) -> str | None:
    if name is None or name in available:
        return name
    alike = [column for column in available if column.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise ColumnError(
        f"{path} has no column {name!r}, which tables in corpus.yaml names; its columns are "
        f"{list_columns(available)}"
    )


def folded_name(column: str) -> str:
    """Return the name of a column as the usual names are written.

    >>> folded_name("Published At"), folded_name("publishedAt"), folded_name("published-at")
    ('published_at', 'published_at', 'published_at')
    """
    return _HUMP.sub("_", column.strip()).casefold().replace(" ", "_").replace("-", "_")


def _guess_column(usual: Sequence[str], available: Sequence[str]) -> str | None:
    folded = {folded_name(column): column for column in reversed(available)}
    return next((folded[name] for name in usual if name in folded), None)


def list_columns(columns: Sequence[str]) -> str:
    """Return names for a message: the first few, each cut where it is long."""
    names = (name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…" for name in columns[:30])
    return ", ".join(names) + (f" and {len(columns) - 30} more" if len(columns) > 30 else "")
