"""Entities by a GLiNER checkpoint, and relations by a REBEL checkpoint."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from graphrag_dagster.engines.neural.checkpoints import Checkpoint, computing
from graphrag_dagster.engines.neural.linearised import MARKERS, Mention, Parsed, parse
from graphrag_dagster.kernel.retrieval.reranking.cross_encoder import windows
from graphrag_dagster.kernel.text.spans import Span

_MEND_ENTITIES = (
    "give the absolute path of a folder with a GLiNER model and its tokenizer, or the name of one on the hub"
)
_CONFIG = "gliner_config.json"
#: Of an encoder: where its config stands, and where the name of one on the hub whose config is taken.
_ENCODERS = (("encoder_config", "model_name"), ("labels_encoder_config", "labels_encoder"))


def gliner_checkpoint(model: str) -> Checkpoint:
    """Return the checkpoint that ``extraction.gliner.model`` names."""
    return Checkpoint(model, "extraction.gliner.model", _MEND_ENTITIES)


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


_MEND = (
    "give the absolute path of a folder with a REBEL model and its tokenizer, or the name of one on the hub"
)
#: Inputs are filled up to a multiple of so many tokens.
_STEP = 64
#: Texts are gathered for so many batches, so that few of them have to be filled up.
_BATCHES_AT_ONCE = 8


def rebel_checkpoint(model: str) -> Checkpoint:
    """Return the checkpoint that ``extraction.rebel.model`` names."""
    return Checkpoint(model, "extraction.rebel.model", _MEND)


@dataclass(frozen=True, slots=True)
class Writing:
    """How the model writes.

    Attributes:
        beams: of its search.
        max_length: most tokens of an output; what is longer is cut off.
        length_penalty: exponent of the length by which beams are compared; 0: not by it.
        input_tokens: most that it reads at once.
        batch: texts at once.
    """

    beams: int = 3
    max_length: int = 256
    length_penalty: float = 0.0
    input_tokens: int = 512
    batch: int = 8


class RebelRelationModel:
    """A REBEL checkpoint. A text that is longer than it reads is cut into windows at sentences.

    What is read in a text depends on the text alone: the sums of a batch are rounded by its size, so every
    batch has the same number of texts, the last one of a size being filled up, and the length of its texts
    is that of each of them, filled up to the next multiple of 64.

    Args:
        model: as :class:`Checkpoint` has names.
        writing: how it writes.
        device: ``cpu`` or ``cuda``.
        threads: of the CPU.
    """

    def __init__(
        self, model: str, writing: Writing | None = None, *, device: str = "cpu", threads: int = 1
    ) -> None:
        self.checkpoint = rebel_checkpoint(model)
        self._writing = writing or Writing()
        self._device, self._threads = device, threads
        self.at_once = self._writing.batch * _BATCHES_AT_ONCE

    def relations(self, texts: Sequence[str]) -> list[list[Parsed]]:
        """Return what was read in each text, window by window.

        Raises:
            EngineError: a package or the checkpoint is not there, or is for something else.
        """
        if not texts:
            return []
        parts = [list(windows(text, self._fits)) for text in texts]
        found = dict(self._read(list(dict.fromkeys(part for own in parts for part in own))))
        return [[found[part] for part in own] for own in parts]

    def _read(self, parts: Sequence[str]) -> Iterator[tuple[str, Parsed]]:
        by_width: dict[int, list[str]] = defaultdict(list)
        for part in parts:
            by_width[-(-self._tokens(part) // _STEP) * _STEP].append(part)
        size = self._writing.batch
        with computing(self._threads):
            for width, own in sorted(by_width.items()):
                for start in range(0, len(own), size):
                    batch = own[start : start + size]
                    filled = [*batch, *batch[:1] * (size - len(batch))]
                    yield from zip(batch, self._written(filled, width), strict=False)

    def _written(self, texts: Sequence[str], width: int) -> list[Parsed]:
        tokenizer, model = self._loaded
        given = tokenizer(list(texts), padding="max_length", max_length=width, return_tensors="pt")
        own = self._writing
        tokens = model.generate(
            input_ids=given["input_ids"].to(self._device),
            attention_mask=given["attention_mask"].to(self._device),
            num_beams=own.beams,
            num_return_sequences=1,
            max_length=own.max_length,
            length_penalty=own.length_penalty,
            do_sample=False,
        ).cpu()
        lengths = (tokens != tokenizer.pad_token_id).sum(dim=1).tolist()
        return [
            parse(text, ended=length < own.max_length)
            for text, length in zip(tokenizer.batch_decode(tokens), lengths, strict=True)
        ]

    def _fits(self, text: str) -> bool:
        return self._tokens(text) <= self._longest

    def _tokens(self, text: str) -> int:
        return len(self._loaded[0](text, verbose=False)["input_ids"])

    @cached_property
    def _longest(self) -> int:
        """Tokens that are read at once, the marks of beginning and end with them."""
        tokenizer, model = self._loaded
        positions = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
        return int(min(self._writing.input_tokens, positions, tokenizer.model_max_length))

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The tokenizer and the model."""
        checkpoint = self.checkpoint
        folder = checkpoint.folder
        with checkpoint.loading():
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            unknown = tokenizer.unk_token_id
            if missing := [one for one in MARKERS if tokenizer.convert_tokens_to_ids(one) in {None, unknown}]:
                raise ValueError(f"its tokenizer does not know {' and '.join(missing)}")
            model, told = AutoModelForSeq2SeqLM.from_pretrained(
                folder, local_files_only=True, output_loading_info=True
            )
            if left_out := sorted(told["missing_keys"]):
                raise ValueError(f"its weights leave out {left_out[0]}")
            return tokenizer, model.to(self._device).eval()
