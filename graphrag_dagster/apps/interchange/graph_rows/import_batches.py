"""What readers of graphs return: rows of the tables of imports in batches, and an account."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import LONGEST_KEY, LONGEST_TEXT, shorten
from graphrag_dagster.apps.interchange.tables import IMPORT_QUARANTINE
from graphrag_dagster.kernel.documents.file_records import clean
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT, RECORD_TABLES

#: Most rows of a batch.
ROWS = 50_000
QUARANTINE, REPAIRED, NOTES, ACCOUNT = "quarantine", "repaired", "notes", "account"
#: Record of rows of which it is not known what they should hold.
ANY = "rows"

_TABLES = {table.name: table for table in RECORD_TABLES}
#: Known only when all batches of a graph are.
_RESOLVED_LATER = frozenset({"name", "head", "tail", "said", "outcome", "text_unit_id"})
_LONGEST_RAW = 1_000
#: Columns of records that name something; that tell of it; and lists of names.
_SHORT = (
    *("key", "title", "type", "label", "relation", "head_key", "tail_key", "subject", "object"),
    *("community_key", "parent_key", "text_unit_key"),
)
_LONG = ("description", "summary", "content", "rating_explanation", "quote")
_LISTS = ("text_unit_keys", "document_keys", "entity_keys")
REPAIRED_TYPES = {"path": pl.String, "row": pl.Int64, "record": pl.String, "reason": pl.String}


@dataclass(frozen=True, slots=True)
class ImportBatch:
    """Some rows of a table.

    Args:
        table: a record (``tables.imports.RECORDS``); ``quarantine`` and ``account``, the tables of that name;
            ``repaired``: path, row, record and reason of rows that were mended and are among the records too;
            ``notes``: path and note of what was odd of a file.
        frame: its columns; of records without those that are known when the whole graph is: ``name``,
            ``head``, ``tail`` and ``outcome``.
    """

    table: str
    frame: pl.DataFrame


def types_of(record: str) -> dict[str, pl.DataType]:
    """Return the columns of a record that its reader fills, with their types."""
    return {name: kind for name, kind in _TABLES[record].types().items() if name not in _RESOLVED_LATER}


def cap_texts(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, str]]:
    """Return rows of a record whose ids, titles, types, labels and descriptions are not too long, and which
    rows had such.

    Of ids and titles 500 characters are kept, the last of them a hash of the whole where it is longer; of
    descriptions and reports 100,000.
    """
    cut: dict[int, str] = {}
    for name in _SHORT + _LONG:
        most = LONGEST_KEY if name in _SHORT else LONGEST_TEXT
        if name not in frame.columns or not (frame[name].str.len_bytes() > most).any():
            continue
        places = (frame[name].str.len_chars() > most).fill_null(False).arg_true()
        shorter = [
            shorten(text) if name in _SHORT else f"{text[: most - 1]}…" for text in frame[name].gather(places)
        ]
        frame = frame.with_columns(frame[name].scatter(places, shorter))
        reason = f"its {name.removesuffix('_key')} was cut after {most:,} characters"
        cut |= dict.fromkeys(frame["row"].gather(places), reason)
    for name in _LISTS:
        if name in frame.columns and (frame[name].explode().str.len_bytes() > LONGEST_KEY).any():
            shorter_keys = [[shorten(key) for key in some] for some in frame[name]]
            frame = frame.with_columns(pl.Series(name, shorter_keys, dtype=pl.List(pl.String)))
    return frame, cut


class ReadAccount:
    """What became of the rows of one file; each is counted once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._counts: dict[tuple[str, str], tuple[int, int, str | None]] = {}
        self._quarantine: list[dict[str, object]] = []
        self._repaired: list[dict[str, object]] = []
        self._notes: dict[str, None] = {}

    def count(self, record: str, outcome: str, rows: int, first: int, reason: str | None = None) -> None:
        """Count rows of an outcome; ``first`` is the first of them, and the reason is that row's."""
        if rows:
            counted = self._counts.get((record, outcome))
            self._counts[record, outcome] = (
                (counted[0] + rows, counted[1], counted[2]) if counted else (rows, first, reason)
            )

    def malformed(self, record: str, row: int, reason: str, raw: str) -> None:
        """Put a row into quarantine."""
        self.count(record, "malformed", 1, row, reason)
        told = {"path": self.path, "row": row, "record": record, "reason": reason}
        self._quarantine.append({**told, "raw": clean(raw[:_LONGEST_RAW])})

    def repaired(self, record: str, row: int, reason: str) -> None:
        """Count a row that was mended."""
        self.count(record, "repaired", 1, row, reason)
        self._repaired.append({"path": self.path, "row": row, "record": record, "reason": reason})

    def note(self, note: str) -> None:
        """Say something of the whole file, once."""
        self._notes.setdefault(note)

    def records(self, record: str, frame: pl.DataFrame, repaired: Mapping[int, str]) -> Iterator[ImportBatch]:
        """Count the rows of a frame, each of which is a row of the file, and yield it.

        What is too long in it is cut, which mends its row: :func:`cap_texts`.
        """
        frame, cut = cap_texts(frame)
        self.tally(record, frame["row"], {**cut, **repaired})
        if frame.height:
            yield ImportBatch(record, frame)

    def tally(self, record: str, rows: pl.Series, repaired: Mapping[int, str]) -> None:
        """Count rows as read, or as repaired for the reason that is given; other rows there do not matter."""
        if repaired:
            mended = rows.is_in(list(repaired))
            for row in rows.filter(mended):
                self.repaired(record, row, repaired[row])
            rows = rows.filter(~mended)
        if len(rows):
            self.count(record, "read", len(rows), rows[0])

    def pending(self) -> Iterator[ImportBatch]:
        """Yield what was put into quarantine or mended since the last time."""
        quarantine, repaired = self._quarantine, self._repaired
        self._quarantine, self._repaired = [], []
        if quarantine:
            yield ImportBatch(QUARANTINE, pl.DataFrame(quarantine, schema=IMPORT_QUARANTINE.types()))
        if repaired:
            yield ImportBatch(REPAIRED, pl.DataFrame(repaired, schema=REPAIRED_TYPES))

    def close(self) -> Iterator[ImportBatch]:
        """Yield what is left when the file was read to its end: the account last."""
        yield from self.pending()
        if self._notes:
            yield ImportBatch(NOTES, pl.DataFrame({"path": self.path, "note": list(self._notes)}))
        rows = [
            {
                "path": self.path,
                "record": record,
                "outcome": outcome,
                "rows": rows,
                "first_row": first,
                "reason": reason,
            }
            for (record, outcome), (rows, first, reason) in sorted(self._counts.items())
        ]
        yield ImportBatch(ACCOUNT, pl.DataFrame(rows, schema=IMPORT_ACCOUNT.types()))
