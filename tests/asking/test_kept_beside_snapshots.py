"""What the first question makes is kept beside the snapshot, for whoever asks later, and goes with it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster import Filters, Index, tables
from graphrag_dagster.core.search.retrieval.postings import Postings
from graphrag_dagster.core.search.retrieval.rarity import WordRarity
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.resources.published import Origin, folder_of, publish
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings

QUESTION = "Who led the Dockers Union?"
#: What asking in a way that needs none of it is not to import.
UNNEEDED = ("dagster", "scipy", "bm25s", "spacy", "openai", "requests", "sqlglot", "matplotlib", "sklearn")


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
    monkeypatch.setattr(Postings, "write", None)
    monkeypatch.setattr(WordRarity, "write", None)
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
    publish(warehouse, "coast", Origin(CorpusSettings(publishing={"keep": 1})))
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
@pytest.mark.parametrize("way", ["local", "basic", "global"])
def test_asking_imports_what_its_way_needs(way: str) -> None:
    asked()
    code = (
        "import sys, json\n"
        "from graphrag_dagster.cli.app import app\n"
        f"app(['ask', 'coast', {QUESTION!r}, '--method', {way!r}], standalone_mode=False)\n"
        f"print(json.dumps([name for name in {UNNEEDED!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []
