"""An index whose folder has lost its files is refused, and what was published stays."""

import shutil
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.documents.documents import read_corpus
from graphrag_dagster.kernel.pipeline.corpus_changes import check_before_index
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import SnapshotProvenance, publish, published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import DOCUMENTS, FILES
from graphrag_dagster.resources.dagster_instance import instance
from graphrag_dagster.resources.run_history import runs_of
from support.commands import Run


@pytest.fixture
def folder(home: Path) -> Path:
    """A corpus of ten files, published as it is."""
    folder = home / "corpora" / "coast"
    folder.mkdir()
    for number in range(10):
        (folder / f"{number}.txt").write_text(f"Hanna Quill saw ship {number}.", encoding="utf-8")
    contents = read_corpus(CorpusStore(), "coast")
    warehouse = Warehouse()
    warehouse.write_all("coast", {FILES: contents.files, DOCUMENTS: contents.documents})
    publish(warehouse, "coast", SnapshotProvenance())
    return folder


def _all_but(left: int) -> Callable[[Path], object]:
    return lambda folder: [file.unlink() for file in sorted(folder.iterdir())[left:]]


def _replaced(folder: Path) -> None:
    _all_but(0)(folder)
    for number in range(10):
        (folder / f"new {number}.txt").write_text(f"Otto Lind saw whale {number}.", encoding="utf-8")


def _renamed(folder: Path) -> None:
    inner = folder / "2024"
    inner.mkdir()
    for file in folder.glob("*.txt"):
        file.rename(inner / file.name)


@pytest.mark.parametrize("change", [_all_but(0), _all_but(1), _all_but(2)])
def test_a_folder_without_nearly_all_its_files_is_refused(
    folder: Path, change: Callable[[Path], object]
) -> None:
    before = published(Warehouse(), "coast")
    change(folder)
    with pytest.raises(CorpusError, match=r"of the 10 files .* --accept-removals"):
        check_before_index(CorpusStore(), Warehouse(), "coast")
    check_before_index(CorpusStore(accept_removals=True), Warehouse(), "coast")
    assert published(Warehouse(), "coast") == before


@pytest.mark.parametrize("change", [_all_but(3), _all_but(10), _replaced, _renamed])
def test_a_folder_that_was_worked_on_is_not_refused(folder: Path, change: Callable[[Path], object]) -> None:
    change(folder)
    check_before_index(CorpusStore(), Warehouse(), "coast")


def test_nothing_is_refused_where_nothing_is_published(home: Path) -> None:
    (home / "corpora" / "coast").mkdir()
    check_before_index(CorpusStore(), Warehouse(), "coast")


def test_a_run_of_dagster_is_refused_too_and_publishes_nothing(folder: Path, run: Run) -> None:
    before = published(Warehouse(), "coast")
    _all_but(0)(folder)
    with pytest.raises(CorpusError, match="accept_removals: true"):
        run_job("coast")
    assert published(Warehouse(), "coast") == before
    assert len(Warehouse().read(DOCUMENTS, "coast")) == 10
    code, _, err = run("index", "coast")
    assert (code, "10 of the 10 files" in err) == (1, True)
    with instance() as records:
        (failed,) = runs_of(records, "coast")
        assert failed.status is dg.DagsterRunStatus.FAILURE


def test_a_folder_that_is_gone_is_told_and_what_was_published_stays(folder: Path, run: Run) -> None:
    before = published(Warehouse(), "coast")
    shutil.rmtree(folder)
    code, _, err = run("index", "coast")
    assert code == 1
    assert "the folder of corpus 'coast' is gone" in err
    code, _, err = run("init", "coast")
    assert code == 1
    assert "graphrag-dagster delete coast" in err
    assert published(Warehouse(), "coast") == before
    assert run("delete", "coast", "--yes")[0] == 0
    assert run("init", "coast")[0] == 0


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"corpus.yaml": "engine: nonsense\n", "a.txt": "Hanna Quill."}, "engine is 'nonsense'"),
        ({}, "contains no files"),
        ({"a.txt": ""}, "a.txt"),
    ],
)
def test_a_folder_whose_first_index_fails_at_once_is_no_corpus(
    files: dict[str, str], why: str, home: Path, tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "my notes"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    code, _, err = run("index", str(folder))
    assert code == 1
    assert why in err
    assert CorpusStore().names() == []
    assert not Warehouse().file("my-notes").exists()
    assert folder.is_dir()
