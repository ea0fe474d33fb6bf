"""What a run of paths has made so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import polars as pl

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.systems.lego.studies.bench import TABLES, Frames
from graphrag_dagster.systems.lego.studies.recall.windows import Row

#: Seconds after which what was made is put down, at least; it may take a tenth of the time.
_SAVED_AFTER = 60.0
_SHARE = 10


@dataclass(frozen=True, slots=True)
class Here:
    """Where a run reads and writes.

    Attributes:
        corpus: its name.
        warehouse: where its tables are.
        folder: of the arrays of its graph.
        snapshot: the index that these are of.
        windows: rows of ``paths.recall_windows``; none where subgraphs are of one size.
        hops: steps of questions, as far as they are told.
    """

    corpus: str
    warehouse: Warehouse
    folder: Path
    snapshot: str
    windows: Sequence[Row] = ()
    hops: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Made:
    """What was made so far, beside what is kept; put down from time to time.

    Attributes:
        here: where it is put.
        kept: rows of outcomes that still hold.
    """

    here: Here
    kept: Mapping[Table, pl.DataFrame]
    parts: dict[Table, list[pl.DataFrame]] = field(default_factory=lambda: {table: [] for table in TABLES})
    saved_at: float = field(default_factory=monotonic)
    saving_took: float = 0.0
    unsaved: bool = False

    def add(self, frames: Frames) -> None:
        """Take in what came of some questions."""
        for table, frame in frames.items():
            self.parts[table].append(frame)
        self.unsaved = True
        if monotonic() - self.saved_at >= max(_SAVED_AFTER, _SHARE * self.saving_took):
            self.save()

    def frames(self) -> Frames:
        """Return all rows of each table."""
        for table, parts in self.parts.items():
            self.parts[table] = [pl.concat(parts)] if parts else []
        return {table: pl.concat([self.kept[table], *self.parts[table]]).sort(table.key) for table in TABLES}

    def save(self) -> None:
        """Put down what is not put down yet."""
        if not self.unsaved:
            return
        begin = monotonic()
        self.here.warehouse.write_all(self.here.corpus, self.frames())
        self.saved_at = monotonic()
        self.saving_took, self.unsaved = self.saved_at - begin, False
