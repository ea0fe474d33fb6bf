"""Working files as older versions left them, written by hand."""

from pathlib import Path

import duckdb
import pytest

from graphrag_dagster.apps.evaluation.questions.question_tables import QUESTIONS
from graphrag_dagster.apps.evaluation.tables import EXTRACTION_COUNTS, SIGNIFICANCE
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.pipeline.table_checks import violations
from graphrag_dagster.kernel.storage import migrations
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.tables_of import contents

THE_STRIKE = stable_id("question", "Who led the strike?")

FIRST_VERSION = """
create schema graph;
create table graph.community_members (corpus VARCHAR, community_id VARCHAR, entity_id VARCHAR, level INTEGER);
insert into graph.community_members values ('coast', 'c', 'e', 0);
"""

BEFORE_THERE_WERE_QUESTIONS = f"""
create schema answers;
create table answers.answers (
    corpus VARCHAR, answer_id VARCHAR, question_id VARCHAR, position INTEGER, question VARCHAR, method VARCHAR,
    answered_by VARCHAR, level INTEGER, text VARCHAR, engine VARCHAR, refused BOOLEAN, why VARCHAR, statements INTEGER,
    unsupported INTEGER, calls INTEGER, dropped INTEGER, removed_citations INTEGER, problems VARCHAR,
    context_rows INTEGER, context_tokens INTEGER, snapshot VARCHAR, options VARCHAR);
insert into answers.answers
select 'coast', way, '{THE_STRIKE}', 0, 'Who led the strike?', way, way, null, 'Hanna Quill.', 'extractive', false, null,
    1, 0, 1, 0, 0, null, 3, 90, 'aaaa', 'bbbb'
from (values ('local'), ('basic')) ways(way);
"""


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(path=str(tmp_path / "{corpus}.duckdb"), lock_timeout_seconds=0.5)


def old_file(warehouse: Warehouse, *statements: str) -> Path:
    with duckdb.connect(str(warehouse.file("coast"))) as connection:
        for statement in statements:
            connection.execute(statement)
    return warehouse.file("coast")


def format_of(file: Path) -> int | None:
    with duckdb.connect(str(file), read_only=True) as connection:
        try:
            return connection.execute("from meta.format").fetchall()[0][0]
        except duckdb.CatalogException:
            return None


def test_a_new_file_is_of_the_current_format(warehouse: Warehouse) -> None:
    with warehouse.connect("coast"):
        pass
    assert format_of(warehouse.file("coast")) == migrations.FORMAT


def test_an_old_file_can_be_read_and_stays_as_it_is(warehouse: Warehouse) -> None:
    file = old_file(warehouse, FIRST_VERSION)
    before = file.read_bytes()
    assert warehouse.read(tables.COMMUNITY_MEMBERS, "coast").rows() == [("c", "e", 0)]
    assert file.read_bytes() == before


def test_the_first_write_upgrades_and_keeps_the_rows(warehouse: Warehouse) -> None:
    file = old_file(warehouse, FIRST_VERSION)
    with warehouse.connect("coast") as connection:
        assert connection.execute("from graph.community_members").fetchall() == [("coast", "c", "e", 0)]
    assert format_of(file) == migrations.FORMAT


@pytest.mark.parametrize(
    ("table", "columns", "new"),
    [
        (
            EXTRACTION_COUNTS,
            "600 as chunk_size, 'checked' as mode, 0 as gleanings, 2 as text_units, 9 as entities, "
            "4 as relationships, 0 as quarantined, 'llm' as engine",
            ("distinct_entities",),
        ),
        (
            SIGNIFICANCE,
            "'claims' as measure, 'C0' as condition_a, 'SS' as condition_b, 9 as questions, 0 as zeros, "
            "2.0::double as mean_a, 1.0::double as mean_b, 1.0::double as difference, null::double as ci_low, "
            "null::double as ci_high, -2.0::double as z, 0.04::double as p, 0.04::double as p_holm, "
            "true as significant",
            ("rank_biserial",),
        ),
        (
            tables.ANSWERS,
            "'a' as answer_id, 'q' as question_id, 0 as position, 'Who?' as question, 'local' as method, "
            "'local' as answered_by, 1 as level, 'So.' as text, 'llm' as engine, false as refused, 'so' as why, "
            "1 as statements, 0 as unsupported, 1 as calls, 0 as dropped, 0 as removed_citations, "
            "'none' as problems, 0 as repaired, 3 as context_rows, 90 as context_tokens, 's' as snapshot, "
            "'o' as options, 'none' as query, 'none' as filters, 'none' as coterag, "
            "'none' as graph, 'none' as paths",
            ("partly_supported", "trace"),
        ),
    ],
)
def test_rows_from_before_a_column_stay_and_have_nothing_in_it(
    warehouse: Warehouse, table: tables.Table, columns: str, new: tuple[str, ...]
) -> None:
    old_file(
        warehouse,
        f"create schema {table.schema}",
        f"create table {table.full_name} as select 'coast' as corpus, {columns}",
    )
    before = warehouse.read(table, "coast")
    with warehouse.connect("coast"):
        pass
    assert warehouse.read(table, "coast").equals(before)
    (row,) = before.to_dicts()
    assert [row.pop(name) for name in new] == [None] * len(new)
    assert None not in [value for name, value in row.items() if not name.startswith("ci_")]


