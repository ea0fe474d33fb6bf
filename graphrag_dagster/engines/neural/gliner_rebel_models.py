"""The checkpoints of GLiNER and REBEL on this machine: their files and versions, and inference."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from graphrag_dagster.engines.neural.rebel_parsing import MARKERS, LabelledMention, ParsedTriples, parse
from graphrag_dagster.errors import EngineError, GraphragError
from graphrag_dagster.kernel.models.local_models import installed_version, logging_unchanged, sha256
from graphrag_dagster.kernel.retrieval.rerankers import windows
from graphrag_dagster.kernel.text.markup_spans import Span

#: The packages that the models need.
PACKAGES: Final = ("gliner", "torch", "transformers")
_WANTED_BY = "extraction.engine is gliner-rebel"
_EXTRA = "scientific"
_DESCRIBING = ("*.json", "*.txt", "*.model")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, as a setting names it.

    Attributes:
        name: the absolute path of a folder; or the name of one on the hub, with ``@`` and a revision where it
            is not to be the newest, which is fetched on first use unless ``HF_HUB_OFFLINE`` is set.
        setting: that names it, as errors have it.
        mend: what to do where it cannot be loaded.
    """

    name: str
    setting: str
    mend: str

    @property
    def is_here(self) -> bool:
        """Whether it is named by a folder, so that nothing is fetched for it."""
        return Path(self.name).is_absolute()

    @cached_property
    def folder(self) -> Path:
        """Where its files are.

        Raises:
            EngineError: a package of the extra is not installed, or the files are not to be had.
        """
        require_packages()
        folder = Path(self.name) if self.is_here else self._fetch()
        if not folder.is_dir():
            raise self.unusable("is no folder")
        if not any(_matching(folder, _WEIGHTS)):
            raise self.unusable(f"holds no weights: there is no {' or '.join(_WEIGHTS)}")
        return folder

    @cached_property
    def version(self) -> str:
        """What tells it from others of its name: of a folder the SHA-256 of its files, else the revision.

        Raises:
            EngineError: as :attr:`folder`.
        """
        if not self.is_here:
            return self.folder.name
        digest = hashlib.sha256()
        for file in sorted(set(_matching(self.folder, (*_DESCRIBING, *_WEIGHTS)))):
            known = file.stat()
            own = _sha256(file, known.st_size, known.st_mtime_ns)
            digest.update(f"{file.relative_to(self.folder).as_posix()}\0{own}\0".encode())
        return digest.hexdigest()

    def unusable(self, why: str) -> EngineError:
        """Return the error that the checkpoint is of no use."""
        return EngineError(f"{self.setting} {self.name!r} {why}; {self.mend}")

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Load it inside the block, one thread at a time; what its library cannot load is one clear error."""
        require_packages()
        with logging_unchanged():
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()
            try:
                yield
            except GraphragError:
                raise
            # What is no checkpoint makes its readers raise whatever they come upon.
            except Exception as error:
                raise self.unusable(f"cannot be loaded: {error}") from error

    def read_json(self, name: str) -> dict[str, object]:
        """Return the content of one of its files; nothing where it has none of that name."""
        file = self.folder / name
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return found if isinstance(found, dict) else {}

    def _fetch(self) -> Path:
        from huggingface_hub import snapshot_download

        repository, _, revision = self.name.partition("@")
        folder = Path()
        with self.loading():
            # The same weights may be there in two formats, of which one is enough.
            for wanted in ((*_DESCRIBING, _WEIGHTS[0]), (*_DESCRIBING, *_WEIGHTS)):
                folder = Path(
                    snapshot_download(repository, revision=revision or None, allow_patterns=list(wanted))
                )
                if any(_matching(folder, _WEIGHTS[:1])):
                    break
        return folder


def require_packages() -> None:
    """Raise an EngineError where a package of the extra is not installed."""
    for package in PACKAGES:
        installed_version(package, _WANTED_BY, _EXTRA)


def choose_device(wanted: str) -> str:
    """Return where models run: as wanted, or for ``auto`` on the GPU where there is one.

    Raises:
        EngineError: a GPU is wanted, and there is none; or a package of the extra is not installed.
    """
    require_packages()
    import torch

    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise EngineError("extraction.device is cuda, but PyTorch finds no GPU; set extraction.device: auto")
    return "cuda" if there and wanted != "cpu" else "cpu"


@contextmanager
def inference_threads(threads: int) -> Iterator[None]:
    """Run models inside the block with so many threads, without what only training needs."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)


@lru_cache(maxsize=256)
def _sha256(file: Path, _size: int, _changed: int) -> str:
    """The SHA-256 of a file as long as it is as it was: of gigabytes it takes seconds."""
    return sha256(file)


def _matching(folder: Path, patterns: Iterable[str]) -> Iterator[Path]:
    return (file for pattern in patterns for file in folder.rglob(pattern) if file.is_file())


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
        threshold: how sure the model is of a mention at least, 0 to 1.
    """

    def __init__(
        self, model: str, labels: Sequence[str], threshold: float, *, device: str = "cpu", threads: int = 1
    ) -> None:
        self.labels = tuple(labels)
        self.checkpoint = gliner_checkpoint(model)
        self._threshold, self._device, self._threads = threshold, device, threads

    def mentions(self, text: str) -> list[LabelledMention]:
        """Return the mentions in a text, in its order; their places are exact.

        Raises:
            EngineError: a package or the checkpoint is not there, or is for something else.
        """
        model = self._model
        parts = list(windows(text, self._fits))
        starts = accumulate(map(len, parts[:-1]), initial=0)
        with inference_threads(self._threads):
            return [
                LabelledMention(
                    Span(start + one["start"], start + one["end"]), one["label"], float(one["score"])
                )
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
            if left_out := _missing_parameter(model.model, self._names_of_weights()):
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


def _missing_parameter(model: Any, known: set[str]) -> str:
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
    """

    def __init__(
        self, model: str, writing: Writing | None = None, *, device: str = "cpu", threads: int = 1
    ) -> None:
        self.checkpoint = rebel_checkpoint(model)
        self._writing = writing or Writing()
        self._device, self._threads = device, threads
        self.at_once = self._writing.batch * _BATCHES_AT_ONCE

    def relations(self, texts: Sequence[str]) -> list[list[ParsedTriples]]:
        """Return what was read in each text, window by window.

        Raises:
            EngineError: a package or the checkpoint is not there, or is for something else.
        """
        if not texts:
            return []
        parts = [list(windows(text, self._fits)) for text in texts]
        found = dict(self._read(list(dict.fromkeys(part for own in parts for part in own))))
        return [[found[part] for part in own] for own in parts]

    def _read(self, parts: Sequence[str]) -> Iterator[tuple[str, ParsedTriples]]:
        by_width: dict[int, list[str]] = defaultdict(list)
        for part in parts:
            by_width[-(-self._tokens(part) // _STEP) * _STEP].append(part)
        size = self._writing.batch
        with inference_threads(self._threads):
            for width, own in sorted(by_width.items()):
                for start in range(0, len(own), size):
                    batch = own[start : start + size]
                    filled = [*batch, *batch[:1] * (size - len(batch))]
                    yield from zip(batch, self._generate(filled, width), strict=False)

    def _generate(self, texts: Sequence[str], width: int) -> list[ParsedTriples]:
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
