import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.engines import CROSS_ENCODER_MODULE
from graphrag_dagster.kernel.models.packaged_cross_encoder import (
    CrossEncoderFiles,
    PackagedCrossEncoder,
    packaged_cross_encoder,
)
from support.shared import REPOSITORY

QUESTION = "Who dredged the harbour?"
TEXTS = [
    "The harbour was dredged by Selma Dray.",
    "Bread is baked at night.",
    "",
    "港 Пристань",
    "Minutes of 3 May. " + "The harbour was deep, and nobody could say for how long it would stay so. " * 40,
]


@pytest.fixture
def files(tmp_path: Path) -> CrossEncoderFiles:
    """Small files whose hashes are right, which are no model."""
    model, tokenizer = tmp_path / "model.onnx", tmp_path / "tokenizer.json"
    model.write_bytes(b"weights")
    tokenizer.write_bytes(b"{}")
    hashes = {path.name: sha256(path.read_bytes()).hexdigest() for path in (model, tokenizer)}
    return CrossEncoderFiles(model, tokenizer, hashes, 192)


def test_what_answers_scores_higher(packaged: None) -> None:
    scores = packaged_cross_encoder().scores(QUESTION, TEXTS)
    assert scores.argmax() == 0
    assert scores.shape == (len(TEXTS),)
    assert packaged_cross_encoder().scores(QUESTION, []).shape == (0,)


def test_a_score_depends_on_the_pair_alone(packaged: None) -> None:
    together = packaged_cross_encoder().scores(QUESTION, TEXTS).tolist()
    packaged_cross_encoder.cache_clear()
    backwards = packaged_cross_encoder().scores(QUESTION, TEXTS[::-1]).tolist()
    packaged_cross_encoder.cache_clear()
    alone = [packaged_cross_encoder().scores(QUESTION, [text]).item() for text in TEXTS]
    assert together == backwards[::-1] == alone


def test_of_a_question_that_is_too_long_the_end_is_read(packaged: None) -> None:
    encoder = packaged_cross_encoder()
    end = "x " * 200
    assert encoder.scores(f"Who dredged it? {end}", TEXTS).tolist() == encoder.scores(end, TEXTS).tolist()


def test_the_hashes_are_those_of_the_files(packaged: None) -> None:
    package = __import__(CROSS_ENCODER_MODULE)
    for path in (package.model_path(), package.tokenizer_path(), package.config_path()):
        assert sha256(path.read_bytes()).hexdigest() == package.SHA256[path.name]
    assert packaged_cross_encoder().version == package.SHA256["model_int8.onnx"][:8]


def test_a_missing_package_is_one_clear_error() -> None:
    with pytest.raises(
        EngineError, match=r"graphrag-dagster-cross-encoder is not installed; run: pip install"
    ):
        packaged_cross_encoder()


def test_a_missing_onnxruntime_is_one_clear_error(
    files: CrossEncoderFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        EngineError, match="onnxruntime cannot be loaded.*; run: pip install --force-reinstall onnx"
    ):
        PackagedCrossEncoder(files).scores(QUESTION, TEXTS)


@pytest.mark.parametrize("altered", ["model", "tokenizer"])
def test_an_altered_or_missing_file_is_one_clear_error(
    files: CrossEncoderFiles, altered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", ModuleType("onnxruntime"))
    path: Path = getattr(files, altered)
    expected = files.sha256[path.name]
    path.write_bytes(path.read_bytes() + b" ")
    told = f"{path.name} is not the published one: .*, not {expected[:8]}.*--force-reinstall"
    with pytest.raises(EngineError, match=told):
        PackagedCrossEncoder(files).scores(QUESTION, TEXTS)
    path.unlink()
    with pytest.raises(EngineError, match=f"{path.name} .*it is missing.*--force-reinstall"):
        PackagedCrossEncoder(files).scores(QUESTION, TEXTS)


def test_other_weights_have_another_version(files: CrossEncoderFiles) -> None:
    other = replace(files, sha256={**files.sha256, files.model.name: "0" * 64})
    assert PackagedCrossEncoder(files).version != PackagedCrossEncoder(other).version == "0" * 8


def test_the_package_has_a_card_and_licences() -> None:
    folder = REPOSITORY / "packages" / "cross-encoder"
    card, notice = ((folder / name).read_text(encoding="utf-8") for name in ("README.md", "NOTICE"))
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
    for source in ("SQuAD", "HotpotQA", "MuSiQue", "QMSum", "COVID-QA", "Beige Book"):
        assert source in card
        assert source in notice
