"""What the first question makes is kept beside the snapshot, for whoever asks later, and goes with it."""

import json
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.questions.snapshot_opening import prepare
from graphrag_dagster.kernel.retrieval.lexical_index import WordRarity
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage import index_cache as kept_files
from graphrag_dagster.kernel.storage.published import SnapshotProvenance, folder_of, publish
from graphrag_dagster.kernel.storage.published import snapshot_manifest as manifest
from graphrag_dagster.kernel.storage.warehouse import Warehouse

QUESTION = "Who led the Dockers Union?"
#: What asking by a method that needs none of it is not to import.
UNNEEDED = (
    "dagster",
    "scipy",
    "bm25s",
    "spacy",
    "openai",
    "requests",
    "sqlglot",
    "matplotlib",
    "sklearn",
    "pandas",
    "graphrag_dagster.apps.explorer.explorer",
    "graphrag_dagster.kernel.models.chat.reply_schemas",
)


def asked(**more: Any) -> dict[str, Any]:
    told = Index.open("coast").ask(QUESTION, method="local", **more).to_dict()
    del told["seconds"]
    return told


def kept() -> list[str]:
    folder = folder_of(Warehouse(), "coast") / "searched"
    return sorted(place.name for place in folder.glob("[!.]*")) if folder.is_dir() else []


@pytest.mark.usefixtures("coast")
def test_later_questions_take_what_the_first_made(monkeypatch: pytest.MonkeyPatch) -> None:
    first = asked()
    made = kept()
    assert {name.partition("-")[2][:5] for name in made} >= {"units", "entit", "rarit"}
    monkeypatch.setattr(kept_files, "write_cached", None)
    monkeypatch.setattr(WordRarity, "of_texts", None)
    assert asked() == first
    assert kept() == made


def test_it_is_made_in_memory_where_nothing_can_be_written(coast: Path) -> None:
    first = asked()
    folder = folder_of(Warehouse(), "coast") / "searched"
    shutil.rmtree(folder)
    folder.write_text("no folder", encoding="utf-8")
    assert asked() == first
    assert folder.is_file()


@pytest.mark.usefixtures("coast")
def test_a_restricted_question_takes_nothing_of_the_whole() -> None:
    restricted = asked(filters=Filters(folders=("news",)))
    asked()
    assert asked(filters=Filters(folders=("news",))) == restricted


@pytest.mark.usefixtures("coast")
def test_it_goes_with_its_snapshot() -> None:
    asked()
    before = kept()
    warehouse = Warehouse()
    chunks = warehouse.read(tables.TEXT_CHUNKS, "coast")
    warehouse.write(tables.TEXT_CHUNKS, "coast", chunks.head(len(chunks) - 1))
    publish(warehouse, "coast", SnapshotProvenance(CorpusSettings(publishing={"keep": 1})))
    assert kept() == []
    asked()
    assert kept()
    assert not set(kept()) & set(before)


@pytest.mark.usefixtures("coast")
def test_a_damaged_file_is_named() -> None:
    asked()
    folder = folder_of(Warehouse(), "coast") / "searched"
    (file,) = folder.glob("*-units*/scores.npy")
    file.write_bytes(b"no array")
    with pytest.raises(WarehouseError, match="units.* cannot be read .*; delete it"):
        asked()


@pytest.mark.usefixtures("coast")
@pytest.mark.parametrize("method", ["local", "basic", "global"])
def test_asking_imports_what_its_method_needs(method: str) -> None:
    asked()
    code = (
        "import sys, json\n"
        "from graphrag_dagster.cli.app import app\n"
        f"app(['ask', 'coast', {QUESTION!r}, '--method', {method!r}], standalone_mode=False)\n"
        f"print(json.dumps([name for name in {UNNEEDED!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is published is large, and every file is mapped."""
    monkeypatch.setattr(manifest, "LARGE_FROM", 0)
    monkeypatch.setattr(kept_files, "_MAPPED_FROM", 0)


def everything_told() -> list[dict[str, Any]]:
    index = Index.open("coast")
    told = [
        index.ask(question, method=method).to_dict()
        for question in (QUESTION, "What does Hana Quil say of the harbor in “strike”?", "What is it about?")
        for method in ("local", "basic", "global", "drift", "graph", "auto")
    ]
    return [{name: value for name, value in one.items() if name != "seconds"} for one in told]


@pytest.mark.usefixtures("coast")
def test_a_large_index_is_answered_from_files_as_from_memory(request: pytest.FixtureRequest) -> None:
    first = everything_told()
    request.getfixturevalue("large")
    in_memory = Index.open("coast").searcher.index
    assert any("-frames" in name for name in kept())
    for one in fields(in_memory):
        frame = getattr(Index.open("coast").searcher.index, one.name)
        if isinstance(frame, pl.DataFrame):
            assert frame.equals(getattr(in_memory, one.name))
    assert everything_told() == first
    assert everything_told() == first


@pytest.mark.usefixtures("coast", "large")
def test_what_questions_need_of_a_large_index_is_there_before_the_first() -> None:
    prepare(Warehouse(), "coast")
    made = kept()
    asked()
    assert kept() == made


@pytest.mark.usefixtures("coast", "large")
@pytest.mark.parametrize("damaged", ["*-frames*/entities.arrow", "*-names*/index/spelled/values.npy"])
def test_a_damaged_file_of_a_large_index_is_named(damaged: str) -> None:
    asked()
    (file,) = (folder_of(Warehouse(), "coast") / "searched").glob(damaged)
    file.write_bytes(b"nothing of use")
    with pytest.raises(WarehouseError, match="cannot be read .*; delete it"):
        asked()


@pytest.mark.usefixtures("coast", "large")
@pytest.mark.parametrize(
    "missing",
    [
        "*-names*/index/spelled/values.npy",
        "*-document_names*/titles/places/begins.npy",
        "*-frames*/entity_vectors.arrow",
    ],
)
def test_what_a_file_is_missing_of_is_made_again(missing: str) -> None:
    first = asked()
    (file,) = (folder_of(Warehouse(), "coast") / "searched").glob(missing)
    file.unlink()
    assert asked() == first
