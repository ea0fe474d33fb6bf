from pathlib import Path

from fuzz.harness import assail
from fuzz.settings import SUBJECT


def test_no_settings_end_in_a_traceback(tmp_path: Path) -> None:
    tally = assail(SUBJECT, seed=1, count=120, folder=tmp_path)
    assert not tally.defects
    assert tally.verdicts["accepted"] > 10
    assert tally.verdicts["refused"] > 50
