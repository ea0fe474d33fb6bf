"""The port to what gives a question a part of the graph."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.systems.lego.instances.found import ModuleUse, PathQuery
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph


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

        It changes no result; so its time can be told from theirs, and the first does not bear it alone.
        """
