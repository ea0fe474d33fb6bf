"""Messages about files of a corpus that were not read, or only in part."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.documents.files.formats import extensions

#: What became of files that gave nothing, those first that somebody may want to mend.
FATES = ("failed", "refused", "unsupported", "empty", "ignored")
_NO_READER = "no reader for"
#: Files of a line that are named.
_MOST_NAMED = 5


def not_read(files: pl.DataFrame) -> pl.DataFrame:
    """Path, status and reason of the files that gave nothing; copies of others are not among them.

    Args:
        files: rows of ``corpus.files``.
    """
    found = files.filter(pl.col("status").is_in(FATES)).select("path", "status", "reason")
    return found.sort(pl.col("status").replace_strict(FATES, range(len(FATES))), "path")


def read_in_part(files: pl.DataFrame) -> pl.DataFrame:
    """Path and reason of the files that were read and hold something that is in no document, by path.

    Args:
        files: rows of ``corpus.files``.
    """
    return files.filter(status="read", incomplete=True).select("path", "reason").sort("path")


def files_told(files: pl.DataFrame, most: int = 10) -> tuple[list[str], int]:
    """Return sentences on files that were not read, then on those read in part, and how many they leave out.

    Files of one extension with the same reason, numbers aside, are one sentence, which names the first of
    them. Ignored files are not told.

    Args:
        files: rows of ``corpus.files``, of which path, status, reason and incomplete are needed.
        most: how many sentences.
    """
    unread = not_read(files).filter(pl.col("status") != "ignored")
    in_part = read_in_part(files).with_columns(status=pl.lit("read"))
    groups = [*_groups(unread), *_groups(in_part)]
    lines = [_line(one) for one in groups[:most]]
    # Of graphs the reasons say what is read.
    unsupported = [place for place, one in enumerate(groups[:most]) if one["told"].startswith(_NO_READER)]
    if unsupported:
        lines[unsupported[-1]] += f"; extensions that are read: {', '.join(extensions())}"
    return lines, sum(one["files"] for one in groups[most:])


def _groups(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """One row for files of a status, an extension and a reason: how many, the first paths, a reason."""
    reason = pl.col("reason").fill_null("")
    yield from (
        rows.with_columns(
            extension=pl.col("path").str.extract(r"[^/](\.[^./]+)$").str.to_lowercase().fill_null(""),
            alike=reason.str.replace_all(r"[0-9][0-9,.]*", "0"),
        )
        .group_by("status", "extension", "alike", maintain_order=True)
        .agg(
            pl.len().alias("files"),
            pl.col("path").head(_MOST_NAMED).alias("paths"),
            reason.first().alias("told"),
            (reason.n_unique() > 1).alias("differ"),
        )
        .with_columns(order=pl.col("status").replace_strict([*FATES, "read"], range(len(FATES) + 1)))
        .sort("order", pl.col("files"), descending=[False, True], maintain_order=True)
        .iter_rows(named=True)
    )


def _line(group: dict[str, Any]) -> str:
    paths, count = group["paths"], group["files"]
    what = "read in part" if group["status"] == "read" else "not read"
    if count == 1:
        return f"{paths[0]} was {what}: {group['told']}"
    extension = group["extension"]
    kind = counted(count, f"{extension} file" if extension else "file")
    more = f" and {count - len(paths):,} more" if count > len(paths) else ""
    told = f"e.g. {group['told']}" if group["differ"] else group["told"]
    return f"{kind} were {what}: {told} ({', '.join(paths)}{more})"
