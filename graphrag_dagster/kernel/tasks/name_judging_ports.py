"""The port of judging whether two names are one entity, where the rules of resolution leave it open."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from graphrag_dagster.kernel.tasks.task_ports import TextUnit


@dataclass(frozen=True, slots=True)
class NameInText:
    """A name with its type and sentences in which it stands; a name that a model gave may stand in none."""

    name: str
    type: str
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two names of a document, or of different ones, where ``document`` is None."""

    document: str | None
    one: NameInText
    other: NameInText


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a model says of a pair that the rules leave open.

    Attributes:
        verdict: whether the two are one; ``unsure`` where it cannot tell, or its reply could not be used.
        reason: in its words, or why the reply could not be used.
        problem: whether the reply could not be used.
        repaired: whether the reply had to be mended.
    """

    verdict: Literal["same", "different", "unsure"]
    reason: str
    problem: bool = False
    repaired: bool = False


class NameJudge(Protocol):
    """Says of pairs of names whether they are one entity."""

    def judge(self, pairs: Sequence[NamePair]) -> list[Ruling]:
        """Return one ruling for each pair, in their order."""


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
