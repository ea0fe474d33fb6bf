"""What vectors of nodes are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.network import Network


@dataclass(frozen=True, slots=True)
class NodeVectors:
    """Vectors of nodes, of any length: they are compared by their cosine.

    Attributes:
        ids: of the nodes, distinct.
        matrix: shape [nodes, d], finite; zeros for a node that there is nothing to compare of.
        name: what made them, with all that decides them.

    Raises:
        GraphragError: there are not as many rows as ids, an id comes twice, or a number is not finite; names
            the node.
    """

    ids: pl.Series
    matrix: NDArray[np.float32]
    name: str

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.ids):
            raise GraphragError(
                f"The vectors {self.name} have the shape {self.matrix.shape}; {len(self.ids)} nodes need "
                "a row each"
            )
        twice = self.ids.filter(self.ids.is_duplicated())
        if len(twice):
            raise GraphragError(f"The vectors {self.name} have node {twice[0]!r} twice; each may stand once")
        wrong = np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))
        if len(wrong):
            raise GraphragError(
                f"The vectors {self.name} are not finite for {len(wrong)} nodes, e.g. "
                f"{self.ids[int(wrong[0])]!r}: embed the entities again, with another embedder if need be"
            )

    def of(self, ids: pl.Series) -> NDArray[np.float32]:
        """Return the rows of nodes in the order of their ids; zeros for those that there are none of."""
        if ids.equals(self.ids):
            return self.matrix
        places = pl.DataFrame({"id": ids}).join(
            pl.DataFrame({"id": self.ids, "place": np.arange(len(self.ids))}),
            on="id",
            how="left",
            maintain_order="left",
        )["place"]
        found = np.zeros((len(ids), self.matrix.shape[1]), dtype=np.float32)
        known = places.is_not_null().to_numpy()
        found[known] = self.matrix[places.drop_nulls().to_numpy()]
        return found


#: Steps along edges within which nodes are near each other (spec_context_leiden §2).
WINDOW = 5
_WIDE, _NARROW, _SMALL_GRAPH = 128, 64, 1000
#: Share of the longest row below which a row is what rounding leaves of zeros.
_NOTHING = 1e-5


def dimension(nodes: int) -> int:
    """Return how long structural vectors are: 128, in graphs of less than 1,000 nodes 64."""
    return _NARROW if nodes < _SMALL_GRAPH else _WIDE


def weights(graph: Network, ids: pl.Series) -> Any:
    """Return the symmetric sparse matrix of weights, SciPy's ``csr_array``, in the order of sorted ids."""
    from scipy.sparse import csr_array

    places = ids.search_sorted(graph.names).to_numpy().astype(np.int64)
    low, high = places[graph.low], places[graph.high]
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    found = csr_array((np.tile(graph.weight, 2), ends), shape=(len(ids), len(ids)))
    found.eliminate_zeros()
    found.sort_indices()
    return found


def inverted(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / values, 0 for 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def without_noise(matrix: NDArray[np.float32], present: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Set rows to zeros: those of nodes without an edge, and those of which only rounding is left."""
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1))
    matrix[~present | (lengths <= _NOTHING * lengths.max(initial=0.0))] = 0
    return matrix
