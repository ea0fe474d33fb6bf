"""``delete`` and ``delete --history``: a corpus goes whole, others stay whole."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.resources.dagster_instance import instance
from graphrag_dagster.resources.dagster_keys import CORPUS, asset_key
from graphrag_dagster.resources.run_history import runs_of
from support.commands import Run
from support.gone import traces
from support.shared import REPOSITORY

Enter = Callable[[str], Path]


@pytest.mark.long
def test_a_corpus_goes_whole_and_its_folder_and_other_corpora_stay(enter: Enter, run: Run) -> None:
    home = enter("llm")
    other = home / "corpora" / "moor"
    other.mkdir()
    (other / "one.txt").write_text("Ada Brack met Otto Finn in Mirefield. Otto Finn runs the Mirefield Mill.")
    (other / "corpus.yaml").write_text((home / "corpora/coast/corpus.yaml").read_text())
    run_job("moor")
    documents = sorted((home / "corpora").rglob("*"))
    code, out, _ = run("delete", "coast", "--yes", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["runs"] == 2
    assert told["replies"] > 0
    assert traces(home) == {}
    names = [path.name for path in home.rglob("*") if path.relative_to(home).parts[0] != "corpora"]
    assert not [name for name in names if "coast" in name]
    assert sorted((home / "corpora").rglob("*")) == documents
    with instance() as dagster_instance:
        assert dagster_instance.get_dynamic_partitions(str(CORPUS.name)) == ["moor"]
        assert runs_of(dagster_instance, "coast") == []
        assert len(runs_of(dagster_instance, "moor")) == 1
        key = asset_key(tables.DOCUMENTS)
        assert dagster_instance.get_materialized_partitions(key) == {"moor"}
        event = dagster_instance.get_latest_materialization_event(key)
        assert event is not None
        assert event.asset_materialization is not None
        assert event.asset_materialization.partition == "moor"
    assert Warehouse().read(tables.DOCUMENTS, "moor").height == 1
    shutil.rmtree(home / "corpora" / "coast")
    code, _, err = run("delete", "coast", "--yes")
    assert code == 1
    assert "nothing was made of a corpus 'coast'" in err


@pytest.mark.long
def test_what_dagster_keeps_goes_but_for_the_last_index(enter: Enter, run: Run) -> None:
    home = enter("extractive")
    shutil.rmtree(home / "corpora" / "coast" / "secret")
    run_job("coast")
    assert traces(home) == {}
    code, out, _ = run("delete", "coast", "--history", "--keep-last", "--yes", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["runs"], told["kept"]) == (2, 1)
    assert told["after"] < told["before"]
    assert traces(home) == {}
    with instance() as dagster_instance:
        (left,) = runs_of(dagster_instance, "coast")
        assert left.job_name == "index"
        key = asset_key(tables.DOCUMENTS)
        assert dagster_instance.get_materialized_partitions(key) == {"coast"}
        assert dagster_instance.get_latest_materialization_event(key) is not None
    code, out, _ = run("delete", "coast", "--history", "--yes")
    assert "deleted 1 run of" in out
    code, _, err = run("delete", "coats", "--history")
    assert (code, "nothing of a corpus 'coats'" in err) == (1, True)


def test_nothing_goes_unless_someone_agrees(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "corpora" / "moor").mkdir()
    with Warehouse().connect("moor") as connection:
        connection.execute("create table main.notes as select 1 as x")
    for given in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        code, _, err = run("delete", "moor")
        assert code == 1
        assert "\nerror: nothing was deleted" in err
    assert Warehouse().file("moor").is_file()
    (home / "warehouse" / "moor.duckdb").write_bytes(b"torn")
    assert run("delete", "moor", "--yes")[0] == 0
    assert not Warehouse().file("moor").exists()
    assert (home / "corpora" / "moor").is_dir()


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_what_others_have_put_beside_our_files_stays(coast: Path, home: Path, run: Run) -> None:
    warehouse, mine = home / "warehouse", set()
    for name in (
        "reports/coast/notes.md",
        "reports/coast/chart.png",
        "reports/coast/old/report.html",
        "published/coast/backup.duckdb",
        "published/coast/readme.json",
        "published/coast/changes/diary.json",
        "published/coast/mine/searched.txt",
        "coast.duckdb.bak",
    ):
        (warehouse / name).parent.mkdir(parents=True, exist_ok=True)
        (warehouse / name).write_text("mine")
        mine.add(warehouse / name)
    (warehouse / "reports/coast/report.html").write_text("ours")
    (warehouse / "reports/coast/quality_claims.png").write_text("ours")
    (coast / "more.txt").write_text("Ada Brack met Otto Finn in Mirefield.", encoding="utf-8")
    assert run("index", "coast")[0] == 0
    (coast / "more.txt").unlink()
    with Warehouse().connect("coast") as connection:
        connection.execute(
            "create table graph.mine as select 1 as x; create table graph.old (corpus varchar)"
        )
    # What held the deleted document goes, and nothing else.
    assert run("index", "coast")[0] == 0
    assert mine < files_below(warehouse)
    assert not (warehouse / "reports/coast/report.html").exists()
    with Warehouse().connect("coast") as connection:
        assert connection.execute("select x from graph.mine").fetchall() == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            connection.execute("from graph.old")
    code, told, _ = run("delete", "coast", "--yes")
    assert code == 0
    assert files_below(warehouse) == mine
    assert f"{warehouse / 'reports/coast'} stays: something else is in it" in told


def test_a_database_of_another_program_stays(coast: Path, home: Path, run: Run) -> None:
    file = Warehouse().file("coast")
    file.unlink()
    with duckdb.connect(str(file)) as connection:
        connection.execute("create table sales as select 1 as number")
    before = file.read_bytes()
    code, _, told = run("delete", "coast", "--yes")
    assert (code, "has tables of another program, and stays as it is" in told) == (1, True), told
    assert file.read_bytes() == before
    # Ours goes however old or damaged it is.
    for content in ("meta.format as select 1 as version", "corpus.documents as select 1 as corpus"):
        file.unlink(missing_ok=True)
        with duckdb.connect(str(file)) as connection:
            connection.execute(f"create schema {content.partition('.')[0]}; create table {content}")
        assert run("delete", "coast", "--yes")[0] == 0
        assert not file.exists()


def test_documents_stay_where_snapshots_are_shared(
    coast: Path, home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv("GRAPHRAG_DAGSTER_PUBLISHED", (home / "shared").as_uri())
    shared = home / "shared" / "coast"
    mine = {shared / name for name in ("minutes.md", "sales.duckdb", "copy#2", "kept/0123456789abcdef.json")}
    for file in mine:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
        os.utime(file, (0, 0))
    assert run("index", "coast", "--again")[0] == 0
    assert len(files_below(shared)) == len(mine) + 3
    (shared / f"{'0' * 64}.duckdb#1").write_text("killed")
    (coast / "news" / "strike.md").unlink()
    assert run("index", "coast")[0] == 0
    assert len(files_below(shared)) == len(mine) + 3
    assert run("delete", "coast", "--yes")[0] == 0
    assert files_below(shared) == {*mine, shared / "current.json"}


def test_runs_of_other_assets_stay(coast: Path, run: Run) -> None:
    """Their partitions may have the same keys."""

    @dg.asset(partitions_def=dg.StaticPartitionsDefinition(["coast", "inland"]))
    def rainfall() -> None:
        pass

    with instance() as dagster_instance:
        theirs = {
            dg.materialize([rainfall], instance=dagster_instance, partition_key="coast").run_id,
            dg.materialize(
                [rainfall], instance=dagster_instance, partition_key="coast", selection=[rainfall]
            ).run_id,
        }
        assert len(runs_of(dagster_instance, "coast")) == 1
    assert run("delete", "coast", "--yes")[0] == 0
    with instance() as dagster_instance:
        assert {one.run_id for one in dagster_instance.get_runs()} == theirs
        assert dagster_instance.get_materialized_partitions(rainfall.key) == {"coast"}


def test_cleaning_the_checkout_deletes_no_documents(tmp_path: Path) -> None:
    if (make := shutil.which("make")) is None:
        pytest.skip("needs make")
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    kept = {
        tmp_path / name for name in ("corpora/coast/a.md", "warehouse/coast.duckdb", "cache/replies.sqlite")
    }
    for file in (*kept, tmp_path / ".dagster_home/dagster.yaml", tmp_path / ".mypy_cache/x"):
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    subprocess.run([make, "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert files_below(tmp_path) == {*kept, tmp_path / ".dagster_home/dagster.yaml", tmp_path / "Makefile"}


HOLDING = """
import sys
from graphrag_dagster.resources.dagster_instance import marked_as_running
with marked_as_running("coast"):
    print("running", flush=True)
    sys.stdin.readline()
"""


def test_nothing_is_deleted_under_a_run(coast: Path, home: Path, run: Run) -> None:
    before = files_below(home)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        for command in (("delete", "coast", "--yes"), ("delete", "coast", "--history", "--yes")):
            code, _, told = run(*command)
            assert (code, told.splitlines()[-1]) == (
                1,
                "error: a run of corpus 'coast' is under way in another process; let it end, or stop it, and then "
                "delete",
            )
        assert files_below(home) > before
        assert run("delete", "inland", "--yes")[2].startswith("error: nothing was made of a corpus 'inland'")
        running.kill()
    assert run("delete", "coast", "--yes")[0] == 0
    assert list((home / ".dagster_home" / ".running").iterdir()) == []


def test_exported_replies_replace_no_other_file(coast: Path, home: Path, run: Run) -> None:
    other = home / "replies.jsonl.part"
    other.write_text("mine")
    assert run("cache", "export", str(home / "replies.jsonl"))[0] == 0
    assert other.read_text() == "mine"
    assert [path.name for path in home.glob("*.part")] == [other.name]
