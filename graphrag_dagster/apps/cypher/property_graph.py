"""The property graph of an index: queries over it within limits, and the rows they return."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from graphrag_dagster.apps.cypher.language.guard import Guarded, guard_query
from graphrag_dagster.errors import QueryError, QuestionError
from graphrag_dagster.kernel.common.printable import make_unique
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits, guarded_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphrag_dagster.apps.bolt_client import BoltServer
    from graphrag_dagster.apps.cypher.settings import CypherSettings
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.storage.warehouse import Warehouse


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


def rows_within_limits(query: Guarded, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> GraphRows:
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
    named = make_unique(query.columns or columns)
    return GraphRows(tuple(named), tuple(kept), more or (query.capped and len(kept) == query.most))


@dataclass(frozen=True, slots=True)
class GraphQueryRun:
    """A query that was run, as it was given, and what it gave."""

    text: str
    parameters: Mapping[str, Any]
    found: GraphRows


class QueryableGraph(Protocol):
    """Runs queries over the graph of one snapshot, which they cannot change."""

    @property
    def missing(self) -> str | None:
        """Why no query can be run at all, such as an extra that is not installed; None: they can."""

    def run(self, text: str, parameters: Mapping[str, Any]) -> GraphQueryRun:
        """Return what a query gives.

        Raises:
            QueryError: it is refused, fails or reaches a limit.
        """


_PROGRAM = Path(__file__).with_name("cypher_process.py")
_LONGEST_TOLD = 1500


def run_embedded(file: Path, query: Guarded, limits: QueryLimits) -> GraphRows:
    """Run a query over a graph file.

    Raises:
        QueryError: the engine refuses it, or it reaches a limit.
    """
    # One more tells that there are more.
    request = {
        "file": str(file),
        "query": query.text,
        "parameters": dict(query.parameters),
        "rows": query.most + 1,
    }
    try:
        with guarded_process(_PROGRAM, request, limits, _failure) as lines:
            return rows_within_limits(query, next(lines), lines)
    except QuestionError as error:
        raise QueryError(str(error)) from None


def _failure(told: dict[str, str]) -> Exception:
    text = told["text"].strip()
    if text.startswith("Runtime exception: list_extract"):
        text = "a list has no entry at that place; ask for lists that have one, such as WHERE size(list) > 0"
    return QuestionError(f"the query failed: {text[:_LONGEST_TOLD]}")


@dataclass(frozen=True, slots=True)
class CorpusGraph:
    """A :class:`~graphrag_dagster.apps.cypher.property_graph.QueryableGraph` of a corpus.

    Attributes:
        warehouse: where the tables are.
        corpus: the corpus.
        settings: where its graph is, and what a query may take.
        index: version of the published index whose graph it has to be; None: the current one.
    """

    warehouse: Warehouse
    corpus: str
    settings: CypherSettings
    index: str | None = None

    @property
    def missing(self) -> str | None:
        """Why no query can be run at all; None: they can."""
        if self.settings.backend == "embedded" and find_spec("ladybug") is None:
            return "the extra graph-db is not installed"
        return None

    def run(self, text: str, parameters: Mapping[str, Any]) -> GraphQueryRun:
        """Return what a query gives.

        Raises:
            QueryError: the guard or the engine refuses it, it reaches a limit, or another index has been
                published.
            EngineError: the extra of the graph's database is not installed.
            WarehouseError: the corpus has not been indexed, or its graph cannot be made.
            EndpointError: the server of the graph cannot be used.
        """
        own = self.settings
        query = guard_query(text, parameters, dialect=own.backend, most=own.most_rows)
        if own.backend == "neo4j":
            from graphrag_dagster.apps.bolt_client import server_of

            return GraphQueryRun(text, parameters, _run_at_server(server_of(own), query, own.seconds))
        current = published(self.warehouse, self.corpus) if self.index else None
        if current and current.index != self.index:
            raise QueryError("another index has been published since this one was opened: open it again")
        from graphrag_dagster.apps.cypher.embedded_graph import graph_of

        limits = QueryLimits(own.seconds, own.megabytes, raisable=False)
        found = run_embedded(graph_of(self.warehouse, self.corpus), query, limits)
        return GraphQueryRun(text, parameters, found)


def graph_of_snapshot(warehouse: Warehouse, corpus: str, settings: CorpusSettings, index: str) -> CorpusGraph:
    """Return the graph of a published index."""
    from graphrag_dagster.apps.cypher.settings import CypherSettings

    return CorpusGraph(warehouse, corpus, settings.section(CypherSettings), index)


def _run_at_server(server: BoltServer, query: Guarded, seconds: float) -> GraphRows:
    from graphrag_dagster.apps.bolt_client import BoltGraph

    with (
        BoltGraph(server) as graph,
        closing(graph.stream(query.text, query.parameters, seconds=seconds)) as rows,
    ):
        first = next(rows, None)
        if first is None:
            return rows_within_limits(query, query.columns, ())
        return rows_within_limits(query, first, (row.values() for row in chain([first], rows)))
