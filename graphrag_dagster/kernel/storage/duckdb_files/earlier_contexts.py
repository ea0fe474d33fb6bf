"""Reconstructs the rows of report contexts of earlier versions from the texts: they kept no table of them.

A working file gets its rows once, when it is brought up to date; a published snapshot never changes, and has
them read off whenever lineage asks. What is known here of the texts and tables is what those versions wrote.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.kernel.text.similarity import normalise

_HEADERS: Mapping[str, str] = {
    "-----Reports-----\nid,report\n": "report",
    "-----Entities-----\nid,name,description\n": "entity",
    "-----Claims-----\nid,subject,object,type,status,start_date,end_date,description\n": "claim",
    "-----Relationships-----\nid,source,target,description,combined_degree\n": "relationship",
}
_HEADER = re.compile("|".join(f"^{re.escape(header)}" for header in _HEADERS), re.MULTILINE)
_CELL = re.compile(r'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"|(?P<plain>[^,\n]*))(?P<end>,|\n|\Z)')
#: Cells of a row below each header.
_WIDTHS = {header: header.count(",") + 1 for header in _HEADERS}
_NUMBER = re.compile(r"[0-9]{1,9}")
_HEADING = re.compile(r"#\s+(?P<title>.*)")
_AT_ONCE = 500
_ROWS = {
    "report_id": pl.String(),
    "position": pl.Int32(),
    "kind": pl.String(),
    "number": pl.Int32(),
    "record_id": pl.String(),
}

# The same names stand in many contexts, and in many rows of one.
_name = lru_cache(1 << 16)(normalise)


@dataclass(frozen=True, slots=True)
class PackedRow:
    """A row of a context: what it shows, its number there, and its cells behind the number."""

    kind: str
    number: int
    cells: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Key of the record: name; both names in order; title; or all values of a claim.

        A title or name that was cut ends with an ellipsis, and then stands for no record.
        """
        if self.kind == "entity":
            return (_name(self.cells[0]),)
        if self.kind == "relationship":
            return tuple(sorted(map(_name, self.cells[:2])))
        if self.kind == "claim":
            return _claim_key(*self.cells)
        heading = _HEADING.match(self.cells[0])
        return (_folded(heading["title"] if heading else self.cells[0]),)


