"""Subgraphs of the nodes that a walk from the seeds is most probably at."""

from collections.abc import Callable, Iterable

import numpy as np

from graphrag_dagster.errors import GraphragError, QuestionError
from graphrag_dagster.kernel.common.stable_scores import comparable
from graphrag_dagster.kernel.graph.arrays import Longs, PathStore
from graphrag_dagster.systems.lego.instances.found import PathQuery
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.subgraphs.adjacency import Mass
from graphrag_dagster.systems.lego.subgraphs.port import Extracted

Seeds = tuple[int, ...]


class RankedSubgraphs:
    """The most probable nodes of each question with the edges among them (SBE).

    Args:
        store: the graph.
        ranks: gives the probability of each node [n] for seeds; 0 for those that are not reached.
        most: nodes of a subgraph; only seeds can be more.
        prepare: finds ranks out beforehand, where they are remembered.

    Raises:
        GraphragError: ``most`` is below 1.
    """

    def __init__(
        self,
        store: PathStore,
        ranks: Callable[[Seeds], Mass],
        most: int,
        prepare: Callable[[Iterable[Seeds]], None] | None = None,
    ) -> None:
        if most < 1:
            raise GraphragError(f"max_ent {most}: a subgraph has one node or more")
        self._store, self._ranks, self._most, self._prepare = store, ranks, most, prepare

    def extract(self, query: PathQuery) -> Extracted:
        """Return the subgraph of a question; without a seed it is empty."""
        seeds = checked(self._store, query)
        if not seeds:
            return Extracted(Subgraph.of_nodes(self._store, np.zeros(0, dtype=np.int64), ()))
        nodes = largest(self._ranks(seeds), self._most, seeds)
        return Extracted(Subgraph.of_nodes(self._store, nodes, seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Find out the ranks of several questions beforehand, where they are remembered."""
        if self._prepare is not None:
            self._prepare(checked(self._store, query) for query in queries if query.seeds)


def largest(ranks: Mass, most: int, seeds: tuple[int, ...]) -> Longs:
    """Return the nodes of the largest ranks, in order of the nodes; equal ranks: the first nodes.

    Seeds come before all others; what has a rank of 0 does not come.
    """
    chosen = np.asarray(seeds, dtype=np.int64)
    reached = ranks > 0
    reached[chosen] = True
    nodes = np.flatnonzero(reached).astype(np.int64)
    rounded = comparable(ranks[nodes])
    rounded[np.searchsorted(nodes, chosen)] = np.inf
    most = max(most, len(seeds))
    if len(nodes) > most:
        border = np.partition(rounded, len(nodes) - most)[len(nodes) - most]
        above, equal = nodes[rounded > border], nodes[rounded == border]
        nodes = np.sort(np.concatenate([above, equal[: most - len(above)]]))
    return nodes


def checked(store: PathStore, query: PathQuery) -> tuple[int, ...]:
    """Return the seeds of a question.

    Raises:
        QuestionError: one is no node of the graph.
    """
    for seed in query.seeds:
        if not 0 <= seed < store.nodes:
            raise QuestionError(
                f"{query.question!r}: seed {seed} is not in the graph, which has the nodes "
                f"0 to {store.nodes - 1}; link the question to this graph"
            )
    return query.seeds
