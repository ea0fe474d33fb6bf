"""The port to the property graph of an index, and what a query over it gives."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from graphrag_dagster.apps.cypher.language.guard import Guarded
from graphrag_dagster.kernel.documents.files.columns import once_each
from graphrag_dagster.kernel.questions.context.queries import QueryError

#: Characters of all rows together, as JSON has them.
MOST_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class GraphRows:
    """What a query over a graph gives.

    Attributes:
        columns: their names, each once.
        rows: values as JSON has them; a node or relation is a mapping of its properties, with ``label``,
            and a path one of ``nodes`` and ``relationships``.
        more: there are or may be rows that are left out, for their number or their size.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool

    def objects(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows by column."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))


def within(query: Guarded, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> GraphRows:
    """Return the rows of a query, as many as it may return and as fit.

    Args:
        query: as the guard has written it.
        columns: as the engine calls them.
        rows: in their order; no more are read than are taken.

    Raises:
        QueryError: not even the first row fits.
    """
    kept: list[tuple[Any, ...]] = []
    left, more = MOST_CHARACTERS, False
    for row in rows:
        values = tuple(row)
        left -= len(json.dumps(values, default=str))
        more = left < 0 or len(kept) == query.most
        if more:
            break
        kept.append(values)
    if more and not kept:
        raise QueryError(
            f"the first row has more than {MOST_CHARACTERS:,} characters; return fewer or shorter properties"
        )
    named = once_each(query.columns or columns)
    return GraphRows(tuple(named), tuple(kept), more or (query.capped and len(kept) == query.most))


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
