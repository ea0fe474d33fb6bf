"""The port of who chooses the way of answering a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.core.language.tasks import OfEngine, Usage


@dataclass(frozen=True, slots=True)
class Routed:
    """The name of a way of answering, and why; None where there is no usable reply, ``problem`` says why."""

    way: str | None
    reason: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class Router(OfEngine, Protocol):
    """Chooses ways of answering."""

    def route(self, question: str, ways: Mapping[str, str], names: Sequence[str]) -> Routed:
        """Return which of the ways suits a question.

        Args:
            question: as asked.
            ways: what each is for, by name.
            names: the names in the question that the index knows.
        """
