"""What structural vectors share: weights of neighbours, numbers of dimensions, and what counts as nothing."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.core.graph.network import Network

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
