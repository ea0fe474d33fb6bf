"""What the slots of a query template become, and why they may not."""

from dataclasses import dataclass, field
from typing import Any


class Unfit(ValueError):
    """Words of a question are nothing of this corpus; ``weight``: how surely they should have been."""

    def __init__(self, reason: str, weight: int = 1) -> None:
        super().__init__(reason)
        self.weight = weight


class NoRelation(Unfit):
    """The graph that a question counts in has no relation of that kind, so that nothing else can answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, 4)


@dataclass(slots=True)
class Filled:
    """Values of a question's slots.

    Attributes:
        parameters: values of the query.
        pieces: SQL in the place of ``{piece}``.
        words: what the answer says.
        entities: titles of the entities that are named, or words that are looked for.
        guessed: names that were taken for longer ones.
        absent: a relation that the graph does not have.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    pieces: dict[str, str] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    entities: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    absent: str = ""
