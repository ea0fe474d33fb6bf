"""The port to the property graph of an index, and what a query over it gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from graphrag_dagster.core.cypher.guard import Guarded
from graphrag_dagster.core.cypher.rows import GraphRows


@dataclass(frozen=True, slots=True)
class Ran:
    """A query that was run: as it was given, as the guard wrote it, and what it gave."""

    text: str
    parameters: Mapping[str, Any]
    guarded: Guarded
    found: GraphRows


class Graph(Protocol):
    """Runs queries over the graph of one snapshot, which they cannot change."""

    @property
    def missing(self) -> str | None:
        """Why no query can be run at all, such as an extra that is not installed; None: they can."""

    def run(self, text: str, parameters: Mapping[str, Any]) -> Ran:
        """Return what a query gives.

        Raises:
            QueryError: it is refused, fails or reaches a limit.
        """
