"""``status``: what changed since a corpus was published."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dagster import AssetMaterialization

from graphrag_dagster.cli.commands.indexing import published_as_it_is
from graphrag_dagster.kernel.pipeline.erasure import note_file
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import SnapshotProvenance, publish, published, rollback
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.resources.dagster_instance import instance
from support.commands import Run
from support.corpora import write_corpus


def status(run: Run, expected: int = 6) -> dict[str, Any]:
    code, out, err = run("status", "coast", "--json")
    assert code == expected, out + err
    found: dict[str, Any] = json.loads(out)
    assert found["up_to_date"] == (code == 0)
    return found


def manifest_of(home: Path) -> Path:
    folder = home / "warehouse" / "published" / "coast"
    version = json.loads((folder / "current.json").read_text())["version"]
    return folder / f"{version}.json"


def alter(home: Path, **changed: Any) -> None:
    """Make the manifest tell of another past."""
    place = manifest_of(home)
    manifest = json.loads(place.read_text())
    for key, value in changed.items():
        if value is None:
            manifest.pop(key)
        else:
            manifest[key] = {**manifest[key], **value} if isinstance(value, dict) else value
    place.chmod(0o644)
    place.write_text(json.dumps(manifest))


def test_an_unchanged_corpus_is_up_to_date(run: Run, coast: Path) -> None:
    found = status(run, 0)
    assert found["files"] == {
        "added": [], "edited": [], "renamed": [], "removed": [], "unchanged": 4, "now": 4
    }  # fmt: skip
    assert (found["settings"], found["code"], found["redo"], found["plan"]) == ([], [], [], None)
    code, out, _ = run("status", "coast")
    assert code == 0
    assert "up to date" in out
    assert "to catch up" not in out


def test_a_corpus_that_was_never_published_is_to_be_done_whole(run: Run, home: Path) -> None:
    write_corpus(home / "corpora")
    found = status(run)
    assert found["version"] is None
    assert found["redo"][0] == "corpus"
    code, out, _ = run("status", "coast")
    assert code == 6
    assert "never published; 4 files" in out
    assert "graphrag-dagster index coast" in out


def test_an_unknown_corpus_is_an_error(run: Run, home: Path) -> None:
    code, _, err = run("status", "nowhere")
    assert code == 1
    assert "nowhere" in err


def test_changed_files_are_told_by_what_became_of_them(run: Run, coast: Path) -> None:
    (coast / "new [1].txt").write_text("Piet Lund left Wavecrest Energy.", encoding="utf-8")
    (coast / "news" / "merger.txt").rename(coast / "merger 1998.txt")
    (coast / "news" / "strike.md").unlink()
    (coast / "institute" / "letter.txt").write_text("Piet Lund wrote a letter.", encoding="utf-8")
    found = status(run)
    assert found["files"] == {
        "added": ["new [1].txt"],
        "edited": ["institute/letter.txt"],
        "renamed": [["news/merger.txt", "merger 1998.txt"]],
        "removed": ["news/strike.md"],
        "unchanged": 1,
        "now": 4,
    }
    assert found["redo"][0] == "corpus"
    assert found["plan"] is None
    _, out, _ = run("status", "coast")
    for words in ("new [1].txt", "news/merger.txt → merger 1998.txt", "no model is used"):
        assert words in out


def test_many_files_are_shown_in_part(run: Run, coast: Path) -> None:
    for number in range(30):
        (coast / f"more {number:02}.txt").write_text(f"Text number {number}.", encoding="utf-8")
    _, out, _ = run("status", "coast")
    assert "and 18 more" in out
    assert len(status(run)["files"]["added"]) == 30


def test_settings_that_change_no_result_are_told_but_nothing_is_to_be_done(run: Run, coast: Path) -> None:
    (coast / "corpus.yaml").write_text("extraction: {processes: 1}\nsearch: {level: 2}\n", encoding="utf-8")
    found = status(run, 0)
    assert {one["key"]: (one["before"], one["now"]) for one in found["settings"]} == {
        "extraction.processes": (0, 1),
        "search.level": (None, 2),
    }
    assert (found["redo"], found["asked"]) == ([], ["answers"])


def test_a_model_has_its_price(run: Run, coast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    (coast / "corpus.yaml").write_text(
        "reports: {engine: llm}\nmodel: {name: some-model, prices: {input: 1, output: 2}}\n", encoding="utf-8"
    )
    found = status(run)
    assert found["redo"] == ["reports", "embeddings", "marts"]
    assert {"key": "report", "before": "extractive", "now": "some-model"} in found["models"]
    assert [stage["stage"] for stage in found["plan"]["stages"]] == ["reports"]
    assert found["plan"]["usd"]["expected"] > 0
    _, out, _ = run("status", "coast")
    assert "cost to catch up" in out


def test_changed_code_prompts_and_package_are_told(run: Run, home: Path, coast: Path) -> None:
    alter(
        home,
        code={"graph/entities": "older", "answers/answers": "older"},
        prompts={"community_report_system": "older", "a_prompt_of_old": "older"},
        package="0.0.1",
    )
    found = status(run)
    assert set(found["code"]) - {"answers/answers"} == {"graph/entities"}
    assert found["prompts"] == ["community_report_system"]
    assert found["package"]["before"] == "0.0.1"
    assert found["redo"][0] == "graph"


@pytest.mark.usefixtures("coast")
def test_records_of_a_table_that_is_no_asset_any_more_outdate_nothing(run: Run) -> None:
    with instance() as opened:
        opened.report_runless_asset_event(
            AssetMaterialization(
                ["staging", "entity_groups"],
                partition="coast",
                tags={"dagster/code_version": "of an old release"},
            )
        )
    assert run("index", "coast", "--again")[0] == 0
    assert status(run, expected=0)["code"] == []


def test_packages_that_decide_results_are_told(run: Run, home: Path, coast: Path) -> None:
    alter(home, libraries={"spacy": "2.0", "a_package_of_old": "1"})
    found = status(run)
    assert [one["key"] for one in found["libraries"]] == ["spacy"]
    assert found["redo"][0] == "extraction"
    alter(home, libraries={"spacy": version("spacy"), "graspologic-native": "0.1"})
    assert status(run)["redo"][0] == "communities"


@pytest.mark.usefixtures("coast")
def test_an_index_of_what_is_published_runs_nothing(run: Run) -> None:
    with instance() as dagster_instance:
        before = dagster_instance.get_runs_count()
    code, out, err = run("index", "coast", "--json")
    told = json.loads(out)
    assert (code, told["up_to_date"], told["run_id"]) == (0, True, None), err
    assert {row["measure"] for row in told["summary"]} >= {"documents"}
    assert "nothing has changed" in run("index", "coast")[1]
    with instance() as dagster_instance:
        assert dagster_instance.get_runs_count() == before


def another_setting(coast: Path) -> None:
    (coast / "corpus.yaml").write_text("publishing: {keep: 2}", encoding="utf-8")


def no_working_file(coast: Path) -> None:
    Warehouse().file("coast").unlink()


def gone_but_not_erased(coast: Path) -> None:
    note_file(Warehouse(), "coast").write_text('{"gone": ["some document"]}')


def torn_snapshot(coast: Path) -> None:
    current = published(Warehouse(), "coast")
    assert current is not None
    current.file.unlink()


def damaged_snapshot(coast: Path) -> None:
    current = published(Warehouse(), "coast")
    assert current is not None
    current.file.chmod(0o644)
    with current.file.open("r+b") as file:
        file.seek(20_000)
        file.write(b"damaged")


def damaged_pointer(coast: Path) -> None:
    (manifest_of(coast.parent.parent).parent / "current.json").write_text("{")


def gone_back(coast: Path) -> None:
    warehouse = Warehouse()
    frame = warehouse.read(tables.ENTITIES, "coast")
    warehouse.write(tables.ENTITIES, "coast", frame.with_columns(title=pl.lit("X")))
    publish(warehouse, "coast", SnapshotProvenance(CorpusStore().settings("coast")))
    rollback(warehouse, "coast")


def lost_unit(coast: Path) -> None:
    warehouse = Warehouse()
    ledger = warehouse.read(tables.UNIT_LEDGER, "coast")
    warehouse.write(
        tables.UNIT_LEDGER, "coast", ledger.with_columns(state=pl.lit("quarantined"), engine=pl.lit("llm"))
    )


@pytest.mark.parametrize(
    "change",
    [
        another_setting,
        no_working_file,
        gone_but_not_erased,
        torn_snapshot,
        damaged_snapshot,
        damaged_pointer,
        gone_back,
        lost_unit,
    ],
)
def test_an_index_runs_where_anything_is_to_be_done(coast: Path, change: Callable[[Path], None]) -> None:
    assert published_as_it_is("coast")
    change(coast)
    assert published_as_it_is("coast") is None


def test_a_manifest_that_tells_less_is_believed_as_far_as_it_goes(run: Run, home: Path, coast: Path) -> None:
    alter(home, code=None, prompts=None, package=None, models=None, settings=None, files=None)
    found = status(run, 0)
    assert found["package"] is None


@pytest.mark.long
def test_a_file_that_no_reader_took_is_no_change(run: Run, home: Path, coast: Path) -> None:
    (coast / "broken.docx").write_bytes(b"PK\x03\x04 no archive")
    from graphrag_dagster.cli.job_runner import run_job

    run_job("coast")
    assert status(run, 0)["files"]["now"] == 5
    files = json.loads(manifest_of(home).read_text())["files"]
    for file in files:
        file["sha256"] = None if file["path"] == "broken.docx" else file["sha256"]
    alter(home, files=files)
    assert status(run)["files"]["edited"] == ["broken.docx"]


@pytest.mark.long
def test_a_run_that_failed_half_way_is_told(run: Run, coast: Path) -> None:
    (coast / "corpus.yaml").write_text("extraction: {pipeline: no_such_pipeline}\n", encoding="utf-8")
    code, _, err = run("index", "coast")
    assert code == 1
    assert "no_such_pipeline" in err
    found = status(run)
    assert found["unfinished"]["state"] == "failed"
    assert "gleaned_entities" in found["unfinished"]["step"] or "extraction" in found["unfinished"]["step"]
    _, out, _ = run("status", "coast")
    assert "failed" in out
    (coast / "corpus.yaml").unlink()
    assert status(run)["redo"] == []
    assert run("index", "coast")[0] == 0
    assert status(run, 0)["unfinished"] is None
    assert Warehouse().file("coast").is_file()
