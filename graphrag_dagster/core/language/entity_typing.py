"""The port of saying what kind of thing a name is, where who found it gave it no type."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from graphrag_dagster.core.language.tasks import TextUnit


@dataclass(frozen=True, slots=True)
class Untyped:
    """A text unit with names in it, as written, that have no type."""

    unit: TextUnit
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Typing:
    """What a model says of a name.

    Attributes:
        label: one of those that it may choose; None where none fits, or its reply could not be used.
        problem: why the reply could not be used.
        repaired: whether the reply had to be mended.
    """

    label: str | None
    problem: str | None = None
    repaired: bool = False


class EntityTyper(Protocol):
    """Says what kinds of things names are."""

    def type_entities(self, asked: Sequence[Untyped]) -> list[tuple[Typing, ...]]:
        """Return of each unit what is said of its names, both in their order."""
