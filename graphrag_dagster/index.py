"""An indexed corpus with the features of all systems and applications: the public entry point.

>>> from graphrag_dagster import Index
>>> answer = Index.open("coast").ask("Who led the Dockers Union?", method="basic")
>>> answer.sources[0].evidence.path, answer.sources[0].evidence.quotation
('news/strike.md', 'Hanna Quill led the Dockers Union.')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex
from graphrag_dagster.kernel.questions.question import validate_question
from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from graphrag_dagster.apps.cypher.property_graph import CorpusGraph, GraphQueryRun
    from graphrag_dagster.apps.cypher.text_to_cypher import CypherAnswer
    from graphrag_dagster.apps.explorer.explorer import Explorer
    from graphrag_dagster.apps.explorer.open_snapshots import SnapshotCache
    from graphrag_dagster.kernel.storage.sql_sandbox import SnapshotQueries
    from graphrag_dagster.systems.lego.search.path_index import InstanceAnswer


class Index(CorpusIndex):
    """One snapshot of a corpus's index; open it again to see a later publication.

    It holds no lock, so runs can go on meanwhile. It can be used by several threads.
    """

    @staticmethod
    def explorer(name: str, cache: SnapshotCache | None = None) -> Explorer:
        """Return the explorer of a corpus: its map, its rows and their evidence.

        Args:
            name: the corpus.
            cache: keeps open snapshots; default: every access opens its own.

        Raises:
            CorpusError: no such corpus.
        """
        # Imported here because few users of an index need it.
        from graphrag_dagster.apps.explorer.explorer import Explorer

        return Explorer(name, cache=cache)

    def sql(self, query: str, *, seconds: float = 60.0, megabytes: int = 1000) -> pl.DataFrame:
        """Return the rows of one SQL statement over the tables of this snapshot.

        It can only read, and has neither files nor extensions nor the network. Decimals are floats. What JSON
        has no value for, such as dates, is a text. The tables are in ``docs/reference/tables.md``.

        Args:
            query: a ``select`` statement in DuckDB's SQL.
            seconds: time limit.
            megabytes: memory limit of the query.

        Raises:
            QuestionError: it does not only read, DuckDB refuses it, or it reaches a limit.
            QueryError: the snapshot has been deleted since it was opened.
        """
        queries = cast("SnapshotQueries", self.searcher.index.queries)
        return queries.frame(query, QueryLimits(seconds, megabytes, raisable=False))

    def cypher(self, query: str, parameters: Mapping[str, Any] | None = None) -> GraphQueryRun:
        """Run a Cypher query over the graph; see ``docs/reference/cypher.md`` for the supported subset.

        Args:
            query: a read-only query.
            parameters: values of its ``$names``.

        Raises:
            QuestionError: it is rejected, fails or reaches a limit.
            EngineError: the extra of the graph database is not installed.
            EndpointError: the graph server is unusable.
        """
        return self._corpus_graph().run(query, parameters or {})

    def paths(
        self, question: str, *, instance: str | None = None, entities: Sequence[str] = ()
    ) -> InstanceAnswer:
        """Return the graph paths found by an instance of LEGO-GraphRAG, and its answer.

        Args:
            question: at most 4,000 characters; entities may be in brackets: ``who directed [Alien]``.
            instance: its name, from ``docs/reference/path-instances.md`` or ``paths.custom``; default: the
                one without a model.
            entities: labels of the entities it is about; default: those in brackets, else those it names.

        Raises:
            QuestionError: the question is empty or too long.
            WarehouseError: nothing has been published.
            GraphragError: no such instance, or it cannot be used here.
        """
        from graphrag_dagster.systems.lego.search.instance_definitions import DEFAULT
        from graphrag_dagster.systems.lego.search.path_index import PathIndex

        index = PathIndex(self._warehouse, self.name, self._session("path_asked"))
        return index.ask(question, [instance or DEFAULT.name], entities)[0]

    def ask_graph(self, question: str) -> CypherAnswer:
        """Answer a question by a query over the graph; the answer includes the query's rows.

        Raises:
            QuestionError: the question cannot be turned into a query; the message says which can.
            EngineError: the extra of the graph database is not installed.
            EndpointError: the model endpoint or the graph server is unusable.
        """
        from graphrag_dagster.apps.cypher.settings import CypherSettings
        from graphrag_dagster.apps.cypher.tasks import CYPHER_WRITER
        from graphrag_dagster.apps.cypher.text_to_cypher import query_in_words

        writer = (
            self._session().task(CYPHER_WRITER)
            if self._settings.section(CypherSettings).queries == "model"
            else None
        )
        return query_in_words(validate_question(question), self.searcher.index, self._corpus_graph(), writer)

    def _corpus_graph(self) -> CorpusGraph:
        from graphrag_dagster.apps.cypher.property_graph import CorpusGraph
        from graphrag_dagster.apps.cypher.settings import CypherSettings

        return CorpusGraph(self._warehouse, self.name, self._settings.section(CypherSettings))
