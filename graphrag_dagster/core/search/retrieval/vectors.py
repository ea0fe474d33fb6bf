"""Meaning: the vectors of rows."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def rows_of(ids: Sequence[str], frame: pl.DataFrame | None, key: str) -> Vectors | None:
    """Return the vectors of ids [n, d] in their order, zeros where the frame has none.

    Args:
        ids: what the rows are for.
        frame: columns ``key`` and ``vector``, a list or array of floats.
        key: the column with the ids.

    Returns:
        the array, or None where there is no frame or it has no row for any of the ids.
    """
    if frame is None or frame.is_empty():
        return None
    places = {found: place for place, found in enumerate(frame[key])}
    taken = [(row, places[wanted]) for row, wanted in enumerate(ids) if wanted in places]
    if not taken:
        return None
    column = frame["vector"]
    if isinstance(column.dtype, pl.List):
        column = column.list.to_array(len(column[0]))
    found = column.to_numpy().astype(np.float32, copy=False)
    rows = np.zeros((len(ids), found.shape[1]), dtype=np.float32)
    targets, sources = zip(*taken, strict=True)
    rows[list(targets)] = found[list(sources)]
    return rows
