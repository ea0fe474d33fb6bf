"""Places in a text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of characters inside a text unit: ``text[start:end]``."""

    start: int
    end: int
