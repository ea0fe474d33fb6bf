"""The ports of entity resolution and typing: judging pairs of names that the rules leave open."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from graphrag_dagster.kernel.tasks.task_ports import TextUnit


@dataclass(frozen=True, slots=True)
class NameInText:
    """A name with its type and the sentences that contain it; none may contain a name that a model gave."""

    name: str
    type: str
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two names of one document; ``document`` is None if they are from different ones."""

    document: str | None
    one: NameInText
    other: NameInText


@dataclass(frozen=True, slots=True)
class Ruling:
    """A model's ruling on a pair that the rules leave open.

    Attributes:
        verdict: whether the two are the same entity; ``unsure`` also if the reply could not be used.
        reason: in the model's words, or why the reply could not be used.
        problem: whether the reply could not be used.
        repaired: whether the reply had to be repaired.
    """

    verdict: Literal["same", "different", "unsure"]
    reason: str
    problem: bool = False
    repaired: bool = False


class NameJudge(Protocol):
    """Judges whether pairs of names are the same entity."""

    def judge(self, pairs: Sequence[NamePair]) -> list[Ruling]:
        """Return one ruling for each pair, in their order."""


@dataclass(frozen=True, slots=True)
class Untyped:
    """A text unit with the names in it, as written, that have no type."""

    unit: TextUnit
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Typing:
    """A model's choice of a type for a name.

    Attributes:
        label: one of the allowed types; None if none fits, or if the reply could not be used.
        problem: why the reply could not be used.
        repaired: whether the reply had to be repaired.
    """

    label: str | None
    problem: str | None = None
    repaired: bool = False


class EntityTyper(Protocol):
    """Assigns types to names."""

    def type_entities(self, asked: Sequence[Untyped]) -> list[tuple[Typing, ...]]:
        """Return the typings of each unit's names, both in their order."""
