"""Which remembered replies a piece of work rests on, so that it can be told later that they still stand."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_noted: ContextVar[dict[str, None] | None] = ContextVar("_noted", default=None)


@contextmanager
def noted_replies() -> Iterator[dict[str, None]]:
    """Collect the keys of the remembered replies that are used within, in their order.

    Work within that is not to be counted, such as replies of which another is made, collects for itself.
    """
    keys: dict[str, None] = {}
    token = _noted.set(keys)
    try:
        yield keys
    finally:
        _noted.reset(token)


def note_reply(key: bytes) -> None:
    """Say that a remembered reply is used."""
    keys = _noted.get()
    if keys is not None:
        keys[key.hex()] = None
