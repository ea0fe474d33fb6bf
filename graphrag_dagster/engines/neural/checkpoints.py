"""Checkpoints that run on this machine: where their files are, and what tells one version from another."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from graphrag_dagster.errors import EngineError, GraphragError
from graphrag_dagster.kernel.models.local.local_models import installed, logging_unchanged, sha256

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
        folder = Path(self.name) if self.is_here else self._fetched()
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

    def _fetched(self) -> Path:
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
        installed(package, _WANTED_BY, _EXTRA)


def chosen_device(wanted: str) -> str:
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
def computing(threads: int) -> Iterator[None]:
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
