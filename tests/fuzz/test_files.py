"""A small part of the damaged documents and bombs; ``benchmarks/fuzz.py`` puts all of them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from fuzz import bombs, documents, harness
from fuzz.harness import Subject, assail

_BOMBS = (
    "1,000 equal columns",
    "50,000 columns",
    "20,000 open <div>",
    "parquet of three million rows",
    "docx of 20,000 titles",
    "docx of 70 megabytes",
    "deep json",
    "front matter of a bad time",
    "a list that starts late",
    "strings that end nowhere",
    "mail of deep parts",
    "a pipe",
    "a loop of folders",
    "odd names",
)


def _chosen(_: Random, count: int) -> Iterator[tuple[str, str]]:
    yield from ((name, name) for name in _BOMBS[:count])


@pytest.mark.parametrize(
    ("subject", "count"),
    [
        pytest.param(documents.SUBJECT, 40, id="documents"),
        pytest.param(replace(bombs.SUBJECT, cases=_chosen), len(_BOMBS), id="bombs", marks=pytest.mark.long),
    ],
)
def test_one_file_never_stops_a_corpus(
    subject: Subject, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How fast this machine is at the moment is not what the suite asks.
    monkeypatch.setattr(harness, "SECONDS", 60.0)
    tally = assail(subject, seed=1, count=count, folder=tmp_path)
    assert tally.defects == []
    assert tally.verdicts.total() == count
