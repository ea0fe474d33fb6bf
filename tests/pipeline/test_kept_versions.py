"""Versions that outlive a change of the code, and versions that libraries change."""

import json
import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

import graphrag_dagster
from graphrag_dagster import tables
from graphrag_dagster.assets import ASSETS
from graphrag_dagster.assets.evaluating.answers import options_code
from graphrag_dagster.assets.evaluating.paths import path_options_code
from graphrag_dagster.core.files.own_folders import write_whole
from graphrag_dagster.orchestration.code_versions import remembered, versions
from graphrag_dagster.orchestration.code_versions.closure import Sources
from graphrag_dagster.orchestration.code_versions.remembered import Remembered
from graphrag_dagster.orchestration.code_versions.versions import KEPT, CodeVersions, Kept, subjects

READERS = {"pypdfium2": "5.0", "tiktoken": "0.8"}
EARLIER = Kept({"pypdfium2": "5.0", "tiktoken": "0.8"}, {"corpus/files": ("new", "published")})
PACKAGE = Path(graphrag_dagster.__file__).parent
ROOT = "graphrag_dagster.core.ids:stable_id"


def test_a_version_is_kept_as_long_as_the_code_is_what_gave_the_same() -> None:
    assert EARLIER.version("corpus/files", "new", READERS) == "published"
    assert EARLIER.version("graph/entities", "new", {}) == "new"
    assert EARLIER.version("corpus/files", "newer", {}) == "newer"


def test_another_library_is_another_version() -> None:
    other = {**READERS, "tiktoken": "0.9"}
    told = [
        kept.version("corpus/files", "new", which) for kept in (EARLIER, Kept()) for which in (READERS, other)
    ]
    published, newer, unkept, unkept_newer = told
    assert published == "published"
    assert newer == unkept_newer
    assert len({published, newer, unkept}) == 3


def test_what_is_kept_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    assert Kept.at(file) == Kept()
    file.write_text(EARLIER.text(), encoding="utf-8")
    assert Kept.at(file) == EARLIER


def test_what_the_package_keeps_is_of_what_it_makes() -> None:
    options_code()
    path_options_code()
    assert ASSETS
    assert Kept.at(KEPT).versions.keys() <= subjects().keys()


def test_the_libraries_of_a_stage_are_in_the_versions_of_its_assets_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told() -> dict[str, str]:
        versions._installed.cache_clear()
        every = list(subjects().values())
        return {
            one.name: versions.code_version(one.name, *one.roots, stage=one.stage, also=one.also)
            for one in every
        }

    before = told()
    installed = metadata.version
    monkeypatch.setattr(
        versions,
        "version",
        lambda name: "999" if name in {"graspologic-native", "spacy"} else installed(name),
    )
    now = told()
    versions._installed.cache_clear()
    # Who extracts with spaCy, is a corpus's choice: the manifest compares it.
    clustered = {table for table in tables.ALL_TABLES if table.group in {"communities", "coterag"}}
    assert {name for name in before if before[name] != now[name]} == {
        "/".join(table.asset_key) for table in clustered if not table.sql
    }


def test_what_was_found_is_remembered_until_a_source_changes(tmp_path: Path) -> None:
    package, memory = tmp_path / "graphrag_dagster", tmp_path / "memory"
    (package / "core").mkdir(parents=True)
    source = package / "core" / "ids.py"
    source.write_text("def stable_id(part): return part", encoding="utf-8")

    def version() -> str:
        return CodeVersions(Sources(package), {}, [memory]).version([ROOT])

    first = version()
    [file] = memory.iterdir()
    write_whole(file, file.read_bytes().replace(first.encode(), b"remembered"))
    assert version() == "remembered"
    source.write_text("def stable_id(part): return [part]", encoding="utf-8")
    assert version() not in {first, "remembered"}
    write_whole(file, b"{")
    assert version() not in {first, "remembered"}


def test_where_nothing_can_be_remembered_versions_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    plain = CodeVersions(Sources(PACKAGE), {}).version([ROOT])
    assert CodeVersions(Sources(PACKAGE), {}, [tmp_path / "file" / "folder"]).version([ROOT]) == plain


def test_the_versions_of_assets_hold_for_the_libraries_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def told() -> Mapping[str, tuple[str, str]]:
        def make() -> dict[str, tuple[str, str]]:
            made.append(1)
            return {"graph/entities": (f"version {len(made)}", "graph")}

        return CodeVersions(Sources(PACKAGE), {}, [tmp_path]).of_assets(make)

    assert told() == told() == {"graph/entities": ("version 1", "graph")}
    installed = metadata.version
    monkeypatch.setattr(
        versions, "version", lambda name: "999" if name == "graspologic-native" else installed(name)
    )
    versions._installed.cache_clear()
    assert told() == {"graph/entities": ("version 2", "graph")}
    monkeypatch.undo()
    versions._installed.cache_clear()
    assert told() == {"graph/entities": ("version 1", "graph")}


def test_a_file_that_was_only_touched_changes_nothing(tmp_path: Path) -> None:
    package, folder = tmp_path / "package", tmp_path / "memory"
    package.mkdir()
    source = package / "one.py"
    source.write_text("one = 1", encoding="utf-8")
    Remembered(package, [folder]).keep("versions", {"one": "first"})
    os.utime(source, (1, 1))
    assert Remembered(package, [folder]).group("versions") == {"one": "first"}
    source.write_text("one = 2", encoding="utf-8")
    os.utime(source, (1, 1))
    assert Remembered(package, [folder]).group("versions") == {}


def test_files_that_are_as_they_were_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, folder = tmp_path / "package", tmp_path / "memory"
    package.mkdir()
    (package / "one.py").write_text("one = 1", encoding="utf-8")
    # As if the package had been there for long.
    monkeypatch.setattr(remembered, "_SETTLED", -60_000_000_000)
    Remembered(package, [folder]).keep("versions", {"one": "first"})
    [file] = folder.iterdir()
    write_whole(file, json.dumps({**json.loads(file.read_bytes()), "of": "another content"}).encode())
    assert Remembered(package, [folder]).group("versions") == {"one": "first"}
    monkeypatch.undo()
    assert Remembered(package, [folder]).group("versions") == {}
