"""Migrations: working files of older versions are upgraded step by step when opened for writing.

Published snapshots never change, so the rows that a migration would add are derived from them for each
lineage query. The texts and tables known here are those that older versions wrote.

The format of a file is stored in its table ``meta.format``; files without it have format 0. A change of the
declared tables needs a step only if rows must change, because new columns are added when their table is
written. Steps must be idempotent. They name tables and columns literally, because the declarations keep
changing and a step must not.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.duckdb_access import first_row
from graphrag_dagster.kernel.text.text_similarity import normalise

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

# The same names occur in many contexts, and in many rows of each.
_name = lru_cache(1 << 16)(normalise)


@dataclass(frozen=True, slots=True)
class PackedRow:
    """A row of a packed context: its kind, its number in the context, and its remaining cells."""

    kind: str
    number: int
    cells: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Key of the record: name; both names in order; title; or all values of a claim.

        A truncated title or name ends with an ellipsis and matches no record.
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
    """Return the column names of ``schema.table`` in the current database; empty if it does not exist.

    Unlike ``describe``, it never fails, and so never aborts a transaction.
    """
    result = connection.execute(
        "select column_name from duckdb_columns() where database_name = current_database() "
        "and schema_name = ? and table_name = ?",
        table.split("."),
    )
    return {name for (name,) in result.fetchall()}


def rows_shown(
    connection: duckdb.DuckDBPyConnection, corpus: str, reports: Iterable[str] | None = None
) -> pl.DataFrame:
    """Return rows like those of ``reports.report_context_rows``, without those with truncated names.

    Args:
        connection: to a file that has ``reports.report_contexts``.
        corpus: the corpus.
        reports: ids of the reports whose contexts are parsed; default: all.
    """
    ids = _all_reports(connection, corpus) if reports is None else reports
    return pl.concat([pl.DataFrame(schema=_ROWS), *parts_shown(connection, corpus, ids)])


def parts_shown(
    connection: duckdb.DuckDBPyConnection, corpus: str, reports: Iterable[str]
) -> Iterator[pl.DataFrame]:
    """Yield the rows of :func:`rows_shown` in batches of some hundred reports."""
    ids = iter(reports)
    while batch := list(islice(ids, _AT_ONCE)):
        yield pl.DataFrame(list(_of_reports(connection, corpus, batch)), schema=_ROWS, orient="row")


def parse_context(text: str) -> tuple[PackedRow, ...]:
    """Return the rows of a packed context in order, skipping malformed ones."""
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
        match = _CELL.match(text, start, end)
        if match is None:
            return
        quoted = match["quoted"]
        cells.append(match["plain"] if quoted is None else quoted.replace('""', '"'))
        start = match.end()
        if match["end"] != ",":
            yield cells
            cells = []


def _folded(text: str) -> str:
    return " ".join(text.split())


def _claim_key(*cells: str | None) -> tuple[str, ...]:
    subject, object_name, *rest = (cell or "" for cell in cells)
    return (_name(subject), _name(object_name), *map(_folded, rest))


def _all_reports(connection: duckdb.DuckDBPyConnection, corpus: str) -> list[str]:
    result = connection.execute(
        "select report_id from reports.report_contexts where corpus = ? order by report_id", [corpus]
    )
    return [report_id for (report_id,) in result.fetchall()]


def _of_reports(
    connection: duckdb.DuckDBPyConnection, corpus: str, reports: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    tables = _Tables(connection, corpus)
    texts = tables.rows("reports.report_contexts", "report_id, context", "report_id", reports)
    packed = {report_id: parse_context(text) for report_id, text in sorted(texts)}
    records = _records(tables, packed)
    for report_id, rows in packed.items():
        matcher = _Taken(records)
        for position, row in enumerate(rows):
            if record_id := matcher.record(report_id, row):
                yield report_id, position, row.kind, row.number, record_id


@dataclass(frozen=True, slots=True)
class _Tables:
    """Rows of tables of any version."""

    connection: duckdb.DuckDBPyConnection
    corpus: str

    def rows(self, table: str, columns: str, column: str, values: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return columns of the rows with one of the values; empty if the table or a column is missing."""
        if not {*columns.split(", "), column} <= columns_of(self.connection, table):
            return []
        keys = pl.Series("value", sorted(values), dtype=pl.String).to_frame()
        self.connection.register("wanted_keys", keys.to_arrow())
        try:
            return self.connection.execute(
                f"select {columns} from {table} where corpus = ? "
                f"and {column} in (select value from wanted_keys)",
                [self.corpus],
            ).fetchall()
        finally:
            self.connection.unregister("wanted_keys")


