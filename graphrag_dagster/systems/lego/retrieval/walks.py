"""Walks over the steps of a subgraph, grown a step at a time."""

from dataclasses import dataclass

import numpy as np

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.graph.arrays import Longs, spans
from graphrag_dagster.kernel.graph.verbalised import Rows, Verbalised
from graphrag_dagster.systems.lego.instances.found import Paths
from graphrag_dagster.systems.lego.instances.subgraph import Steps, Subgraph


@dataclass(frozen=True, slots=True)
class Walks:
    """Walks of the same number of steps.

    Attributes:
        nodes: by their places in the subgraph [n, steps + 1].
        taken: steps [n, steps].
    """

    nodes: Longs
    taken: Longs

    def __len__(self) -> int:
        return len(self.nodes)

    @classmethod
    def begun(cls, places: Longs) -> "Walks":
        """Return walks of no step from nodes."""
        return cls(places[:, None], np.zeros((len(places), 0), dtype=np.int64))

    @property
    def ends(self) -> Longs:
        """Last node of each."""
        return self.nodes[:, -1]

    def at(self, places: Longs) -> "Walks":
        """Return some of them."""
        return Walks(self.nodes[places], self.taken[places])

    def longer(self, of: Longs, taken: Longs, steps: Steps) -> "Walks":
        """Return walks ``of`` this, each a step longer."""
        return Walks(
            np.column_stack([self.nodes[of], steps.ends[taken]]), np.column_stack([self.taken[of], taken])
        )

    def onwards(self, steps: Steps) -> tuple[Longs, Longs]:
        """Return every step that can be made from an end: which walk makes it, and the step."""
        of = np.repeat(np.arange(len(self)), steps.starts[self.ends + 1] - steps.starts[self.ends])
        return of, spans(steps.starts, self.ends)

    def revisits(self, of: Longs, taken: Longs, steps: Steps) -> Longs:
        """Return whether a step leads to a node that its walk has been at."""
        found: Longs = (self.nodes[of] == steps.ends[taken][:, None]).any(axis=1)
        return found


@dataclass(frozen=True)
class Ground:
    """A subgraph with its steps, in which walks are texts and paths.

    Attributes:
        subgraph: in which is walked.
        steps: that can be made.
    """

    subgraph: Subgraph
    steps: Steps

    def begun_at(self, seeds: tuple[int, ...]) -> Walks:
        """Return walks of no step from nodes of the store."""
        return Walks.begun(self.subgraph.places(np.asarray(seeds, dtype=np.int64)))

    def labels(self, places: Longs) -> Rows:
        """Return the pieces of nodes by their places in the subgraph."""
        return self.subgraph.store.label_of[self.subgraph.nodes[places]]

    def relations(self, taken: Longs) -> Rows:
        """Return the pieces of steps' relations."""
        steps, vocabulary = self.steps, self.subgraph.store.vocabulary
        return vocabulary.relation_pieces(steps.relations[taken], steps.inverse[taken])

    def texts(self, walks: Walks) -> Verbalised:
        """Return walks as texts."""
        rows = np.empty((len(walks), 2 * walks.taken.shape[1] + 1), dtype=np.int32)
        rows[:, 0::2] = self.labels(walks.nodes)
        rows[:, 1::2] = self.relations(walks.taken)
        return Verbalised(self.subgraph.store.vocabulary, rows)

    def last_triples(self, begins: Longs, taken: Longs) -> Verbalised:
        """Return steps from nodes as texts, as they are walked."""
        rows = (self.labels(begins), self.relations(taken), self.labels(self.steps.ends[taken]))
        return Verbalised(self.subgraph.store.vocabulary, np.stack(rows, axis=1).astype(np.int32))

    def paths(self, walks: Walks, scores: Scores | None = None) -> Paths:
        """Return walks of a step or more as paths of the store."""
        return Paths(
            self.subgraph.store,
            self.subgraph.nodes[walks.nodes],
            self.steps.edges[walks.taken],
            self.steps.inverse[walks.taken],
            np.zeros(len(walks)) if scores is None else scores,
        )
