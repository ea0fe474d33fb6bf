"""Deterministic identifiers."""

import hashlib


def stable_id(*parts: object) -> str:
    """Return 32 hexadecimal characters that depend on the parts alone.

    Parts are rendered with ``str`` and prefixed by their length, so ``("a", "bc")`` and ``("ab", "c")``
    differ whatever the parts contain.
    """
    rendered = (str(part) for part in parts)
    joined = "".join(f"{len(part)}:{part}" for part in rendered)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]
