"""Reads folders of graphs into one frame a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GUESSED, GraphColumns
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ROWS, ImportBatch
from graphrag_dagster.apps.interchange.readers.graph_files import FileGraph, graph_files
from graphrag_dagster.apps.interchange.readers.graph_reader import read_file
from graphrag_dagster.kernel.common.file_discovery import discover
from graphrag_dagster.kernel.documents.file_records import RefusedError, UnreadableError


@dataclass
class Read:
    """What was read of a folder: the graphs, batches by table, why files failed, which are of no graph."""

    graphs: tuple[FileGraph, ...]
    left_out: Mapping[str, str]
    batches: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table as dictionaries."""
        return pl.concat(self.batches[table]).to_dicts() if table in self.batches else []

    def column(self, table: str, name: str) -> list[Any]:
        """A column of a table."""
        return [row[name] for row in self.rows(table)]

    def account(self) -> dict[tuple[str, str], int]:
        """How many rows of a record came to what."""
        counts: dict[tuple[str, str], int] = {}
        for row in self.rows("account"):
            key = (row["record"], row["outcome"])
            counts[key] = counts.get(key, 0) + row["rows"]
        return counts


def read_folder(folder: Path, columns: Mapping[str, GraphColumns] | None = None) -> Read:
    """Read all graphs of a folder."""
    given = columns or {}
    files = graph_files(discover(folder, max_bytes=10**9), given)
    read = Read(files.graphs, files.left_out)
    for graph in files.graphs:
        for file in graph.files:
            batches: list[ImportBatch] = []
            try:
                batches.extend(read_file(graph, file, given.get(file.path, GUESSED)))
            except (OSError, RefusedError, UnreadableError) as error:
                read.failed[file.path] = str(error)
                continue
            for batch in batches:
                assert batch.frame.height <= ROWS
                read.batches.setdefault(batch.table, []).append(batch.frame)
    return read
