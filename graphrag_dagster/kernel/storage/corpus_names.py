"""Names of corpora: which are allowed, and which one a folder gets."""

import hashlib
import re
import unicodedata

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.catalogue.registry import all_tables

_NAME = re.compile(r"\w(?:[\w .-]{0,98}[\w])?")
# File systems allow 255 bytes for the name of a file; endings, and marks of unfinished files, take some.
_MOST_BYTES = 200
# DuckDB calls a database by the name of its file: a schema of the same name could not be told from it.
_RESERVED = {table.schema for table in all_tables()} | {"main", "temp", "system", "memory"}
#: Characters of a name that is made; what is longer is cut, and tells itself apart by a hash.
_LONGEST_MADE = 60


def check_name(name: str) -> str:
    """Return the name if it may name a corpus.

    Raises:
        CorpusError: it is empty, longer than 100 characters or 200 bytes, or holds anything but letters,
            digits, blanks and ``_ . -`` (so neither quotes nor path separators), or ``..``; or it is the name
            of a schema.
    """
    if not _NAME.fullmatch(name) or ".." in name or len(name.encode()) > _MOST_BYTES:
        raise CorpusError(
            f"{name!r} is not a valid corpus name: use 1–100 letters, digits, blanks, '_', '-' and single "
            f"'.', starting and ending with a letter, digit or '_', of {_MOST_BYTES} bytes at most"
        )
    if name.lower() in _RESERVED:
        raise CorpusError(
            f"{name!r} is not a valid corpus name: it is the name of a schema in its tables; choose another"
        )
    return name


def is_allowed(name: str) -> bool:
    """Whether :func:`check_name` takes the name."""
    try:
        check_name(name)
    except CorpusError:
        return False
    return True


def made_of(title: str) -> str:
    """Return the name of a corpus that is made of the name of a folder or file, always the same one.

    A name that is allowed and holds no blanks stays as it is. Any other is spelt in Latin letters, with
    hyphens for what may not stand in a name: "Résumé (v2)" becomes "Resume-v2".
    """
    text = unicodedata.normalize("NFC", title)
    if " " not in text and is_allowed(text):
        return text
    # Its tables take longer to load than a command does that needs no name.
    from anyascii import anyascii

    mark = hashlib.sha256(title.encode(errors="surrogateescape")).hexdigest()[:6]
    latin = re.sub(r"[^A-Za-z0-9_.]+", "-", anyascii(text))
    latin = re.sub(r"\.{2,}", ".", re.sub(r"-*\.-+|-+\.-*", "-", latin)).strip("-.")
    if len(latin) > _LONGEST_MADE:
        latin = f"{latin[:_LONGEST_MADE].strip('-.')}-{mark}"
    if not latin.strip("_"):
        return f"corpus-{mark}"
    return latin if is_allowed(latin) else f"{latin}-corpus"
