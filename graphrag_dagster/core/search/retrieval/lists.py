"""Many short lists of numbers in two flat arrays."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays

Places = NDArray[np.int64]
Weights = NDArray[np.float64]
_ARRAYS = ("starts", "values", "weights")


@dataclass(frozen=True, slots=True)
class WeightedLists:
    """List i holds ``values[starts[i]:starts[i + 1]]``, ascending and distinct, with as many ``weights``."""

    starts: Places
    values: Places
    weights: Weights

    @classmethod
    def of_pairs(cls, count: int, owners: Places, values: Places, weights: Weights) -> "WeightedLists":
        """Sort pairs into ``count`` lists; of equal pairs the largest weight stays."""
        order = np.lexsort((-weights, values, owners))
        owners, values, weights = owners[order], values[order], weights[order]
        first = np.ones(len(owners), dtype=bool)
        first[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
        starts = np.searchsorted(owners[first], np.arange(count + 1))
        return cls(starts.astype(np.int64), values[first], weights[first])

    def write(self, folder: Path) -> None:
        """Write them into a folder that is there; see :meth:`opened`."""
        write_arrays(folder, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def opened(cls, folder: Path) -> "WeightedLists":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        return cls(**mapped_arrays(folder, _ARRAYS))

    @property
    def owners(self) -> Places:
        """The list that each of the values is in."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def of(self, owner: int) -> Places:
        """Return the values of one list."""
        return self.values[self.starts[owner] : self.starts[owner + 1]]

    def weights_of(self, owner: int) -> Weights:
        """Return the weights of one list."""
        return self.weights[self.starts[owner] : self.starts[owner + 1]]

    def of_all(self, owners: Places) -> tuple[Places, Places, Weights]:
        """Return the lists of several owners one after the other.

        Returns:
            three arrays of one length: the place in ``owners``, the value, the weight.
        """
        begins = self.starts[owners]
        sizes = self.starts[owners + 1] - begins
        which = np.repeat(np.arange(len(owners)), sizes)
        skipped = np.concatenate(([0], np.cumsum(sizes)[:-1])) if len(sizes) else sizes
        flat = np.arange(int(sizes.sum())) + np.repeat(begins - skipped, sizes)
        return which, self.values[flat], self.weights[flat]
