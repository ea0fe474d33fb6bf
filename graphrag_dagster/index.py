"""An indexed corpus to ask, with all that systems and applications offer: what the doors open.

>>> from graphrag_dagster import Index
>>> answer = Index.open("coast").ask("Who led the Dockers Union?", method="basic")
>>> answer.sources[0].evidence.path, answer.sources[0].evidence.quotation
('news/strike.md', 'Hanna Quill led the Dockers Union.')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex
from graphrag_dagster.kernel.questions.question import checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphrag_dagster.apps.cypher.property_graph import CorpusGraph, GraphQueryRun
    from graphrag_dagster.apps.cypher.text_to_cypher import CypherAnswer
    from graphrag_dagster.apps.explorer.explorer import Explorer
    from graphrag_dagster.apps.explorer.open_snapshots import SnapshotCache
    from graphrag_dagster.systems.lego.search.path_index import InstanceAnswer


class Index(CorpusIndex):
    """One snapshot of a corpus's index; open it anew to see what a later run published.

    It holds no lock: runs go on while it is asked. Several threads may ask at once.
    """

    @staticmethod
    def explorer(name: str, cache: SnapshotCache | None = None) -> Explorer:
        """Return what a person sees of a corpus: its map, its rows, and the words they rest on.

        Args:
            name: the corpus.
            cache: keeps snapshots open between looks; default: every look opens its own.

        Raises:
            CorpusError: there is no such corpus.
        """
        # Of those who ask, few look around.
        from graphrag_dagster.apps.explorer.explorer import Explorer

        return Explorer(name, cache=cache)

    def cypher(self, query: str, parameters: Mapping[str, Any] | None = None) -> GraphQueryRun:
        """Run a query in Cypher over the graph; see ``docs/cypher.md`` for what is allowed.

        Args:
            query: one that only reads.
            parameters: values of its ``$names``.

        Raises:
            QuestionError: it is refused, fails or reaches a limit.
            EngineError: the extra of the graph's database is not installed.
            EndpointError: the server of the graph cannot be used.
        """
        return self._corpus_graph().run(query, parameters or {})

    def paths(
        self, question: str, *, instance: str | None = None, entities: Sequence[str] = ()
    ) -> InstanceAnswer:
        """Return the paths of the graph that an instance of LEGO-GraphRAG finds, and what it answers.

        Args:
            question: at most 4,000 characters; entities may stand in brackets: ``who directed [Alien]``.
            instance: its name, as ``docs/paths.md`` lists them, or of one of ``paths.custom``;
                default: the one without a model.
            entities: labels of those the question is about; default: those in brackets, else those that it
                names.

        Raises:
            QuestionError: the question is empty or too long.
            WarehouseError: nothing has been published.
            GraphragError: there is no such instance, or it cannot be made here.
        """
        from graphrag_dagster.systems.lego.search.instance_definitions import DEFAULT
        from graphrag_dagster.systems.lego.search.path_index import PathIndex

        index = PathIndex(self._warehouse, self.name, self._session("path_asked"))
        return index.ask(question, [instance or DEFAULT.name], entities)[0]

    def ask_graph(self, question: str) -> CypherAnswer:
        """Answer a question by a query over the graph, which comes with its rows.

        Raises:
            QuestionError: no query can be made of the question; says which can be asked.
            EngineError: the extra of the graph's database is not installed.
            EndpointError: the model endpoint, or the server of the graph, cannot be used.
        """
        from graphrag_dagster.apps.cypher.settings import CypherSettings
        from graphrag_dagster.apps.cypher.tasks import CYPHER_WRITER
        from graphrag_dagster.apps.cypher.text_to_cypher import query_in_words

        writer = (
            self._session().task(CYPHER_WRITER)
            if self._settings.section(CypherSettings).queries == "model"
            else None
        )
        return query_in_words(checked(question), self.searcher.index, self._corpus_graph(), writer)

    def _corpus_graph(self) -> CorpusGraph:
        from graphrag_dagster.apps.cypher.property_graph import CorpusGraph
        from graphrag_dagster.apps.cypher.settings import CypherSettings

        return CorpusGraph(self._warehouse, self.name, self._settings.section(CypherSettings))
