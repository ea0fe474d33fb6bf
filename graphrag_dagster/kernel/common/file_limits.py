"""Limits of the files that are read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits of one file; each is a key of ``files`` in ``corpus.yaml``.

    Args:
        max_bytes: its size, and what an archive such as docx unpacks to.
        max_seconds: how long reading may take, by the clock.
        max_memory: bytes of memory that reading may need; kept on Linux only.
        max_characters: of text in all its documents together.
        max_documents: rows of a table-like file that have text.
    """

    max_bytes: int = 50_000_000
    max_seconds: float = 60.0
    max_memory: int = 1_000_000_000
    max_characters: int = 50_000_000
    max_documents: int = 250_000

    def over_limit_reason(self, key: str, what: str, found: int | None = None) -> str:
        """Return the reason of a file that goes beyond a limit.

        Args:
            key: the limit, e.g. ``max_characters``.
            what: what it limits, e.g. "characters of text".
            found: how much of it there is, where that is known.
        """
        limit = getattr(self, key)
        excess = f"{found:,} {what}, more than" if found is not None else f"more {what} than"
        return f"{excess} files.{key} ({limit:,}); raise that in corpus.yaml, or split the file"


DEFAULT_LIMITS = FileLimits()
