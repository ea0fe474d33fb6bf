from pathlib import Path

import pytest

from fuzz import harness
from fuzz.asking import subject_of
from fuzz.harness import assail


@pytest.mark.long
def test_no_question_name_or_query_ends_in_a_traceback(
    tmp_path: Path, indexed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first question of a process loads what answers.
    monkeypatch.setattr(harness, "SECONDS", 60.0)
    tally = assail(subject_of(indexed_home), seed=1, count=45, folder=tmp_path)
    assert not tally.defects
    assert tally.verdicts["answered"] > 2
    assert tally.verdicts["refused"] > 10
