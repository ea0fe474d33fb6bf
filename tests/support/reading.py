"""A corpus folder read as a corpus is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from graphrag_dagster.kernel.common.file_discovery import discover
from graphrag_dagster.kernel.common.file_limits import DEFAULT_LIMITS, FileLimits
from graphrag_dagster.kernel.documents.column_roles import ColumnNames
from graphrag_dagster.kernel.documents.documents import CorpusContents, read_files


def read_corpus(
    folder: Path,
    *,
    columns: Mapping[str, ColumnNames] = MappingProxyType({}),
    limits: FileLimits = DEFAULT_LIMITS,
    ignore: Sequence[str] = (),
) -> CorpusContents:
    """Read every file below a folder."""
    found = discover(folder, max_bytes=limits.max_bytes, ignore=ignore)
    return read_files(found, columns=columns, limits=limits)