#: Sorted ids by kind and key. The key of a report begins with the id of the parent community.
_Records = Mapping[str, Mapping[tuple[str, ...], Sequence[str]]]


def _records(tables: _Tables, packed: Mapping[str, tuple[PackedRow, ...]]) -> _Records:
    ids: dict[str, dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    keys: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for rows in packed.values():
        for row in rows:
            keys[row.kind].add(row.key)
    for identity, name in tables.rows(
        "graph.entities", "entity_id, name", "name", {name for (name,) in keys["entity"]}
    ):
        ids["entity"][name,].append(identity)
    for identity, *ends in tables.rows(
        "graph.relationships",
        "relationship_id, source, target",
        "source",
        {source for source, _ in keys["relationship"]},
    ):
        ids["relationship"][tuple(ends)].append(identity)
    columns = "claim_id, subject, object, type, status, start_date, end_date, description"
    subjects = {key[0] for key in keys["claim"]}
    merged = tables.rows("graph.claims", columns, "subject", subjects)
    # Before claims were merged, contexts contained each instance.
    for identity, *cells in sorted(merged or tables.rows("extraction.claims", columns, "subject", subjects)):
        ids["claim"][_claim_key(*cells)].append(identity)
    above = [report_id for report_id, rows in packed.items() if any(row.kind == "report" for row in rows)]
    parents = dict(tables.rows("graph.communities", "community_id, parent_id", "parent_id", above))
    for identity, title in sorted(
        tables.rows("reports.community_reports", "report_id, title", "report_id", parents)
    ):
        ids["report"][parents[identity], _folded(title)].append(identity)
    return ids


@dataclass(slots=True)
class _Taken:
    """Assigns records to the rows of one context; identical rows get theirs one after the other."""

    records: _Records
    _waiting: dict[tuple[str, ...], deque[str]] = field(default_factory=dict)

    def record(self, report_id: str, row: PackedRow) -> str | None:
        key = (report_id, *row.key) if row.kind == "report" else row.key
        ids = self.records[row.kind].get(key)
        if not ids:
            return None
        if len(ids) == 1:
            return ids[0]
        waiting = self._waiting.setdefault((row.kind, *key), deque(ids))
        return waiting.popleft() if len(waiting) > 1 else waiting[0]


_Step = Callable[[duckdb.DuckDBPyConnection], None]


def upgrade(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Upgrade an open, writable file to the current format, all steps in one transaction.

    Raises:
        WarehouseError: the file has a newer format, or a step failed; the file is unchanged.
    """
    before = check(connection, file)
    if before == FORMAT:
        return
    try:
        connection.begin()
        for step in _STEPS[before:]:
            step(connection)
        mark(connection)
        connection.commit()
    except duckdb.Error as error:
        # DuckDB may have rolled back already, for instance because the disk is full.
        with suppress(duckdb.Error):
            connection.rollback()
        raise WarehouseError(
            f"{file} cannot be upgraded from format {before} to {FORMAT}: {str(error).splitlines()[0]}; it "
            "is unchanged. Free disk space or fix its permissions, or move it away and index the corpus again"
        ) from error


def check(connection: duckdb.DuckDBPyConnection, file: Path) -> int:
    """Return the format of an open file.

    Raises:
        WarehouseError: the format is newer than this version supports.
    """
    current = _format_of(connection)
    if current > FORMAT:
        raise WarehouseError(
            f"{file} was made by a newer version of graphrag-dagster (format {current}, this version knows "
            f"{FORMAT}); upgrade this installation, or restore a backup from before the upgrade"
        )
    return current


def mark(connection: duckdb.DuckDBPyConnection) -> None:
    """Record the current format in a file, inside the caller's transaction if there is one."""
    connection.execute("create schema if not exists meta")
    connection.execute("create or replace table meta.format as select ?::INTEGER as version", [FORMAT])


def _format_of(connection: duckdb.DuckDBPyConnection) -> int:
    try:
        row = first_row(connection.execute("select version from meta.format"))
    except duckdb.CatalogException:
        return 0
    return int(row[0]) if row else 0


def _has(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether a table exists, without an error that would abort the transaction."""
    return bool(columns_of(connection, table))


def _add_column(connection: duckdb.DuckDBPyConnection, table: str, column: str, kind: str) -> None:
    if _has(connection, table):
        connection.execute(f"alter table {table} add column if not exists {column} {kind}")


def _questions_of_old_answers(connection: duckdb.DuckDBPyConnection) -> None:
    """0 → 1: questions move to a separate table; before, all were from corpus.yaml."""
    if not _has(connection, "answers.answers"):
        return
    connection.execute("create schema if not exists questions")
    connection.execute(
        "create table if not exists questions.questions (corpus VARCHAR, question_id VARCHAR, "
        "position INTEGER, question VARCHAR, origin VARCHAR, reference VARCHAR)"
    )
    connection.execute(
        "insert into questions.questions (corpus, question_id, position, question, origin) "
        "select corpus, question_id, min(position), min(question), 'settings' from answers.answers "
        "anti join questions.questions using (corpus, question_id) group by corpus, question_id"
    )


def _distinct_entities_of_old_studies(connection: duckdb.DuckDBPyConnection) -> None:
    """1 → 2: studies also count distinct entities; unknown for older studies."""
    _add_column(connection, "studies.extraction_counts", "distinct_entities", "INTEGER")


def _ranks_of_old_tests(connection: duckdb.DuckDBPyConnection) -> None:
    """2 → 3: tests also record the direction of the ranks; unknown for older tests."""
    _add_column(connection, "evaluation.significance", "rank_biserial", "DOUBLE")


def _mends_of_old_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """3 → 4: rows count the replies that were repaired for them; unknown for older rows."""
    for table, column in (
        ("graph.entities", "description_repaired"),
        ("graph.relationships", "description_repaired"),
        ("graph.claims", "description_repaired"),
        ("reports.community_reports", "repaired"),
        ("answers.answers", "repaired"),
        ("questions.corpus_descriptions", "repaired"),
        ("evaluation.judgements", "repaired"),
        ("evaluation.answer_sentences", "repaired"),
        ("evaluation.quality_scores", "repaired"),
        ("studies.window_judgements", "repaired"),
    ):
        _add_column(connection, table, column, "INTEGER")


def _rows_of_old_contexts(connection: duckdb.DuckDBPyConnection) -> None:
    """4 → 5: rows of report contexts get a table; those of older contexts are parsed from their texts."""
    if not _has(connection, "reports.report_contexts"):
        return
    stored = connection.execute("select corpus, report_id from reports.report_contexts").fetchall()
    connection.execute(
        "create table if not exists reports.report_context_rows (corpus VARCHAR, report_id VARCHAR, "
        "position INTEGER, kind VARCHAR, number INTEGER, record_id VARCHAR)"
    )
    known = connection.execute(
        "select distinct corpus, report_id from reports.report_context_rows"
    ).fetchall()
    reports = defaultdict(list)
    for corpus, report_id in sorted(set(stored).difference(known)):
        reports[corpus].append(report_id)
    for corpus, ids in reports.items():
        for shown in parts_shown(connection, corpus, ids):
            connection.register("shown", shown.to_arrow())
            connection.execute(
                "insert into reports.report_context_rows "
                "select ?, report_id, position, kind, number, record_id from shown",
                [corpus],
            )
            connection.unregister("shown")


_STEPS: tuple[_Step, ...] = (
    _questions_of_old_answers,
    _distinct_entities_of_old_studies,
    _ranks_of_old_tests,
    _mends_of_old_rows,
    _rows_of_old_contexts,
)

#: The format that this version writes: the number of steps so far.
FORMAT = len(_STEPS)
