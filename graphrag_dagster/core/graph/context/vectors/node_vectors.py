"""What vectors of nodes are."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError


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
