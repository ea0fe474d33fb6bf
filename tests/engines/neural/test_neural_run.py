"""The engine in a corpus: index, take over what is unchanged, doctor."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from graphrag_dagster.engines.neural.neural_extractor import NeuralGraphExtractor
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES, GLEANED_RELATIONSHIPS
from support.commands import Run
from support.neural_checkpoints import LABELS, TAUGHT

INSTALLED = bool(importlib.util.find_spec("gliner"))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="an optional extra")


def write(folder: Path, gliner: Path, rebel: Path, **more: object) -> None:
    extraction = {
        "engine": "gliner-rebel",
        "gliner": {"model": str(gliner), "labels": list(LABELS)},
        "rebel": {"model": str(rebel), "batch": 2},
        **more,
    }
    # JSON is YAML.
    (folder / "corpus.yaml").write_text(json.dumps({"extraction": extraction}), encoding="utf-8")


@pytest.fixture
def folder(home: Path) -> Path:
    own = home / "corpora" / "trials"
    own.mkdir(parents=True)
    for number, text in enumerate(TAUGHT):
        (own / f"{number}.txt").write_text(text, encoding="utf-8")
    return own


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the units that were extracted."""
    texts: list[str] = []
    extract = NeuralGraphExtractor.extract

    def noting(self, units):  # type: ignore[no-untyped-def]
        texts.extend(unit.text for unit in units)
        return extract(self, units)

    monkeypatch.setattr(NeuralGraphExtractor, "extract", noting)
    return texts


def read(table: Table) -> list[dict[str, object]]:
    return Warehouse().read(table, "trials").to_dicts()


@needs_extra
def test_an_index_has_the_triples_and_extracts_only_what_is_new(
    folder: Path, gliner: Path, rebel: Path, run: Run, asked: list[str], tmp_path: Path
) -> None:
    first_texts, last = list(TAUGHT)[:-1], list(TAUGHT)[-1]
    (folder / "4.txt").unlink()
    write(folder, gliner, rebel)
    assert run("index", "trials")[0] == 0
    assert sorted(asked) == sorted(first_texts)
    found = {(row["source"], row["relation"], row["target"]) for row in read(GLEANED_RELATIONSHIPS)}
    assert found == {
        ("REMDESIVIR", "treats", "FEVER"),
        ("SARS-COV-2", "has_cause", "PNEUMONIA"),
        ("SARS-COV-2", "location", "WUHAN"),
    }
    ledger = read(tables.UNIT_LEDGER)
    assert {row["engine"] for row in ledger} == {"gliner-rebel"}
    assert sum(int(str(row["quarantined"])) for row in ledger) == 1
    before = [read(one) for one in (GLEANED_ENTITIES, GLEANED_RELATIONSHIPS)]

    asked.clear()
    assert run("index", "trials")[0] == 0
    assert asked == []

    (folder / "4.txt").write_text(last, encoding="utf-8")
    assert run("index", "trials")[0] == 0
    assert asked == [last]
    (folder / "4.txt").unlink()
    assert run("index", "trials")[0] == 0
    assert before == [read(one) for one in (GLEANED_ENTITIES, GLEANED_RELATIONSHIPS)]

    asked.clear()
    other = shutil.copytree(gliner, tmp_path / gliner.name)
    config = json.loads((other / "gliner_config.json").read_text())
    (other / "gliner_config.json").write_text(json.dumps(config | {"max_len": 20}))
    write(folder, other, rebel)
    assert run("index", "trials")[0] == 0
    assert sorted(asked) == sorted(first_texts)


@needs_extra
def test_other_files_in_the_same_folder_are_another_model(
    folder: Path, gliner: Path, rebel: Path, run: Run, asked: list[str], tmp_path: Path
) -> None:
    own = shutil.copytree(rebel, tmp_path / "rebel")
    write(folder, gliner, own)
    assert run("index", "trials")[0] == 0
    asked.clear()
    config = json.loads((own / "config.json").read_text())
    (own / "config.json").write_text(json.dumps(config | {"scale_embedding": True}))
    _, out, _ = run("status", "trials")
    assert "extraction.rebel.model" in out
    assert run("index", "trials")[0] == 0
    assert len(asked) == len(TAUGHT)


@needs_extra
def test_doctor_says_whether_the_models_load(
    folder: Path, gliner: Path, rebel: Path, run: Run, tmp_path: Path
) -> None:
    write(folder, gliner, rebel)
    code, out, _ = run("doctor", "trials", "--json")
    told = json.loads(out)
    assert (code, told["verdict"]) == (0, "ready")
    assert [one["probe"] for one in told["findings"] if one["verdict"] == "works"][-2:] == [
        "entity model",
        "relation model",
    ]
    write(folder, tmp_path / "nowhere", rebel)
    code, out, _ = run("doctor", "trials", "--json")
    assert (code, json.loads(out)["verdict"]) == (1, "unusable")
    assert "is no folder; give the absolute path" in out
    code, _, errors = run("index", "trials")
    assert code == 1
    assert "is no folder; give the absolute path" in errors
    assert "extraction.gliner.model" in errors


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_without_the_extra_index_and_doctor_say_what_to_install(folder: Path, run: Run) -> None:
    write(folder, Path("/models/gliner"), Path("/models/rebel"))
    told = 'pip install "graphrag-dagster[scientific]"'
    code, out, errors = run("index", "trials")
    assert code == 1
    assert told in " ".join((out + errors).split())
    code, out, _ = run("doctor", "trials", "--json")
    assert code == 1
    assert all(told in one["found"] for one in json.loads(out)["findings"])
    assert [one["probe"] for one in json.loads(out)["findings"]] == ["entity model", "relation model"]
