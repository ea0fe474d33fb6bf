"""Mentions of entities by a GLiNER checkpoint."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from graphrag_dagster.core.language.neural.checkpoints import Checkpoint, computing
from graphrag_dagster.core.language.neural.mentions import Mention
from graphrag_dagster.core.search.reranking.windows import windows
from graphrag_dagster.core.text.spans import Span

_MEND = (
    "give the absolute path of a folder with a GLiNER model and its tokenizer, or the name of one on the hub"
)
_CONFIG = "gliner_config.json"
#: Of an encoder: where its config stands, and where the name of one on the hub whose config is taken.
_ENCODERS = (("encoder_config", "model_name"), ("labels_encoder_config", "labels_encoder"))


def gliner_checkpoint(model: str) -> Checkpoint:
    """Return the checkpoint that ``extraction.gliner.model`` names."""
    return Checkpoint(model, "extraction.gliner.model", _MEND)


class GlinerEntityModel:
    """A GLiNER checkpoint. A text that is longer than it reads is cut into windows at sentences.

    Each window is a batch of its own, so that what is found depends on the text alone.

    Args:
        model: as :class:`Checkpoint` has names.
        labels: what entities are called.
        threshold: how sure the model is of a mention at least, 0 to 1.
        device: ``cpu`` or ``cuda``.
        threads: of the CPU.
    """

    def __init__(
        self, model: str, labels: Sequence[str], threshold: float, *, device: str = "cpu", threads: int = 1
    ) -> None:
        self.labels = tuple(labels)
        self.checkpoint = gliner_checkpoint(model)
        self._threshold, self._device, self._threads = threshold, device, threads

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions in a text, in its order; their places are exact.

        Raises:
            EngineError: a package or the checkpoint is not there, or is for something else.
        """
        model = self._model
        parts = list(windows(text, self._fits))
        starts = accumulate(map(len, parts[:-1]), initial=0)
        with computing(self._threads):
            return [
                Mention(Span(start + one["start"], start + one["end"]), one["label"], float(one["score"]))
                for start, part in zip(starts, parts, strict=True)
                for one in model.inference(
                    [part], list(self.labels), threshold=self._threshold, batch_size=1
                )[0]
            ]

    def _fits(self, text: str) -> bool:
        words = [word for word, *_ in self._model.data_processor.words_splitter(text)]
        return len(words) <= self._model.config.max_len and self._tokens(words) <= self._room

    def _tokens(self, words: Sequence[str]) -> int:
        if not words:
            return 0
        given = self._tokenizer(
            list(words), is_split_into_words=True, add_special_tokens=False, verbose=False
        )
        return len(given["input_ids"])

    @cached_property
    def _room(self) -> int:
        """Tokens that are left for a text beside the labels, of those that the encoder reads at once."""
        encoder, longest = self._model.config.encoder_config, int(self._tokenizer.model_max_length)
        if not getattr(encoder, "relative_attention", False):
            longest = min(longest, getattr(encoder, "max_position_embeddings", None) or longest)
        marks = len(self.labels) + 1 + int(self._tokenizer.num_special_tokens_to_add())
        room = longest - marks - self._tokens(self.labels)
        if room < 1:
            raise self.checkpoint.unusable(
                f"reads {longest} tokens, which {len(self.labels)} labels fill; name fewer in "
                "extraction.gliner.labels, or a model that reads more"
            )
        return room

    @property
    def _tokenizer(self) -> Any:
        return self._model.data_processor.transformer_tokenizer

    @cached_property
    def _model(self) -> Any:
        checkpoint = self.checkpoint
        folder = checkpoint.folder
        with checkpoint.loading():
            import torch
            from gliner import GLiNER

            if not (folder / _CONFIG).is_file():
                raise OSError(f"there is no {_CONFIG}")
            self._refuse_code()
            # What a file leaves out would be drawn at random, and is refused below.
            with torch.random.fork_rng(devices=[]):
                model = GLiNER.from_pretrained(
                    str(folder), map_location=self._device, local_files_only=checkpoint.is_here
                )
            if left_out := _left_out(model.model, self._names_of_weights()):
                raise ValueError(f"its weights leave out {left_out}")
            return model.eval()

    def _refuse_code(self) -> None:
        """Raise ValueError where an encoder would run code that comes with it."""
        from transformers import AutoConfig

        config = self.checkpoint.read_json(_CONFIG)
        for key, named_by in _ENCODERS:
            encoder, name = config.get(key), config.get(named_by)
            if encoder is None and isinstance(name, str):
                encoder = AutoConfig.from_pretrained(name, local_files_only=self.checkpoint.is_here).to_dict()
            if isinstance(encoder, dict) and encoder.get("auto_map"):
                raise ValueError("its encoder wants to run code of its own, which is not done")

    def _names_of_weights(self) -> set[str]:
        folder = self.checkpoint.folder
        if (tensors := folder / "model.safetensors").is_file():
            from safetensors import safe_open

            with safe_open(tensors, framework="pt") as opened:
                return {*opened.keys(), *(opened.metadata() or {})}
        import torch

        return set(
            torch.load(folder / "pytorch_model.bin", map_location="meta", weights_only=True, mmap=True)
        )


def _left_out(model: Any, known: set[str]) -> str:
    """The first of a model's parameters that is known by none of its names; blank where there is none."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names[id(parameter)].append(name)
    return next((own[0] for own in names.values() if known.isdisjoint(own)), "")
