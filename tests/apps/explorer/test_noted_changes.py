"""What an index changed is told also where a document was edited, and nothing of what it said before."""

import json
from pathlib import Path

import pytest

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import MissingError


def _noted(home: Path) -> list[Path]:
    return sorted((home / "warehouse" / "published" / "coast" / "changes").glob("*.json"))


def test_an_edited_document_is_a_change_of_which_only_what_stays_is_told(coast: Path) -> None:
    home, seen = coast.parents[1], Explorer("coast")
    first = seen.overview()
    with pytest.raises(MissingError):
        seen.changes()
    edited = [path for path in coast.rglob("*.*") if b"Hanna Quill" in path.read_bytes()]
    for path in edited:
        text = path.read_text("utf-8").replace("Hanna Quill", "Zelda Marrow").replace("Quill", "Marrow")
        path.write_text(text, "utf-8")
    run_job("coast")

    assert len(seen.snapshots()) == 1, "the one that held the document as it was is gone"
    found = seen.changes()
    assert found.before.version == first.version
    assert seen.changes(before=first.version, after=found.after.version) == found
    assert "Zelda Marrow" in [one.title for one in found.entities.came]
    assert found.documents.changed_total == len(edited) > 0
    assert (found.entities.went_total, found.entities.went) == (1, [])
    assert not [one for one in found.entities.changed if any("→" in what for what in one.what)]
    (note,) = _noted(home)
    assert "Quill" not in note.read_text("utf-8")

    with pytest.raises(MissingError):
        seen.changes(before="0" * 16)
    note.write_text(json.dumps({"of": "another version"}), "utf-8")
    with pytest.raises(MissingError):
        seen.changes()


@pytest.mark.long
def test_what_was_noted_goes_with_its_snapshot(coast: Path) -> None:
    home = coast.parents[1]
    path = next(iter(sorted(coast.rglob("*.md"))))
    for end in ("\nOrrin Vask left.\n", "\nOrrin Vask came back.\n"):
        path.write_text(path.read_text("utf-8") + end, "utf-8")
        run_job("coast")
    (note,) = _noted(home)
    assert json.loads(note.read_text("utf-8"))["after"]["version"] == Explorer("coast").overview().version
