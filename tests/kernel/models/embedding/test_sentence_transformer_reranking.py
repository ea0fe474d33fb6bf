import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from graphrag_dagster import Index
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.retrieval.rerankers import CrossEncoderReranker, windows
from graphrag_dagster.kernel.tasks.answering_ports import Sought
from support.commands import Run
from support.cross_encoders import WORDS, saved_model
from support.traces import column

INSTALLED = bool(importlib.util.find_spec("sentence_transformers"))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="an optional extra")
TEXTS = [
    "the quay was in stone",
    "not wood",
    "",
    "港 Пристань",
    "stone stone the wood was not built in the quay",
]
LONGEST = 24


def sought(question: str = "was the quay built in stone") -> Sought:
    return Sought(question)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved_model(tmp_path / "ranker", ["LABEL_0"], longest=LONGEST)


@needs_extra
def test_a_score_depends_on_question_and_text_alone(folder: Path) -> None:
    reranker = CrossEncoderReranker(str(folder))
    together = reranker.scores(sought(), TEXTS)
    assert together.shape == (len(TEXTS),)
    assert np.isfinite(together).all()
    assert len(set(together.tolist())) == len(TEXTS)
    for text, score in zip(TEXTS, together, strict=True):
        assert CrossEncoderReranker(str(folder)).scores(sought(), [text]).tolist() == [score]
    assert reranker.scores(sought("wood"), TEXTS).tolist() != together.tolist()
    assert reranker.scores(sought(), []).shape == (0,)


@needs_extra
def test_the_best_window_of_a_long_text_counts(folder: Path) -> None:
    reranker = CrossEncoderReranker(str(folder))
    text = "the quay was built in stone. it is not wood in the quay. stone was in the stone. " * 4
    room = LONGEST - len(["quay", "stone"])
    cut = list(windows(text, lambda part: len(re.findall(r"\w+|\.", part)) <= room))
    assert len(cut) > 3
    alone = reranker.scores(sought("quay stone"), cut)
    assert reranker.scores(sought("quay stone"), [text]).tolist() == [alone.max()]
    assert reranker.scores(sought("quay stone"), [text, *cut]).tolist() == [alone.max(), *alone]


@needs_extra
def test_of_a_question_that_is_too_long_the_end_is_read(folder: Path) -> None:
    reranker = CrossEncoderReranker(str(folder))

    def asked(first: str, last: str) -> list[float]:
        lines = [first] * 20 + ["not wood not wood"] * 10 + [last]
        return reranker.scores(sought("\n".join(lines)), TEXTS).tolist()

    assert asked("the quay the quay", "in stone") == asked("not wood not wood", "in stone")
    assert asked("the quay the quay", "in stone") != asked("the quay the quay", "was wood")


@needs_extra
def test_the_name_changes_with_the_weights(tmp_path: Path, folder: Path) -> None:
    name = CrossEncoderReranker(str(folder)).name
    assert name.startswith("cross-encoder/ranker@")
    assert len(name.rpartition("@")[2]) == 8
    other = saved_model(tmp_path / "other" / "ranker", ["LABEL_0"], favourite="LABEL_0")
    assert CrossEncoderReranker(str(other)).name != name
    assert CrossEncoderReranker("cross-encoder/some-model").name.startswith("cross-encoder/some-model@")


@needs_extra
def test_a_model_for_something_else_or_none_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = saved_model(tmp_path / "judge", ("contradiction", "entailment", "neutral"))
    empty = tmp_path / "empty"
    empty.mkdir()
    for model, told in (
        (judge, "gives 3 numbers and not one"),
        (empty, "cannot be loaded"),
        ("nobody/has-this-model", "cannot be loaded"),
    ):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        with pytest.raises(EngineError, match=f"search.reranker_model .*{told}") as raised:
            CrossEncoderReranker(str(model)).scores(sought(), [WORDS])
        assert "cross-encoder for reranking" in str(raised.value)


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_a_missing_extra_says_which_setting_needs_it() -> None:
    reranker = CrossEncoderReranker("cross-encoder/ms-marco-MiniLM-L6-v2")
    told = r"search.reranker is cross-encoder, but .*graphrag-dagster\[sentence-transformers\]"
    with pytest.raises(EngineError, match=told):
        reranker.scores(sought(), [WORDS])
    with pytest.raises(EngineError, match=told):
        assert reranker.name


@needs_extra
def test_an_answer_is_reranked_by_the_model_that_the_settings_name(
    folder: Path, coast: Path, run: Run
) -> None:
    told = f"search: {{reranker: cross-encoder, reranker_model: {folder}, method: local}}\n"
    (coast / "corpus.yaml").write_text(told, encoding="utf-8")
    made = Index.open("coast").ask("Who led the Dockers Union?")
    assert column(made, "Reranked", "reranker") == [CrossEncoderReranker(str(folder)).name]
    assert column(made, "Reranked", "text units")[0] > 1
    code, out, _ = run("doctor", "coast")
    assert (code, f"{folder.name}@" in out) == (0, True)
