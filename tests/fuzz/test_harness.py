"""The harness itself finds each kind of defect."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from fuzz import harness
from fuzz.harness import Subject, assail


def _cases(_: Random, count: int) -> Iterator[tuple[str, str]]:
    yield from [(kind, kind) for kind in ("good", "raises", "sleeps", "writes", "eats", "good")][:count]


def attack(kind: str, home: Path) -> str:
    if kind == "raises":
        raise RuntimeError("no")
    if kind == "sleeps":
        time.sleep(600)
    if kind == "writes":
        (home.parent / "outside.txt").write_text("x")
    if kind == "eats":
        bytearray(b"x") * 200_000_000
    (home / "inside.txt").write_text("x")
    return "borne"


@pytest.mark.long
def test_every_kind_of_defect_is_found_and_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(harness, "SECONDS", 3.0)
    monkeypatch.setattr(harness, "BYTES", 100_000_000)
    tally = assail(Subject("all kinds", _cases, attack), seed=1, count=6, folder=tmp_path)
    assert tally.verdicts == {"borne": 2}
    assert {(defect.label, defect.kind) for defect in tally.defects} >= {
        ("raises", "traceback"),
        ("sleeps", "hang"),
        ("writes", "outside"),
        ("eats", "memory"),
    }
