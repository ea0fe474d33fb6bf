"""The log of answered questions that thresholds are learned from."""

from pathlib import Path

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.systems.lego.settings import PathRecallSettings
from graphrag_dagster.systems.lego.studies.recall_learning import learned_from_log

LOG = "answered/log.csv"


def settings(**more: object) -> PathRecallSettings:
    return PathRecallSettings.model_validate({"enabled": True, "log": LOG, "feedback": 4, **more})


def written(folder: Path, text: str) -> Path:
    (folder / LOG).parent.mkdir()
    (folder / LOG).write_text(text, encoding="utf-8")
    return folder


def test_a_threshold_is_learned_by_class(tmp_path: Path) -> None:
    rows = ['"simple, dense",0.5,false', '"simple, dense",0.6,TRUE'] * 2 + ['"simple, sparse",0.5,1']
    folder = written(
        tmp_path, "\n".join(["correct_by,class,threshold,correct", *(f"me,{one}" for one in rows)])
    )
    found = learned_from_log(folder, settings())
    assert {name: one.value for name, one in found.items()} == {"simple, dense": 0.6}
    assert learned_from_log(folder, settings(feedback=5)) == {}
    assert learned_from_log(folder, settings(log=None)) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class,threshold\n", ["no column correct"]),
        ('class,threshold,correct\n"simple, dense",0.5,1\n"simple, dense",high,1\n', ["row 3"]),
        ('class,threshold,correct\n"simple, dense",1.5,1\n', ["row 2", "from 0 to 1"]),
        ("class,threshold,correct\nhard,0.5,1\n", ["row 2", "simple, dense"]),
        ('class,threshold,correct\n"simple, dense",0.5,perhaps\n', ["row 2", "true or false"]),
        ("", ["no csv"]),
    ],
)
def test_a_log_that_cannot_be_read_is_named(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        learned_from_log(written(tmp_path, text), settings())
    for word in (LOG, *words):
        assert word in str(caught.value)


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        learned_from_log(tmp_path, settings())
