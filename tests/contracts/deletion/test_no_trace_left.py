"""After a document is gone and the run has ended, a search of the raw bytes finds nothing of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.erasure import deleted_documents, erase, note_file
from graphrag_dagster.kernel.storage.home import PREVIEWS
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.resources.dagster_instance import instance
from graphrag_dagster.resources.dagster_keys import asset_key
from graphrag_dagster.resources.run_history import purge_history
from graphrag_dagster.systems.graphrag.resolution.settings import Decision, decisions_text
from support.corpora import write_corpus
from support.damage import put_back_if_torn
from support.endpoint import ScriptedEndpoint
from support.gone import erase_and_publish, index_unpublished, traces

Enter = Callable[[str], Path]
RESULTS = ("questions", "answers", "evaluation", "studies")


def results() -> list[str]:
    """Tables that were made from an index by other jobs, and are there."""
    warehouse = Warehouse()
    return [one.full_name for one in all_tables() if one.group in RESULTS and warehouse.exists(one, "coast")]


def purge() -> None:
    with instance() as dagster_instance:
        purge_history(dagster_instance, "coast")


@pytest.mark.long
@pytest.mark.parametrize("engine", [pytest.param("extractive", marks=pytest.mark.long), "llm"])
def test_a_removed_document_leaves_no_byte(enter: Enter, endpoint: ScriptedEndpoint, engine: str) -> None:
    home = enter(engine)
    before = traces(home)
    assert any(path.startswith("warehouse/coast.duckdb") for path in before)
    assert any(path.startswith("warehouse/published/") for path in before)
    # What Dagster records has nothing of a document, be it there or gone.
    assert not any(path.startswith(".dagster_home/") for path in before)
    assert any(path.startswith("cache/") for path in before) == (engine == "llm")
    assert results()
    shutil.rmtree(home / "corpora" / "coast" / "secret")
    run_job("coast")
    assert traces(home) == {}
    assert results() == []
    assert not (home / "warehouse" / "reports" / "coast").exists()
    assert published(Warehouse(), "coast") is not None
    if engine == "llm":
        paid = len(endpoint.requests)
        run_job("coast")
        assert len(endpoint.requests) == paid


def test_previews_stay_until_the_history_is_deleted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_corpus(home / "corpora")
    (folder / "dossier.txt").write_text("Quorvax Zentholm founded the Blimmerwick Foundry.", encoding="utf-8")
    monkeypatch.setenv(PREVIEWS, "true")
    run_job("coast")
    with instance() as records:
        observed = records.fetch_observations(asset_key(tables.DOCUMENTS), limit=1).records
    (seen,) = (record.asset_observation for record in observed)
    assert seen is not None
    rows = seen.metadata["preview"].value
    assert 0 < len(rows) <= 5
    (folder / "dossier.txt").unlink()
    run_job("coast")
    assert {path.split("/")[0] for path in traces(home)} == {".dagster_home"}
    purge()
    assert traces(home) == {}


@pytest.mark.long
def test_an_edited_document_leaves_no_byte_of_what_was_edited_out(enter: Enter) -> None:
    home = enter("extractive")
    (home / "corpora/coast/secret/dossier.txt").rename(home / "corpora/coast/secret/open.txt")
    (home / "corpora/coast/secret/open.txt").write_text("Selma Dray met Hanna Quill in Port Ellery.")
    run_job("coast")
    assert traces(home) == {}


@pytest.mark.long
def test_what_was_said_of_a_removed_document_leaves_no_byte(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    front = "---\nOstrellin keeper: Zentholm\ndate: 1871-05-04\n---\n"
    (folder / "said.md").write_text(f"{front}Selma Dray met Hanna Quill.")
    run_job("coast")
    warehouse = Warehouse()
    assert warehouse.read(tables.DOCUMENT_METADATA, "coast")["text"].to_list() == ["Zentholm"]
    assert "1871-05-04" in warehouse.read(tables.DOCUMENT_PERIODS, "coast")["words"]
    (folder / "said.md").unlink()
    run_job("coast")
    assert traces(home) == {}
    assert warehouse.read(tables.DOCUMENT_METADATA, "coast").is_empty()
    assert "1871-05-04" not in warehouse.read(tables.DOCUMENT_PERIODS, "coast")["words"]


def test_names_of_a_decision_that_was_taken_back_leave_no_byte(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    file = folder / "decisions.jsonl"
    plain = Decision(verdict="different", names=["Hanna Quill", "Orrin Vask"], id="d1")
    # Two of a document that has gone since, and one that no name is any more.
    gone = Decision(verdict="same", names=["Quorvax Zentholm", "Zentholm of Ostrellin"], id="d2")
    third = Decision(verdict="same", names=["Hanna Quill", "Quill of Blimmerwick"], id="d3")
    file.write_text(decisions_text([plain, gone, third]), encoding="utf-8")
    run_job("coast")
    standing = published(Warehouse(), "coast")
    assert standing is not None
    assert any(path.startswith("warehouse/published/") for path in traces(home))
    # While the decision stands, what it says is kept, whatever else changes.
    (folder / "more.txt").write_text("Piet Lund met Hanna Quill in Port Ellery.", encoding="utf-8")
    run_job("coast")
    assert standing.file.exists()
    # Taken back, what no text has goes; a decision on names that are there costs no snapshot.
    file.write_text(decisions_text([plain]), encoding="utf-8")
    run_job("coast")
    kept = published(Warehouse(), "coast")
    assert traces(home) == {}
    assert not standing.file.exists()
    file.unlink()
    run_job("coast")
    assert kept is not None
    assert kept.file.exists()


@pytest.mark.long
def test_the_last_documents_leave_no_byte(enter: Enter) -> None:
    home = enter("llm")
    for folder in ("secret", "news", "institute"):
        shutil.rmtree(home / "corpora" / "coast" / folder)
    run_job("coast", resources={"corpora": {"accept_removals": True}})
    assert traces(home) == {}
    for table in (tables.DOCUMENTS, tables.ENTITIES, tables.COMMUNITY_REPORTS, tables.ENTITY_EMBEDDINGS):
        assert Warehouse().read(table, "coast").height == 0
    run_job("coast")


def test_a_corpus_that_never_had_documents_stays_an_error(home: Path) -> None:
    (home / "corpora" / "empty").mkdir()
    for _ in range(2):
        with pytest.raises(CorpusError, match="contains no files"):
            run_job("empty")


@pytest.mark.long
def test_nothing_is_erased_and_older_snapshots_stay_while_nothing_is_gone(enter: Enter) -> None:
    home = enter("extractive")
    (home / "corpora/coast/secret/dossier.txt").rename(home / "corpora/coast/dossier.txt")
    (home / "corpora/coast/more.txt").write_text("Piet Lund met Hanna Quill in Port Ellery.")
    made = results()
    before = published(Warehouse(), "coast")
    run_job("coast")
    assert erase(Warehouse(), "coast", LLMCache().database()) is None
    assert results() == made
    assert (home / "warehouse" / "reports" / "coast").exists()
    assert not note_file(Warehouse(), "coast").exists()
    now = published(Warehouse(), "coast")
    assert before is not None
    assert now is not None
    assert now.version != before.version
    assert before.file.exists()


@pytest.mark.long
def test_documents_that_no_snapshot_has_are_known_to_be_gone(enter: Enter) -> None:
    home = enter("extractive")
    shutil.rmtree(home / "warehouse" / "published")
    shutil.rmtree(home / "corpora" / "coast" / "secret")
    index_unpublished()
    assert note_file(Warehouse(), "coast").exists()
    assert len(deleted_documents(Warehouse(), "coast")) == 1
    erase_and_publish()
    assert not note_file(Warehouse(), "coast").exists()
    assert not traces(home / "warehouse")
    assert deleted_documents(Warehouse(), "coast") == set()


def _step(home: Path, code: str) -> subprocess.Popen[bytes]:
    paths = [str(Path(__file__).parents[2]), str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-c", f"from support.gone import *\n{code}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kill_when(process: subprocess.Popen[bytes], moment: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Kill a process at a moment; gives whether it was still running then."""
    until = time.monotonic() + seconds
    while process.poll() is None and not moment() and time.monotonic() < until:
        time.sleep(0.0005)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


