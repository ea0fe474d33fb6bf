"""Which records of a corpus are written: those that came with its graphs, or those made of them."""

from dataclasses import dataclass

from graphrag_dagster.operations.exporting.source import Source


@dataclass(frozen=True, slots=True)
class Kept:
    """What came from elsewhere and is the corpus's own.

    Attributes:
        graph: the corpus is of the kind graph.
        communities: its communities are those that came.
        reports: its reports are those that came, of these communities.
    """

    graph: bool
    communities: bool
    reports: bool


def kept_of(source: Source) -> Kept:
    """Return what a snapshot has kept."""
    chosen = source.settings.get("imports") or {}
    graph = source.settings.get("kind") == "graph"
    communities = graph and chosen.get("communities") == "kept" and source.count("imports_communities") > 0
    reports = communities and chosen.get("reports") == "kept" and source.count("imports_reports") > 0
    return Kept(graph, communities, reports)
