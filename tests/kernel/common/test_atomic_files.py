"""A file is replaced whole or not at all."""

import os
from pathlib import Path

import pytest

from graphrag_dagster.kernel.common.atomic_files import write_durably


def test_what_cannot_be_put_in_its_place_leaves_what_was_there_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "a.txt"
    write_durably(place, "first")
    write_durably(place, "second")
    assert place.read_text(encoding="utf-8") == "second"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_durably(place, "third")
    assert place.read_text(encoding="utf-8") == "second"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="other systems open no folder")
def test_what_is_written_durably_is_on_the_disk_before_its_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, bool]] = []

    def noted(handle: int) -> None:
        found = os.fstat(handle)
        folder = (found.st_dev, found.st_ino) == (tmp_path.stat().st_dev, tmp_path.stat().st_ino)
        synced.append((folder, (tmp_path / "a.txt").exists()))

    monkeypatch.setattr(os, "fsync", noted)
    write_durably(tmp_path / "a.txt", "text")
    # First the file, then the folder that names it.
    assert synced == [(False, False), (True, True)]
