"""A decision applied by an index, looked at, and taken back by the next."""

import json
from pathlib import Path

import pytest

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.commands import Run
from support.lineage import why
from support.tables_of import EVALUATING, contents


@pytest.mark.long
def test_a_decision_is_applied_and_taken_back_without_a_trace(coast: Path, run: Run) -> None:
    warehouse = Warehouse()
    # Places go on from those of before.
    without = (*EVALUATING, tables.LAYOUT.group)
    before = contents(warehouse, "coast", without)
    names = ("Hanna Quill", "Orrin Vask")
    identity = json.loads(run("merge", "coast", *names, "--who", "Anna", "--json")[1])["id"]
    unused = {"different": [{"names": ["Orrin Vask", "Nobody Else"], "who": "Eva"}]}
    (coast / "corpus.yaml").write_text(json.dumps({"resolution": unused}), encoding="utf-8")
    code, out, _ = run("status", "coast", "--json")
    told = json.loads(out)
    assert code == 6
    assert [one["key"] for one in told["settings"]] == ["resolution.different", "resolution.same"]
    assert told["redo"][0] == "resolution"
    assert "applied by the next index" in run("undo", "coast", "--list")[1]
    assert run("index", "coast", "--json")[0] == 0

    entities = warehouse.read(tables.ENTITIES, "coast")
    assert not {"HANNA QUILL", "ORRIN VASK"} <= set(entities["name"])
    one, other = (why(warehouse, "coast", "entity", name, None) for name in names)
    assert one == other
    named, *records = one.steps
    assert (named.kind, set(named.facts["names"])) == ("names", set(names))
    # They stand in one document too.
    decided = named.steps[0]
    assert {(step.text, step.facts["who"], step.facts["decision_id"]) for step in named.steps} == {
        ("a person said so", "Anna", identity)
    }
    assert {record.title for record in records} >= set(names)
    assert f"by Anna, {decided.facts['at']}, {identity}" in run("entities", "coast", "hanna quill")[1]
    shown = run("show", "coast", "--reports", "0")[1]
    assert "2 names joined to 1 entity" in shown
    assert "graphrag-dagster entities coast --ask" in shown
    without_effect = "a decision without effect: different: Orrin Vask, Nobody Else; no two of these names"
    assert without_effect in shown
    assert without_effect in run("entities", "coast", "--ask")[1]
    assert json.loads(run("show", "coast", "--json")[1])["names"]["joined"] == 2
    listed = json.loads(run("entities", "coast", "--json")[1])["entities"]
    assert [set(row["names"]) for row in listed if len(row["names"]) > 1] == [set(names)]
    rows = json.loads(
        run("sql", "coast", "select who from resolution.decisions where who is not null", "--json")[1]
    )
    assert {one["who"] for one in rows} == {"Anna", "Eva"}
    assert "applied by" not in run("undo", "coast", "--list")[1]

    assert run("undo", "coast")[0] == 0
    (coast / "corpus.yaml").unlink()
    assert run("index", "coast", "--json")[0] == 0
    assert contents(warehouse, "coast", without) == before
