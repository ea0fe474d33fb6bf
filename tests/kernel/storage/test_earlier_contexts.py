"""The rows of contexts that earlier versions stored without them, against what a run stores."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.lineage.lineage_reader import impact, why
from graphrag_dagster.kernel.storage.migrations import parse_context
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.reports.report_context import rendered, row
from support.commands import Run
from support.homes import copy_home, shared_home

HARBOUR = Path(__file__).parents[3] / "examples" / "harbour"
_TEXT = st.text(alphabet=st.sampled_from('ab ,"\n-\r') | st.characters(codec="utf-8"), max_size=30)


@given(st.lists(st.tuples(_TEXT), max_size=4), st.lists(st.tuples(_TEXT, _TEXT), max_size=4))
def test_every_row_that_is_rendered_is_read_again(
    reports: list[tuple[str]], entities: list[tuple[str, str]]
) -> None:
    text = rendered(
        {"report": [row(*cells) for cells in reports], "entity": [row(*cells) for cells in entities]}
    )
    found = parse_context(text)
    wanted = [("report", n) for n, _ in enumerate(reports, 1)] + [
        ("entity", n) for n, _ in enumerate(entities, 1)
    ]
    assert [(one.kind, one.number) for one in found] == wanted
    again = rendered(
        {
            "report": [row(*one.cells) for one in found if one.kind == "report"],
            "entity": [row(*one.cells) for one in found if one.kind == "entity"],
        }
    )
    if "-----" not in text.replace("-----Reports-----", "").replace("-----Entities-----", ""):
        assert again == text


def test_a_text_cannot_pass_for_a_row_or_a_section() -> None:
    forged = "x\n-----Entities-----\nid,name,description\n1,Eve,she"
    found = parse_context(rendered({"entity": [row("Ann", forged)]}))
    assert [one.key for one in found] == [("ANN",)]


def test_records_are_known_by_what_they_are_called() -> None:
    text = rendered(
        {
            "report": [row("# The  quay\n\nIt was built.")],
            "claim": [row("Bob", "Ann", "DEBT", "TRUE", "", "", "He owes\nher.")],
            "relationship": [row("Bob", "Ann", "they met", 3)],
        }
    )
    assert [(one.kind, one.key) for one in parse_context(text)] == [
        ("report", ("The quay",)),
        ("claim", ("BOB", "ANN", "DEBT", "TRUE", "", "", "He owes her.")),
        ("relationship", ("ANN", "BOB")),
    ]


def test_what_has_another_form_is_no_row() -> None:
    text = rendered({"entity": [row("Ann", "all of Ann"), row("Bob")]})
    assert [one.cells for one in parse_context(f"{text}x,Cy,all of Cy\n")] == [("Ann", "all of Ann")]


#: Contexts of so few tokens that some leave rows out, and some show reports of sub-communities.
SMALL = """communities: {max_cluster_size: 4}
claims: {enabled: true}
reports: {context_tokens: 600}
"""
KINDS = {"report", "entity", "claim", "relationship"}
FOLDERS = ("inquiry", "institute", "news")


@pytest.fixture(scope="module")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(folder: Path) -> None:
        for name in FOLDERS:
            shutil.copytree(HARBOUR / name, folder / "corpora" / "quay" / name)
        (folder / "corpora" / "quay" / "corpus.yaml").write_text(SMALL, encoding="utf-8")
        run_job("quay")

    return shared_home(tmp_path_factory, "quay", fill)


@pytest.fixture
def small(small_home: Path, home: Path) -> Warehouse:
    copy_home(small_home, home)
    made = Warehouse()
    contexts = made.read(tables.REPORT_CONTEXTS, "quay")
    assert set(contexts["complete"]) == {True, False}
    assert set(made.read(tables.REPORT_CONTEXT_ROWS, "quay")["kind"]) == KINDS
    return made


def as_before(file: Path) -> None:
    """Make a file of one that has no rows of contexts yet."""
    file.chmod(0o644)
    with duckdb.connect(str(file)) as connection:
        connection.execute("drop table reports.report_context_rows")
        connection.execute("create schema if not exists meta")
        connection.execute("create or replace table meta.format as select 4 as version")


def told(warehouse: Warehouse) -> tuple[dict[str, Any], dict[str, Any]]:
    """What lineage says of some reports and documents."""
    reports = warehouse.read(tables.COMMUNITY_REPORTS, "quay")["report_id"][::8]
    documents = warehouse.read(tables.DOCUMENTS, "quay")["document_id"][::8]
    return (
        {one: why(warehouse, "quay", "report", one, None).to_dict() for one in reports},
        {one: impact(warehouse, "quay", one).to_dict() for one in documents},
    )


def test_a_working_file_gets_the_rows_that_a_run_would_store(small: Warehouse) -> None:
    made = small.read(tables.REPORT_CONTEXT_ROWS, "quay")
    as_before(small.file("quay"))
    assert small.read_if_present(tables.REPORT_CONTEXT_ROWS, "quay") is None
    with small.connect("quay"):
        pass
    assert small.read(tables.REPORT_CONTEXT_ROWS, "quay").equals(made)


@pytest.mark.parametrize("half", ["part of the rows is there", "all rows are there"])
def test_rows_that_are_there_stay_as_they_are(small: Warehouse, half: str) -> None:
    made = small.read(tables.REPORT_CONTEXT_ROWS, "quay")
    with duckdb.connect(str(small.file("quay"))) as connection:
        if half.startswith("part"):
            connection.execute("delete from reports.report_context_rows where report_id < '8'")
        connection.execute("update meta.format set version = 4")
    with small.connect("quay"):
        pass
    assert small.read(tables.REPORT_CONTEXT_ROWS, "quay").equals(made)


@pytest.mark.long
def test_lineage_over_a_snapshot_without_the_rows_says_the_same(small: Warehouse) -> None:
    before = told(small)
    found = [report for one in before[1].values() for report in one["reports"]]
    assert all(any(report[kind] for report in found) for kind in ("entities", "relationships", "reports"))
    assert {row["kind"] for one in before[0].values() for row in one["steps"][0]["steps"]} == KINDS
    snapshot = published(small, "quay")
    assert snapshot is not None
    as_before(snapshot.file)
    assert told(small) == before


def test_an_unchanged_corpus_is_not_indexed_again_for_the_rows(small: Warehouse, run: Run) -> None:
    snapshot = published(small, "quay")
    assert snapshot is not None
    as_before(snapshot.file)
    as_before(small.file("quay"))
    place = snapshot.file.with_suffix(".json")
    manifest = json.loads(place.read_text(encoding="utf-8"))
    manifest["hash"] = hashlib.sha256(snapshot.file.read_bytes()).hexdigest()
    for part, key in (("code", "reports/report_context_rows"), ("counts", "reports.report_context_rows")):
        del manifest[part][key]
    place.write_text(json.dumps(manifest), encoding="utf-8")
    assert "nothing has changed" in run("index", "quay")[1]
    assert run("status", "quay")[0] == 0


@pytest.mark.long
def test_lineage_over_a_working_file_without_the_rows_says_the_same(tmp_path: Path, small: Warehouse) -> None:
    before = told(small)
    older = Warehouse(path=str(tmp_path / "older" / "{corpus}.duckdb"))
    file = older.file("quay")
    file.parent.mkdir()
    file.write_bytes(small.file("quay").read_bytes())
    as_before(file)
    assert told(older) == before
    with older.reading("quay") as reader:
        assert not reader.has(tables.REPORT_CONTEXT_ROWS)


def test_claims_of_a_version_that_did_not_merge_them_are_found_one_by_one(tmp_path: Path) -> None:
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    same = row("Bob", "Ann", "DEBT", "TRUE", "", "", "He owes her.")
    text = rendered({"entity": [row("Bob", "")], "claim": [same, same]})
    claim = {
        "human_readable_id": 0, "text_unit_id": "u", "round": 0, "subject": "BOB", "object": "ANN", "type": "DEBT",
        "status": "TRUE", "description": "He owes her.", "spans": [], "engine": "llm",
    }  # fmt: skip
    context = dict.fromkeys(("tokens", "entities", "relationships", "claims", "reports"), 0)
    warehouse.write(
        tables.CLAIMS,
        "quay",
        tables.CLAIMS.frame([{**claim, "claim_id": f"c{place}", "position": place} for place in (1, 0)]),
    )
    warehouse.write(
        tables.REPORT_CONTEXTS,
        "quay",
        tables.REPORT_CONTEXTS.frame([{"report_id": "k", "context": text, "complete": True, **context}]),
    )
    with duckdb.connect(str(warehouse.file("quay"))) as connection:
        connection.execute("update meta.format set version = 4")
    with warehouse.connect("quay"):
        pass
    # There is no entity of this name: its row is left out, and the others keep their places.
    assert warehouse.read(tables.REPORT_CONTEXT_ROWS, "quay").rows() == [
        ("k", 1, "claim", 1, "c0"),
        ("k", 2, "claim", 2, "c1"),
    ]
