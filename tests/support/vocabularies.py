"""The packaged vocabularies where tiktoken looks for them, for clients that would download them."""

import hashlib
from pathlib import Path

from graphrag_dagster.kernel.text.tokenization import ENCODINGS, packaged_vocabulary

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


def write_vocabularies(folder: Path) -> dict[str, str]:
    """Write the vocabularies into a folder; returns the variable that names it to tiktoken."""
    for encoding in ENCODINGS:
        name = hashlib.sha1(_ADDRESS.format(encoding).encode(), usedforsecurity=False).hexdigest()
        (folder / name).write_bytes(packaged_vocabulary(encoding))
    return {"TIKTOKEN_CACHE_DIR": str(folder)}
