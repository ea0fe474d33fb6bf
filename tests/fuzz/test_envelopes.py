"""A part of the hostile answers; ``benchmarks/fuzz.py`` puts all of them."""

from pathlib import Path

from fuzz.envelopes import SUBJECT
from fuzz.harness import assail


def test_no_answer_of_an_endpoint_ends_in_a_traceback(tmp_path: Path) -> None:
    tally = assail(SUBJECT, seed=1, count=60, folder=tmp_path)
    assert not tally.defects
    assert set(tally.verdicts) == {"read", "told", "refused"}
