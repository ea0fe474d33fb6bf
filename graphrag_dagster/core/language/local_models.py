"""Loading models that run on this machine: the extra they need, and libraries that change what is global."""

import importlib.metadata
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from graphrag_dagster.errors import EngineError

#: Held while a model is loaded; one thread at a time.
LOADING = threading.RLock()


def installed(package: str, setting: str) -> str:
    """Return the version of a package.

    Args:
        package: its name.
        setting: of ``corpus.yaml`` that needs it, as the error has it.

    Raises:
        EngineError: it is not installed.
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise missing(package, setting) from None


def missing(package: str, setting: str) -> EngineError:
    """Return the error that a setting needs a package of the extra."""
    return EngineError(
        f"{setting}, but {package} is not installed; run: "
        'pip install "graphrag-dagster[sentence-transformers]"'
    )


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
