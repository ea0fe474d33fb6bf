"""The port to what gives a question a part of the graph."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.subgraph import Subgraph
from graphrag_dagster.core.paths.use import ModuleUse


@dataclass(frozen=True, slots=True)
class Extracted:
    """A part of the graph, and what it cost."""

    subgraph: Subgraph
    use: ModuleUse = field(default_factory=ModuleUse)


class SubgraphExtractor(Protocol):
    """Gives a question a part of the graph."""

    def extract(self, query: PathQuery) -> Extracted:
        """Return the part that the question is about; the seeds are always in it.

        Without a seed it is empty, unless the extractor needs none.

        Raises:
            QuestionError: a seed is no node of the graph.
        """

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Find out beforehand what extractors that look at the same graph share, such as PageRank.

        It changes no result; its time can then be told from theirs, and who comes first does not bear it alone.
        """
