"""``delete`` and ``purge``: a corpus goes whole, others stay whole."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.pipeline.orchestration.dagster_instance import instance
from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import CORPUS
from graphrag_dagster.kernel.pipeline.orchestration.run_history import runs_of
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.gone import traces

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
        key = dg.AssetKey(tables.DOCUMENTS.asset_key)
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
    assert set(traces(home))
    assert all(path.startswith(".dagster_home") for path in traces(home))
    code, out, _ = run("purge", "coast", "--keep-last", "--yes", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["runs"], told["kept"]) == (2, 1)
    assert told["after"] < told["before"]
    assert traces(home) == {}
    with instance() as dagster_instance:
        (left,) = runs_of(dagster_instance, "coast")
        assert left.job_name == "index"
        key = dg.AssetKey(tables.DOCUMENTS.asset_key)
        assert dagster_instance.get_materialized_partitions(key) == {"coast"}
        assert dagster_instance.get_latest_materialization_event(key) is not None
    code, out, _ = run("purge", "coast", "--yes")
    assert "deleted 1 run of" in out
    code, _, err = run("purge", "coats")
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
