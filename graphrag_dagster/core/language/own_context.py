"""The port of who writes down what it knows, to be answered from in place of documents."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.core.language.tasks import OfEngine, Turn, Usage


@dataclass(frozen=True, slots=True)
class WrittenContext:
    """What is known of a question; blank where nothing is, or where no reply could be used.

    ``problem`` says why no reply could be used, else None.
    """

    text: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class ContextWriter(OfEngine, Protocol):
    """Writes contexts of its own knowledge."""

    def write(self, question: str, history: Sequence[Turn] = ()) -> WrittenContext:
        """Return a context for a question of a conversation, without answering it."""
