"""Queries over the tables of an index, and the port to who runs them."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphrag_dagster.errors import QuestionError

#: Most rows that are shown of a result.
MOST_ROWS = 100
#: Relations that one path of any length has at most.
LONGEST_PATH = 4


class QueryError(QuestionError):
    """A query that was not run, or not to its end; the text says why, as the database does."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and what it asks in words.

    Attributes:
        template: name of the template it was made from; None where a model wrote it.
        reading: how the question was read.
        sql: one select statement.
        parameters: values of its ``$names``.
    """

    template: str | None
    reading: str
    sql: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The query as people read it, its parameters as a comment in the last line."""
        given = json.dumps(self.parameters, ensure_ascii=False)
        return f"{self.sql}\n-- {given}" if self.parameters else self.sql


@dataclass(frozen=True, slots=True)
class Found:
    """What a query gives: the first rows by column; ``more``: there are others."""

    rows: tuple[Mapping[str, Any], ...]
    more: bool = False


class Queries(Protocol):
    """Runs queries over the tables of one snapshot, which they cannot change."""

    def columns(self, tables: Collection[str]) -> str:
        """Return what tables mean, and each of their columns, a line each.

        Args:
            tables: as ``schema.table``.
        """

    def run(self, query: Query, most: int, tables: Collection[str] | None = None) -> Found:
        """Return the first rows of a query.

        Args:
            query: one select statement with the values of its parameters.
            most: rows.
            tables: the only ones, as ``schema.table``, that it may read; None for all of the snapshot.

        Raises:
            QueryError: it is refused, fails or reaches a limit.
        """
