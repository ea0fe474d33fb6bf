"""Migrations: working files of older versions are upgraded step by step when they are opened for writing.

The number of a file's format is in its table ``meta.format``; files made before that are of format 0. A
change of the declared tables needs a step here only where rows must change: columns that are new are added
when their table is written. A step may meet a file that has gone through it, so it must do no harm twice. It
names tables and columns itself, since the declarations go on changing and a step must not.
"""

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.duckdb_files.earlier_contexts import columns_of, parts_shown
from graphrag_dagster.kernel.storage.duckdb_files.frames import first_row

_Step = Callable[[duckdb.DuckDBPyConnection], None]


def upgrade(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Bring an open, writable file to the current format, all steps in one transaction.

    Raises:
        WarehouseError: the file is of a newer format, or a step failed; the file is as it was.
    """
    found = check(connection, file)
    if found == FORMAT:
        return
    try:
        connection.begin()
        for step in _STEPS[found:]:
            step(connection)
        mark(connection)
        connection.commit()
    except duckdb.Error as error:
        # Where DuckDB has rolled back by itself, as when the disk is full, there is nothing left to do.
        with suppress(duckdb.Error):
            connection.rollback()
        raise WarehouseError(
            f"{file} cannot be upgraded from format {found} to {FORMAT}: {str(error).splitlines()[0]}; it is "
            "unchanged. Free disk space or fix its permissions, or move it away and index the corpus again"
        ) from error


def check(connection: duckdb.DuckDBPyConnection, file: Path) -> int:
    """Return the format of an open file.

    Raises:
        WarehouseError: the format is newer than this version knows.
    """
    found = _format_of(connection)
    if found > FORMAT:
        raise WarehouseError(
            f"{file} was made by a newer version of graphrag-dagster (format {found}, this version knows "
            f"{FORMAT}); upgrade this installation, or restore a backup from before the upgrade"
        )
    return found


def mark(connection: duckdb.DuckDBPyConnection) -> None:
    """Write down that a file is of the current format, inside the caller's transaction if there is one."""
    connection.execute("create schema if not exists meta")
    connection.execute("create or replace table meta.format as select ?::INTEGER as version", [FORMAT])


def _format_of(connection: duckdb.DuckDBPyConnection) -> int:
    try:
        row = first_row(connection.execute("select version from meta.format"))
    except duckdb.CatalogException:
        return 0
    return int(row[0]) if row else 0


def _has(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether a table is there: to try and fail would end the transaction of the steps."""
    return bool(columns_of(connection, table))


def _add_column(connection: duckdb.DuckDBPyConnection, table: str, column: str, kind: str) -> None:
    if _has(connection, table):
        connection.execute(f"alter table {table} add column if not exists {column} {kind}")


def _questions_of_old_answers(connection: duckdb.DuckDBPyConnection) -> None:
    """0 → 1: answers have questions in a table of their own; before, all were from corpus.yaml."""
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
    """1 → 2: studies count distinct entities too; of those made before it is not known."""
    _add_column(connection, "studies.extraction_counts", "distinct_entities", "INTEGER")


def _ranks_of_old_tests(connection: duckdb.DuckDBPyConnection) -> None:
    """2 → 3: the direction of the ranks stands beside each test; of those made before it is not known."""
    _add_column(connection, "evaluation.significance", "rank_biserial", "DOUBLE")


def _mends_of_old_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """3 → 4: rows count the replies that were repaired for them; of those made before it is not known."""
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
    """4 → 5: rows of report contexts have a table; those of contexts made before are read off their texts."""
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

#: What this version writes: the number of steps there have been.
FORMAT = len(_STEPS)
