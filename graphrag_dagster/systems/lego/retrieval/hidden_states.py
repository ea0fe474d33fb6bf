"""Vectors of texts by the hidden states of a language model on this machine (LLMs-E)."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.local_embedders import embed_distinct
from graphrag_dagster.kernel.models.local_models import installed_version, logging_unchanged, sha256

_WANTED_BY = "paths.switches.llm_embeddings"
_NAMED_BY = "paths.llm_embeddings_model"
_MEND = "set it to a folder with a language model for transformers, or the name of one on the hub"
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


class HiddenStateEmbedder:
    """The mean of a model's last hidden states over the tokens of a text, brought to length 1.

    On the CPU in single precision. Each text is a batch of its own, so that there is no padding, and a vector
    depends on the text alone; what is longer than the model reads is cut.

    Args:
        model: a folder, or the name of a model of the hub, which is fetched on first use.
    """

    at_once = 64

    def __init__(self, model: str) -> None:
        self.model = model

    @cached_property
    def name(self) -> str:
        """``hidden-states/<model>@<version>``: of files here the first characters of their SHA-256.

        Raises:
            EngineError: the extra is not installed, or the folder holds no weights.
        """
        folder = Path(self.model)
        if not folder.is_dir():
            return f"hidden-states/{self.model}@{installed_version('transformers', _WANTED_BY)}"
        files = sorted(file for pattern in _WEIGHTS for file in folder.glob(pattern))
        if not files:
            raise self._unusable("has no weights")
        digests = "".join(map(sha256, files))
        return f"hidden-states/{folder.name}@{hashlib.sha256(digests.encode()).hexdigest()[:8]}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array [len(texts), dimension] of unit rows; a blank text gives zeros.

        Raises:
            EngineError: the extra is not installed, or the model cannot be loaded.
        """
        _, model = self._loaded
        return embed_distinct(texts, int(model.config.hidden_size), self._means)

    def _means(self, texts: list[str]) -> NDArray[np.float32]:
        import torch

        tokenizer, model = self._loaded
        longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 10**9))
        means = np.zeros((len(texts), model.config.hidden_size), dtype=np.float32)
        with torch.inference_mode():
            for place, text in enumerate(texts):
                read = tokenizer(text, return_tensors="pt", truncation=True, max_length=int(longest))
                if read["input_ids"].shape[1]:
                    states = model(**read).last_hidden_state[0]
                    means[place] = states.double().mean(dim=0).float().numpy()
        return means

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Tokenizer and model."""
        installed_version("transformers", _WANTED_BY)
        with logging_unchanged():
            import torch
            import transformers

            torch.set_num_threads(1)
            here = Path(self.model).is_dir()
            try:
                tokenizer = transformers.AutoTokenizer.from_pretrained(self.model, local_files_only=here)
                model = transformers.AutoModel.from_pretrained(
                    self.model, local_files_only=here, dtype=torch.float32
                )
            except (OSError, ValueError) as error:
                raise self._unusable(f"cannot be loaded: {error}") from error
        return tokenizer, model.eval()

    def _unusable(self, why: str) -> EngineError:
        return EngineError(f"{_NAMED_BY} {self.model!r} {why}; {_MEND}")