@pytest.mark.long
def test_a_run_killed_once_the_documents_are_replaced_is_completed_by_the_next(enter: Enter) -> None:
    home = enter("llm")
    shutil.rmtree(home / "corpora" / "coast" / "secret")
    note = note_file(Warehouse(), "coast")
    _kill_when(
        _step(home, "from graphrag_dagster.cli.job_runner import run_job\nrun_job('coast')"), note.exists
    )
    assert note.exists()
    assert traces(home / "warehouse")
    run_job("coast")
    assert traces(home) == {}


@pytest.mark.long
def test_erasing_killed_at_any_moment_is_completed_by_the_next(enter: Enter) -> None:
    home = enter("llm")
    shutil.rmtree(home / "corpora" / "coast" / "secret")
    index_unpublished()
    wanted = {
        one: Warehouse().read(one, "coast") for one in (tables.DOCUMENTS, tables.ENTITIES, tables.CLAIMS)
    }
    warehouse, reports = home / "warehouse", home / "warehouse" / "reports" / "coast"
    older = set((warehouse / "published" / "coast").glob("*.duckdb"))
    moments: list[Callable[[], bool]] = [
        lambda: not results_in(warehouse / "coast.duckdb", older),
        (warehouse / ".coast.duckdb.compacting").exists,
        lambda: not reports.exists(),
        lambda: not all(one.exists() for one in older),
    ]
    killed, indexed = 0, (warehouse / "coast.duckdb").read_bytes()
    for moment in moments:
        killed += _kill_when(_step(home, "erase_and_publish()"), moment)
        put_back_if_torn(warehouse / "coast.duckdb", indexed)
        for table, frame in wanted.items():
            assert Warehouse().read(table, "coast").equals(frame)
    assert killed >= 2
    erase_and_publish()
    assert traces(home) == {}
    assert sorted(one.name for one in warehouse.iterdir()) == ["coast.duckdb", "published", "reports"]


def results_in(file: Path, older: set[Path]) -> bool:
    """Whether the work on the file has not begun: its log is written when tables are dropped."""
    return not file.with_name(file.name + ".wal").exists() and all(one.exists() for one in older)
