"""Loads models that run on this machine: checks their extra, and contains side effects of libraries."""

import hashlib
import importlib
import importlib.metadata
import importlib.util
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphrag_dagster.errors import EngineError

#: The extra of models of sentence-transformers.
_EXTRA = "sentence-transformers"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")

#: Held while a model is loaded; one thread at a time.
LOADING = threading.RLock()


def installed_version(package: str, setting: str, extra: str = _EXTRA) -> str:
    """Return the version of a package.

    Args:
        package: its name.
        setting: of ``corpus.yaml`` that needs it, as the error has it.
        extra: that it comes with.

    Raises:
        EngineError: it is not installed.
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise missing_package_error(package, setting, extra) from None


def missing_package_error(package: str, setting: str, extra: str = _EXTRA) -> EngineError:
    """Return the error that a setting needs a package of an extra."""
    return EngineError(
        f'{setting}, but {package} is not installed; run: pip install "graphrag-dagster[{extra}]"'
    )


def package_folder(name: str, setting: str, extra: str) -> Path:
    """Return the folder of a package, without importing it; arguments as of :func:`published_file`."""
    spec = importlib.util.find_spec(name)
    if not spec or not spec.submodule_search_locations:
        raise missing_package_error(name.replace("_", "-"), setting, extra)
    return Path(spec.submodule_search_locations[0])


def published_file(package: str, name: str, digest: str, setting: str, extra: str = _EXTRA) -> Path:
    """Return a file of weights that a package carries.

    Args:
        package: as it is imported.
        name: of the file.
        digest: SHA-256 of the published file, in hexadecimal digits.
        setting: of ``corpus.yaml`` that needs it, as errors have it.
        extra: that the package comes with.

    Raises:
        EngineError: the package is not installed, or its file is not the published one.
    """
    file = package_folder(package, setting, extra) / name
    check_published(file, digest, setting, f"pip install --force-reinstall {package.replace('_', '-')}")
    return file


def check_published(file: Path, digest: str, setting: str, remedy: str) -> None:
    """Raise an EngineError where a file is not the published one, by its SHA-256."""
    found = sha256(file) if file.is_file() else None
    if found != digest:
        told = f"its SHA-256 begins with {found[:8]}, not {digest[:8]}" if found else "it is missing"
        raise EngineError(f"{setting}, but {file} is not the published one: {told}; run: {remedy}")


def onnx_session(file: Path, setting: str, mend: str) -> Any:
    """Return a session of onnxruntime on one thread of the CPU; callers run it from several.

    Args:
        file: the ONNX model.
        setting: of ``corpus.yaml`` that needs it, as the error has it.
        mend: what to do where onnxruntime is missing or cannot be loaded.

    Raises:
        EngineError: onnxruntime cannot be imported.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise EngineError(f"{setting}, but onnxruntime cannot be loaded: {error}; {mend}") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Errors alone: it warns of what a user can do nothing about.
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


@contextmanager
def logging_unchanged() -> Iterator[None]:
    """Undo what a package does to the root logger when it is imported; one thread at a time."""
    with LOADING:
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of sentence-transformers that runs on this machine, as a setting names it.

    Attributes:
        model: a folder, or the name of a model of the hub, which is fetched on first use unless
            ``HF_HUB_OFFLINE`` is set.
        wanted_by: the setting that needs the extra, as errors have it.
        named_by: the setting that names the model, as errors have it.
        mend: what to do where it cannot be loaded.
    """

    model: str
    wanted_by: str
    named_by: str
    mend: str

    @property
    def version(self) -> str:
        """A string that tells its results from those of another model of its name.

        That of the library for a model of the hub; for files here, the first characters of the SHA-256 of
        their weights.

        Raises:
            EngineError: the extra is not installed for a model of the hub, or the folder holds no weights.
        """
        return (
            sha256(weights(Path(self.model)))[:8]
            if self._is_local
            else installed_version(_EXTRA, self.wanted_by)
        )

    def load(self, kind: Literal["SentenceTransformer", "CrossEncoder"]) -> Any:
        """Return the model on the CPU; a cross-encoder gives its numbers as they are.

        Raises:
            EngineError: the extra is not installed, or the model cannot be loaded.
        """
        installed_version(_EXTRA, self.wanted_by)
        with logging_unchanged():
            import sentence_transformers
            import torch

            importlib.import_module("transformers.utils.logging").disable_progress_bar()
            # Two threads are slower than one where other work is done at the same time.
            torch.set_num_threads(1)
            more = {"activation_fn": torch.nn.Identity()} if kind == "CrossEncoder" else {}
            try:
                return getattr(sentence_transformers, kind)(
                    self.model, device="cpu", local_files_only=self._is_local, **more
                )
            except (OSError, ValueError) as error:
                raise self.unusable(f"cannot be loaded: {error}") from error

    def unusable(self, why: str) -> EngineError:
        """Return the error that the model is unusable."""
        return EngineError(f"{self.named_by} {self.model!r} {why}; {self.mend}")

    @property
    def _is_local(self) -> bool:
        return Path(self.model).is_dir()


def weights(folder: Path) -> Path:
    """Return the file of a model's weights.

    Raises:
        EngineError: the folder holds none.
    """
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    raise EngineError(f"{folder} is not a sentence-transformers model: it has no {' or '.join(_WEIGHTS)}")


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
