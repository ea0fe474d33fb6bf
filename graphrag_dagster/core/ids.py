"""Deterministic identifiers."""

import hashlib

_SEPARATOR = "\x1f"


def stable_id(*parts: object) -> str:
    """Return 32 hexadecimal characters that depend on the parts alone.

    Parts are rendered with ``str`` and joined by a separator that is escaped inside them, so
    ``("a", "bc")`` and ``("ab", "c")`` differ.
    """
    joined = _SEPARATOR.join(str(part).replace(_SEPARATOR, _SEPARATOR * 2) for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]
