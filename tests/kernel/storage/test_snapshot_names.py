"""A snapshot is what its name says, in its folder: no other file is opened as one."""

import json
from pathlib import Path

import pytest

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.published.snapshot_manifest import FORMAT, snapshot_at

MANIFEST = {
    "format": FORMAT,
    "corpus": "coast",
    "index": "1",
    "published": "2026-01-01T00:00:00",
    "counts": {"graph.entities": 3},
    "hash": "x",
}
VERSION = "0123456789abcdef"


def written(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(MANIFEST))
    (folder / f"{name}.duckdb").write_bytes(b"")
    return folder


def test_a_snapshot_is_read_by_its_version(tmp_path: Path) -> None:
    found = snapshot_at(written(tmp_path / "coast", VERSION), VERSION, "coast")
    assert found is not None
    assert (found.version, found.index, found.file) == (
        VERSION,
        "1",
        tmp_path / "coast" / f"{VERSION}.duckdb",
    )
    assert (found.rows("graph.entities"), found.rows("graph.claims")) == (3, 0)


@pytest.mark.parametrize(
    "name", ["../other/0123456789abcdef", "current", VERSION.upper(), VERSION[:-1], VERSION + "0"]
)
def test_a_file_of_another_name_is_none(tmp_path: Path, name: str) -> None:
    written(tmp_path / "other", VERSION)
    (tmp_path / "coast").mkdir()
    if "/" not in name:
        written(tmp_path / "coast", name)
    assert (tmp_path / "coast" / f"{name}.duckdb").is_file()
    assert snapshot_at(tmp_path / "coast", name, "coast") is None


def test_half_of_a_snapshot_is_none(tmp_path: Path) -> None:
    folder = written(tmp_path / "coast", VERSION)
    (folder / f"{VERSION}.duckdb").unlink()
    assert snapshot_at(folder, VERSION, "coast") is None
    (folder / f"{VERSION}.json").unlink()
    assert snapshot_at(folder, VERSION, "coast") is None


@pytest.mark.parametrize("lost", sorted(MANIFEST))
def test_a_manifest_that_lacks_something_is_damaged(tmp_path: Path, lost: str) -> None:
    folder = written(tmp_path / "coast", VERSION)
    rest = {key: value for key, value in MANIFEST.items() if key != lost}
    (folder / f"{VERSION}.json").write_text(json.dumps(rest))
    with pytest.raises(WarehouseError, match="damaged"):
        snapshot_at(folder, VERSION, "coast")
