"""Names of corpora: which are valid, and which one a folder gets."""

import hashlib
import re
import unicodedata

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.tables.declared_tables import all_tables

_NAME = re.compile(r"\w(?:[\w .-]{0,98}[\w])?")
# File systems allow 255 bytes for a file name; extensions and markers of unfinished files take some.
_MOST_BYTES = 200
# DuckDB names a database after its file; a schema of the same name would be ambiguous.
_RESERVED = {table.schema for table in all_tables()} | {"main", "temp", "system", "memory"}
#: Most characters of a generated name; a longer one is cut and gets a hash.
_LONGEST_MADE = 60


def check_name(name: str) -> str:
    """Return the name if it is a valid corpus name.

    Raises:
        CorpusError: it is empty, longer than 100 characters or 200 bytes, or contains anything but letters,
            digits, blanks and ``_ . -`` (so no quotes or path separators), or ``..``; or it is the name of a
            schema.
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
    """Whether :func:`check_name` accepts the name."""
    try:
        check_name(name)
    except CorpusError:
        return False
    return True


def name_from_folder(title: str) -> str:
    """Derive a corpus name from the name of a folder or file, deterministically.

    A valid name without blanks stays as it is. Any other is transliterated to Latin letters, with hyphens for
    invalid characters: "Résumé (v2)" becomes "Resume-v2".
    """
    text = unicodedata.normalize("NFC", title)
    if " " not in text and is_allowed(text):
        return text
    # Imported here because its tables take long to load.
    from anyascii import anyascii

    mark = hashlib.sha256(title.encode(errors="surrogateescape")).hexdigest()[:6]
    latin = re.sub(r"[^A-Za-z0-9_.]+", "-", anyascii(text))
    latin = re.sub(r"\.{2,}", ".", re.sub(r"-*\.-+|-+\.-*", "-", latin)).strip("-.")
    if len(latin) > _LONGEST_MADE:
        latin = f"{latin[:_LONGEST_MADE].strip('-.')}-{mark}"
    if not latin.strip("_"):
        return f"corpus-{mark}"
    return latin if is_allowed(latin) else f"{latin}-corpus"
