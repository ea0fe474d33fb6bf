"""The port to what finds paths in a subgraph."""

from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.systems.lego.instances.found import ModuleUse, PathQuery, Paths
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Paths, the best first, and what they cost.

    ``cut``: more were there than are looked at, such as of all simple paths.
    """

    paths: Paths
    use: ModuleUse = field(default_factory=ModuleUse)
    cut: bool = False


class PathRetriever(Protocol):
    """Finds paths in a subgraph."""

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> Retrieved:
        """Return paths from the seeds, the best first."""