def test_answers_from_before_there_were_questions_get_theirs(warehouse: Warehouse) -> None:
    old_file(warehouse, BEFORE_THERE_WERE_QUESTIONS)
    with warehouse.connect("coast"):
        pass
    assert warehouse.read(QUESTIONS, "coast").rows() == [
        (THE_STRIKE, 0, "Who led the strike?", "settings", None)
    ]
    assert warehouse.read(tables.ANSWERS, "coast").height == 2
    with warehouse.reading("coast") as reader:
        assert violations(reader, tables.ANSWERS) == violations(reader, QUESTIONS) == []


def test_questions_that_are_there_stay_as_they_are(warehouse: Warehouse) -> None:
    old_file(warehouse, BEFORE_THERE_WERE_QUESTIONS)
    asked = QUESTIONS.frame(
        [
            {"question_id": THE_STRIKE, "position": 4, "question": "Who led the strike?"}
            | {"origin": "file", "reference": "Hanna Quill"}
        ]
    )
    warehouse.write(QUESTIONS, "coast", asked)
    with duckdb.connect(str(warehouse.file("coast"))) as connection:
        connection.execute("drop table meta.format")
    with warehouse.connect("coast"):
        pass
    assert warehouse.read(QUESTIONS, "coast").equals(asked)


def test_a_failed_step_leaves_the_file_as_it_was(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = old_file(warehouse, BEFORE_THERE_WERE_QUESTIONS)

    def fails(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("select * from no_such_table")

    steps = (*migrations._STEPS, fails)
    with monkeypatch.context() as changed:
        changed.setattr(migrations, "_STEPS", steps)
        changed.setattr(migrations, "FORMAT", len(steps))
        with pytest.raises(WarehouseError, match=f"from format 0 to {len(steps)}.*no_such_table.*unchanged"):
            warehouse.write(tables.COMMUNITY_MEMBERS, "coast", tables.COMMUNITY_MEMBERS.empty())
    assert format_of(file) is None
    assert warehouse.read_if_present(QUESTIONS, "coast") is None


@pytest.mark.parametrize("read_only", [True, False])
def test_a_newer_file_is_refused(warehouse: Warehouse, read_only: bool) -> None:
    file = old_file(
        warehouse,
        f"create schema meta; create table meta.format as select {migrations.FORMAT + 1} as version",
    )
    with (
        pytest.raises(WarehouseError, match="newer version of graphrag-dagster"),
        warehouse.connect("coast", read_only=read_only),
    ):
        pytest.fail("it was opened")
    assert format_of(file) == migrations.FORMAT + 1


@pytest.mark.usefixtures("coast")
def test_an_index_goes_on_from_an_old_file() -> None:
    warehouse = Warehouse()
    made = contents(warehouse, "coast")
    with duckdb.connect(str(warehouse.file("coast"))) as connection:
        connection.execute("drop schema meta cascade")
        # As it was before replies that were mended were counted, and as if reports had once had no tokens.
        connection.execute("alter table graph.entities drop column description_repaired")
        connection.execute("alter table reports.community_reports drop column tokens")
        connection.execute("drop table reports.report_context_rows")
        connection.execute(BEFORE_THERE_WERE_QUESTIONS)
    with pytest.raises(WarehouseError, match="'tokens'.*materialise reports/community_reports"):
        warehouse.read(tables.COMMUNITY_REPORTS, "coast")
    assert warehouse.read(tables.ENTITIES, "coast")["description_repaired"].is_null().all()
    run_job("coast")
    assert format_of(warehouse.file("coast")) == migrations.FORMAT
    again = contents(warehouse, "coast")
    # A column that was added again is the last.
    moved = {"reports.community_reports", "graph.entities"}
    assert {name: rows for name, rows in again.items() if name not in moved} == {
        name: rows for name, rows in made.items() if name not in moved
    }
    for table in (tables.COMMUNITY_REPORTS, tables.ENTITIES):
        assert warehouse.read(table, "coast").height == len(made[table.full_name])
