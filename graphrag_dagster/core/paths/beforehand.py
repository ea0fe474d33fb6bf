"""What is made of a graph beforehand, for extractions that look through all of it (paper B.7)."""

from dataclasses import dataclass

from graphrag_dagster.core.paths.community_reports import ReportedCommunities
from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.subgraphs.partition import Partition
from graphrag_dagster.core.paths.subgraphs.vectors import TextVectors


@dataclass(frozen=True)
class Beforehand:
    """What there is.

    Attributes:
        partition: communities of the nodes.
        reported: communities of the corpus, with the vectors of their reports.
        labels: vectors of the labels.
        triples: vectors of the triples.
    """

    partition: Partition | None = None
    reported: ReportedCommunities | None = None
    labels: TextVectors | None = None
    triples: TextVectors | None = None

    def vectors(self, options: PathOptions) -> TextVectors | None:
        """Return the vectors that an extraction looks through; None for one that looks through none."""
        return self.triples if options.extraction == "triple_vectors" else self.labels


def needs_embedder(options: PathOptions) -> bool:
    """Whether subgraphs are found by vectors of the question."""
    return options.extraction in ("node_vectors", "triple_vectors") or by_reports(options)


def by_reports(options: PathOptions) -> bool:
    """Whether the community of the report that is nearest to the question is looked through."""
    return options.extraction == "partition" and options.partitions == "report"


def needs_beforehand(options: PathOptions) -> bool:
    """Whether something has to be made of the graph before the first question."""
    return options.extraction == "partition" or needs_embedder(options)
