"""Meaning: the vectors of rows."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def rows_of(ids: Sequence[str] | pl.Series, frame: pl.DataFrame | None, key: str) -> Vectors | None:
    """Return the vectors of ids [n, d] in their order, zeros where the frame has none.

    Those of a frame that lie in the same order are not copied.

    Args:
        ids: what the rows are for.
        frame: columns ``key`` and ``vector``, a list or array of floats.
        key: the column with the ids.

    Returns:
        the array, or None where there is no frame or it has no row for any of the ids.
    """
    if frame is None or frame.is_empty():
        return None
    wanted = pl.Series(key, ids, dtype=pl.String)
    if frame[key].equals(wanted):
        return _array(frame["vector"])
    known = frame.select(pl.col(key), source=pl.int_range(pl.len())).unique(key, keep="last")
    places = pl.DataFrame({key: wanted, "row": pl.int_range(len(wanted), eager=True)})
    taken = places.join(known, on=key).sort("row")
    if taken.is_empty():
        return None
    found = _array(frame["vector"])
    rows = np.zeros((len(wanted), found.shape[1]), dtype=np.float32)
    rows[taken["row"].to_numpy()] = found[taken["source"].to_numpy()]
    return rows


def _array(column: pl.Series) -> Vectors:
    if isinstance(column.dtype, pl.List):
        column = column.list.to_array(len(column[0]))
    found: Vectors = column.to_numpy().astype(np.float32, copy=False)
    return found