def columns_of(connection: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    """Return the names of the columns of ``schema.table`` in the current database; none if it is not there.

    Unlike ``describe``, it fails nowhere, so that it leaves a transaction as it is.
    """
    found = connection.execute(
        "select column_name from duckdb_columns() where database_name = current_database() "
        "and schema_name = ? and table_name = ?",
        table.split("."),
    )
    return {name for (name,) in found.fetchall()}


def rows_shown(
    connection: duckdb.DuckDBPyConnection, corpus: str, reports: Iterable[str] | None = None
) -> pl.DataFrame:
    """Return rows as ``reports.report_context_rows`` has them, without those whose name was cut.

    Args:
        connection: to a file that has ``reports.report_contexts``.
        corpus: the corpus.
        reports: ids of the reports whose contexts are read; all where there are none.
    """
    ids = _all_reports(connection, corpus) if reports is None else reports
    return pl.concat([pl.DataFrame(schema=_ROWS), *parts_shown(connection, corpus, ids)])


def parts_shown(
    connection: duckdb.DuckDBPyConnection, corpus: str, reports: Iterable[str]
) -> Iterator[pl.DataFrame]:
    """Yield the rows of :func:`rows_shown`, those of some hundred reports at once."""
    ids = iter(reports)
    while some := list(islice(ids, _AT_ONCE)):
        yield pl.DataFrame(list(_of_reports(connection, corpus, some)), schema=_ROWS, orient="row")


def parse_context(text: str) -> tuple[PackedRow, ...]:
    """Return the rows of a packed context in its order; what has another form than they is none."""
    headers = list(_HEADER.finditer(text))
    ends = [*(header.start() for header in headers), len(text)][1:]
    return tuple(
        PackedRow(_HEADERS[header[0]], int(cells[0]), tuple(cells[1:]))
        for header, end in zip(headers, ends, strict=True)
        for cells in _lines(text, header.end(), end)
        if len(cells) == _WIDTHS[header[0]] and _NUMBER.fullmatch(cells[0])
    )


def _lines(text: str, start: int, end: int) -> Iterator[list[str]]:
    cells: list[str] = []
    while start < end:
        found = _CELL.match(text, start, end)
        if found is None:
            return
        quoted = found["quoted"]
        cells.append(found["plain"] if quoted is None else quoted.replace('""', '"'))
        start = found.end()
        if found["end"] != ",":
            yield cells
            cells = []


def _folded(text: str) -> str:
    return " ".join(text.split())


def _claim_key(*cells: str | None) -> tuple[str, ...]:
    subject, other, *further = (cell or "" for cell in cells)
    return (_name(subject), _name(other), *map(_folded, further))


def _all_reports(connection: duckdb.DuckDBPyConnection, corpus: str) -> list[str]:
    found = connection.execute(
        "select report_id from reports.report_contexts where corpus = ? order by report_id", [corpus]
    )
    return [report_id for (report_id,) in found.fetchall()]


def _of_reports(
    connection: duckdb.DuckDBPyConnection, corpus: str, reports: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    tables = _Tables(connection, corpus)
    texts = tables.rows("reports.report_contexts", "report_id, context", "report_id", reports)
    packed = {report_id: parse_context(text) for report_id, text in sorted(texts)}
    records = _records(tables, packed)
    for report_id, rows in packed.items():
        taken = _Taken(records)
        for position, row in enumerate(rows):
            if record_id := taken.record(report_id, row):
                yield report_id, position, row.kind, row.number, record_id


@dataclass(frozen=True, slots=True)
class _Tables:
    """Rows of tables of any version."""

    connection: duckdb.DuckDBPyConnection
    corpus: str

    def rows(self, table: str, columns: str, column: str, values: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return columns of the rows that have one of the values; none of what there is not."""
        if not {*columns.split(", "), column} <= columns_of(self.connection, table):
            return []
        wanted = pl.Series("value", sorted(values), dtype=pl.String).to_frame()
        self.connection.register("wanted_keys", wanted.to_arrow())
        try:
            return self.connection.execute(
                f"select {columns} from {table} where corpus = ? "
                f"and {column} in (select value from wanted_keys)",
                [self.corpus],
            ).fetchall()
        finally:
            self.connection.unregister("wanted_keys")


#: Ids by kind and key, of reports by the id of the community above and key; in the order of the ids.
_Records = Mapping[str, Mapping[tuple[str, ...], Sequence[str]]]


def _records(tables: _Tables, packed: Mapping[str, tuple[PackedRow, ...]]) -> _Records:
    found: dict[str, dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    keys: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for rows in packed.values():
        for row in rows:
            keys[row.kind].add(row.key)
    for identity, name in tables.rows(
        "graph.entities", "entity_id, name", "name", {name for (name,) in keys["entity"]}
    ):
        found["entity"][name,].append(identity)
    for identity, *ends in tables.rows(
        "graph.relationships",
        "relationship_id, source, target",
        "source",
        {source for source, _ in keys["relationship"]},
    ):
        found["relationship"][tuple(ends)].append(identity)
    said = "claim_id, subject, object, type, status, start_date, end_date, description"
    subjects = {key[0] for key in keys["claim"]}
    merged = tables.rows("graph.claims", said, "subject", subjects)
    # Before claims were merged, a context showed each instance.
    for identity, *cells in sorted(merged or tables.rows("extraction.claims", said, "subject", subjects)):
        found["claim"][_claim_key(*cells)].append(identity)
    above = [report_id for report_id, rows in packed.items() if any(row.kind == "report" for row in rows)]
    parents = dict(tables.rows("graph.communities", "community_id, parent_id", "parent_id", above))
    for identity, title in sorted(
        tables.rows("reports.community_reports", "report_id, title", "report_id", parents)
    ):
        found["report"][parents[identity], _folded(title)].append(identity)
    return found


@dataclass(slots=True)
class _Taken:
    """Gives the records of one context; those that say the same one after the other."""

    records: _Records
    _waiting: dict[tuple[str, ...], deque[str]] = field(default_factory=dict)

    def record(self, report_id: str, row: PackedRow) -> str | None:
        key = (report_id, *row.key) if row.kind == "report" else row.key
        known = self.records[row.kind].get(key)
        if not known:
            return None
        if len(known) == 1:
            return known[0]
        waiting = self._waiting.setdefault((row.kind, *key), deque(known))
        return waiting.popleft() if len(waiting) > 1 else waiting[0]
