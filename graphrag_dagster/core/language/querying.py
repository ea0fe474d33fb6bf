"""The port of who writes queries over the tables or the graph of an index."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.core.language.tasks import OfEngine, Usage


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """A query that was written before, and what the database said of it."""

    text: str
    error: str


@dataclass(frozen=True, slots=True)
class WrittenQuery:
    """A query, and what it asks in words; without text where there is none, which ``problem`` explains."""

    text: str
    reading: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class QueryWriter(OfEngine, Protocol):
    """Writes queries; it never sees what they give."""

    def write(self, question: str, tables: str, types: str, failed: Sequence[FailedQuery]) -> WrittenQuery:
        """Return a query that answers a question.

        Args:
            question: as asked.
            tables: which there are, with their columns; or nodes and relations, with their properties.
            types: of entities in the corpus, one a line.
            failed: what was written before, and why it failed.
        """
