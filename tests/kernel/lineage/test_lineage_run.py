"""Lineage of an indexed corpus, checked against the documents and against a run without one of them."""

import json
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWERS
from graphrag_dagster.cli.commands.studies.answer_commands import answer_corpus
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.commands import Run
from support.homes import copy_home, enter_home
from support.lineage import impact, why


@pytest.mark.parametrize(
    "path", ["news/merger.txt", pytest.param("institute/report.txt", marks=pytest.mark.long)]
)
def test_impact_is_what_a_run_without_the_document_gives(coast: Path, path: str) -> None:
    warehouse = Warehouse()
    before = {
        t: warehouse.read(t, "coast") for t in (tables.TEXT_CHUNKS, tables.ENTITIES, tables.RELATIONSHIPS)
    }
    found = impact(warehouse, "coast", path)
    (coast / path).unlink()
    run_job("coast")
    after = {table: warehouse.read(table, "coast") for table in before}

    def lost(table: Table) -> set[str]:
        key = table.key[0]
        return set(before[table][key]) - set(after[table][key])

    assert lost(tables.TEXT_CHUNKS) == set(found.text_units["text_unit_id"])
    assert lost(tables.ENTITIES) == set(found.entities.filter("gone")["entity_id"])
    assert lost(tables.RELATIONSHIPS) == set(found.relationships.filter("gone")["relationship_id"])
    assert all(set(after[table][table.key[0]]) <= set(before[table][table.key[0]]) for table in before)
    for table, frame in ((tables.ENTITIES, found.entities), (tables.RELATIONSHIPS, found.relationships)):
        key = table.key[0]
        left = after[table].with_columns(text_units_after=pl.col("text_unit_ids").list.len())
        predicted = frame.filter(~pl.col("gone")).select(key, "text_units_after").sort(key)
        assert (
            left.join(predicted, on=key, how="semi").select(predicted.columns).sort(key).rows()
            == predicted.rows()
        )
        untouched, kept = (
            t.join(frame, on=key, how="anti")
            .select(key, "instances", "text_unit_ids", "description")
            .sort(key)
            for t in (before[table], after[table])
        )
        assert untouched.rows() == kept.rows()


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, indexed_home: Path) -> Path:
    home = copy_home(indexed_home, tmp_path_factory.mktemp("answered"))
    (home / "corpora" / "coast" / "corpus.yaml").write_text(
        'questions:\n  ask: ["Who led the Dockers Union?"]\n  methods: [C1, SS, local]\n  write: never\n',
        encoding="utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        enter_home(patch, home)
        answer_corpus("coast")
    return home


def test_every_word_shown_is_the_documents(answered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_home(monkeypatch, answered)
    warehouse = Warehouse()
    documents = dict(warehouse.read(tables.DOCUMENTS, "coast").select("document_id", "text").iter_rows())
    for kind, table in (
        ("entity", tables.ENTITIES),
        ("relationship", tables.RELATIONSHIPS),
        ("report", tables.COMMUNITY_REPORTS),
        ("answer", ANSWERS),
    ):
        rows = warehouse.read(table, "coast")
        assert rows.height
        for row in rows.iter_rows(named=True):
            step = why(warehouse, "coast", kind, row[table.key[0]], None)
            words = list(step.all_evidence())
            assert words
            for one in words:
                text = documents[one.document_id]
                assert text[one.start_char : one.end_char] == one.quotation
                around = one.start_char - len(one.before), one.end_char + len(one.after)
                assert text[slice(*around)] == one.sentence
                assert one.quotation in one.sentence
            if kind == "entity":
                assert {w.text_unit_id for w in words} == set(row["text_unit_ids"])
                assert len(step.steps) == row["instances"]
            if kind == "report":
                shown = step.steps[0]
                assert len(shown.steps) == sum(
                    shown.facts[sort] for sort in ("entities", "relationships", "claims", "reports")
                )
                assert all(below.id for below in shown.steps)


def test_the_commands_print_and_give_json(answered: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_home(monkeypatch, answered)

    code, out, _ = run("why", "coast", "entity", "tallow marine")
    assert code == 0
    assert "Orrin Vask founded Tallow Marine" in " ".join(out.replace("│", " ").split())
    shown = json.loads(run("why", "coast", "report", "0", "--all", "--json")[1])
    assert shown["kind"] == "report"
    code, out, _ = run("impact", "coast", "news/strike.md")
    assert code == 0
    assert "entities that go" in out
    found = json.loads(run("impact", "coast", "news/strike.md", "--json")[1])
    assert found["counts"]["text_units_gone"] == 1
    assert found["counts"]["answers_citing"] == sum(row["citations"] > 0 for row in found["answers"]) > 0
    code, _, err = run("why", "coast", "entity", "Tallow Marin")
    assert (code, "did you mean 'Tallow Marine'" in err, "Traceback" in err) == (1, True, False)
    code, _, err = run("why", "coast", "person", "Tallow Marine")
    assert (code, "choose entity, relationship, report, claim, answer" in err) == (1, True)
