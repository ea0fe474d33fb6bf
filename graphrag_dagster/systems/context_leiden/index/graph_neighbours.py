"""The neighbours of numbered nodes, in the form that breadth-first searches need."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.undirected_graph import Network

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NeighbourLists:
    """An undirected graph without loops, repeats or weights.

    Attributes:
        starts: shape [nodes + 1]; the neighbours of a node begin at its own and end at the next.
        neighbours: shape [2 · edges], of each node ascending.
    """

    starts: Places
    neighbours: NDArray[np.int32]

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.starts) - 1

    @property
    def degrees(self) -> Places:
        """Neighbours of every node."""
        return np.diff(self.starts)

    def matrix(self, dtype: type[np.generic] = np.float64) -> Any:
        """Return the graph as a sparse matrix of ones, SciPy's ``csr_array``."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.neighbours), dtype=dtype)
        return csr_array((ones, self.neighbours, self.starts), shape=(self.nodes, self.nodes))

    def neighbours_of(self, nodes: Places) -> tuple[Places, NDArray[np.int32]]:
        """Return the neighbours of nodes one after the other, and where those of each begin."""
        counts = self.starts[nodes + 1] - self.starts[nodes]
        begins = np.cumsum(counts) - counts
        places = np.repeat(self.starts[nodes] - begins, counts)
        places += np.arange(len(places))
        return begins, self.neighbours[places]

    def portions(self, nodes: Places, most: int) -> Iterator[slice]:
        """Split nodes into runs with at most so many neighbours together, one node at least."""
        ends = np.cumsum(self.starts[nodes + 1] - self.starts[nodes])
        begin, before = 0, 0
        while begin < len(nodes):
            end = max(int(np.searchsorted(ends, before + most, side="right")), begin + 1)
            yield slice(begin, end)
            begin, before = end, int(ends[end - 1])


def adjacency(graph: Network, ids: pl.Series) -> NeighbourLists:
    """Return the neighbours of the nodes of these ids.

    Args:
        graph: the edges.
        ids: sorted and distinct, with all names of the graph; others are nodes without an edge.
    """
    places = ids.search_sorted(graph.names).to_numpy().astype(np.int64)
    low, high = places[graph.low], places[graph.high]
    source, target = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((target, source))
    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=len(ids)))])
    return NeighbourLists(starts.astype(np.int64), target[order].astype(np.int32))
