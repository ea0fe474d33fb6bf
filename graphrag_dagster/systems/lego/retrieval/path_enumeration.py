"""Walks and shortest paths of a subgraph, and their order where nothing scores them."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import expand_ranges
from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, PathStore
from graphrag_dagster.kernel.graph.graph_labels import Rows, VerbalizedRows
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, TieRule
from graphrag_dagster.systems.lego.search.reasoning_paths import ModuleUse, PathQuery, Paths, Steps, Subgraph


@dataclass(frozen=True, slots=True)
class RetrievedPaths:
    """Paths, the best first, and what they cost.

    ``cut``: more were there than are looked at, such as of all simple paths.
    """

    paths: Paths
    use: ModuleUse = field(default_factory=ModuleUse)
    cut: bool = False


class PathRetriever(Protocol):
    """Finds paths in a subgraph."""

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> RetrievedPaths:
        """Return paths from the seeds, the best first."""


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
    def start(cls, places: Longs) -> "Walks":
        """Return walks of no step from nodes."""
        return cls(places[:, None], np.zeros((len(places), 0), dtype=np.int64))

    @property
    def ends(self) -> Longs:
        """Last node of each."""
        return self.nodes[:, -1]

    def at(self, places: Longs) -> "Walks":
        """Return some of them."""
        return Walks(self.nodes[places], self.taken[places])

    def extend(self, of: Longs, taken: Longs, steps: Steps) -> "Walks":
        """Return walks ``of`` this, each a step longer."""
        return Walks(
            np.column_stack([self.nodes[of], steps.ends[taken]]), np.column_stack([self.taken[of], taken])
        )

    def next_steps(self, steps: Steps) -> tuple[Longs, Longs]:
        """Return every step that can be made from an end: which walk makes it, and the step."""
        of = np.repeat(np.arange(len(self)), steps.starts[self.ends + 1] - steps.starts[self.ends])
        return of, expand_ranges(steps.starts, self.ends)

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

    def walks_from(self, seeds: tuple[int, ...]) -> Walks:
        """Return walks of no step from nodes of the store."""
        return Walks.start(self.subgraph.places(np.asarray(seeds, dtype=np.int64)))

    def labels(self, places: Longs) -> Rows:
        """Return the pieces of nodes by their places in the subgraph."""
        return self.subgraph.store.label_of[self.subgraph.nodes[places]]

    def relations(self, taken: Longs) -> Rows:
        """Return the pieces of steps' relations."""
        steps, vocabulary = self.steps, self.subgraph.store.vocabulary
        return vocabulary.relation_pieces(steps.relations[taken], steps.inverse[taken])

    def texts(self, walks: Walks) -> VerbalizedRows:
        """Return walks as texts."""
        rows = np.empty((len(walks), 2 * walks.taken.shape[1] + 1), dtype=np.int32)
        rows[:, 0::2] = self.labels(walks.nodes)
        rows[:, 1::2] = self.relations(walks.taken)
        return VerbalizedRows(self.subgraph.store.vocabulary, rows)

    def last_triples(self, begins: Longs, taken: Longs) -> VerbalizedRows:
        """Return steps from nodes as texts, as they are walked."""
        rows = (self.labels(begins), self.relations(taken), self.labels(self.steps.ends[taken]))
        return VerbalizedRows(self.subgraph.store.vocabulary, np.stack(rows, axis=1).astype(np.int32))

    def paths(self, walks: Walks, scores: Scores | None = None) -> Paths:
        """Return walks of a step or more as paths of the store."""
        return Paths(
            self.subgraph.store,
            self.subgraph.nodes[walks.nodes],
            self.steps.edges[walks.taken],
            self.steps.inverse[walks.taken],
            np.zeros(len(walks)) if scores is None else scores,
        )


class Ordering:
    """Short paths before long ones; those of equal length by a rule, and then as they come.

    Args:
        ties: by the target, by the seed and then the target, or by the edges of the target, few before many,
            and then the target; edges out of it and into it count.
        store: the graph.
    """

    def __init__(self, ties: TieRule, store: PathStore) -> None:
        self._ties = ties
        self._store = store

    def order(self, paths: Paths, seeds: tuple[int, ...]) -> Longs:
        """Return the places of paths in order.

        Args:
            paths: those of each seed in any order of their lengths.
            seeds: from which they begin, in order.
        """
        ends = paths.ends
        known = np.asarray(seeds, dtype=np.int64)
        rising = np.argsort(known)
        seed = rising[np.searchsorted(known[rising], paths.nodes[:, 0])] if len(paths) else ends
        keys: tuple[Longs, ...] = (ends, seed)
        if self._ties == "target":
            keys = (seed, ends)
        elif self._ties == "hub_last":
            keys = (seed, ends, self._degrees[ends])
        found: Longs = np.lexsort((*keys, paths.lengths))
        return found

    @cached_property
    def _degrees(self) -> Longs:
        return self._store.degrees("both")


_UNKNOWN, _NAME, _ID = np.int8(-1), np.int8(0), np.int8(1)


class ShortestPaths:
    """One shortest path from each seed to each node that it reaches in ``max_hop`` steps, unscored.

    Of several the one that a breadth-first search comes by which looks at neighbours by relation, then node:
    of parallel edges that with the first relation. Nodes whose labels are ids, as ``skip_ids`` has them, are
    walked through, but are no targets.

    Args:
        options: ``direction``, ``max_hop``, ``skip_ids`` and ``ties``.
        store: the graph.
    """

    def __init__(self, options: PathOptions, store: PathStore) -> None:
        self._followed = store.resolve_direction(options.direction)
        self._hops = options.max_hop
        self._ids = re.compile(options.skip_ids) if options.skip_ids else None
        self._is_id: NDArray[np.int8] = np.full(len(store.labels) if self._ids else 0, _UNKNOWN)
        self._ordering = Ordering(options.ties, store)

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> RetrievedPaths:
        """Return the paths, short ones first; see the port."""
        ground = Ground(subgraph, subgraph.steps(self._followed))
        parts = [Paths.none(subgraph.store)]
        for seed in query.seeds:
            parts += self._from(ground.walks_from((seed,)), ground)
        paths = Paths.concatenate(parts)
        return RetrievedPaths(paths.at(self._ordering.order(paths, query.seeds)))

    def _from(self, walks: Walks, ground: Ground) -> list[Paths]:
        """The paths from one seed, by their lengths."""
        visited = np.zeros(len(ground.subgraph.nodes), dtype=np.bool_)
        visited[walks.ends] = True
        found: list[Paths] = []
        for _ in range(self._hops):
            of, taken = walks.next_steps(ground.steps)
            new = ~visited[ground.steps.ends[taken]]
            of, taken = of[new], taken[new]
            _, first = np.unique(ground.steps.ends[taken], return_index=True)
            if not len(first):
                break
            first.sort()
            walks = walks.extend(of[first], taken[first], ground.steps)
            visited[walks.ends] = True
            found.append(ground.paths(walks.at(np.flatnonzero(self._end_at_targets(ground, walks)))))
        return found

    def _end_at_targets(self, ground: Ground, walks: Walks) -> NDArray[np.bool_]:
        """Whether the last node of each walk has a label that is no id."""
        if self._ids is None:
            return np.ones(len(walks), dtype=np.bool_)
        labels = ground.labels(walks.ends)
        for label in labels[self._is_id[labels] == _UNKNOWN].tolist():
            is_id = self._ids.fullmatch(ground.subgraph.store.labels[label])
            self._is_id[label] = _ID if is_id else _NAME
        found: NDArray[np.bool_] = self._is_id[labels] == _NAME
        return found
