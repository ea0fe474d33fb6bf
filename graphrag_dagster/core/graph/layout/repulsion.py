"""Repulsion between all points, by mass over distance, summed on a grid.

The masses are spread over the four nearest cells, the potential is their convolution with a logarithm, and
its slope is read off again between the cells: the time grows with the points and the cells, not with the
pairs. Below the width of a cell points hardly repel each other.
"""

import numpy as np

from graphrag_dagster.core.graph.layout.bodies import Floats

_FEWEST_CELLS, _MOST_CELLS = 32, 512
_CELLS_PER_SPACING = 2.5


class Repulsion:
    """The forces between points, of which the number stays the same.

    Args:
        points: how many there are; decides how fine the grid is.
    """

    def __init__(self, points: int) -> None:
        wanted = _CELLS_PER_SPACING * np.sqrt(max(points, 1))
        self._cells = int(2 ** np.clip(np.ceil(np.log2(wanted)), *np.log2([_FEWEST_CELLS, _MOST_CELLS])))
        side = 2 * self._cells
        offset = np.minimum(np.arange(side), side - np.arange(side)).astype(np.float64)
        potential = -0.5 * np.log(offset[:, None] ** 2 + offset[None] ** 2 + 0.5)
        self._kernel = np.fft.rfft2(potential)

    def of(self, places: Floats, mass: Floats) -> Floats:
        """Return for every point the sum over the others of mass over distance, away from them.

        Args:
            places: shape [points, 2].
            mass: shape [points].
        """
        cells = self._cells
        reach = float(np.abs(places).max()) + 1e-3
        # A cell is left free at each side: slopes are taken across two.
        width = 2 * reach / (cells - 5)
        x, y = (places.T + reach) / width + 2
        column, row = x.astype(np.int64), y.astype(np.int64)
        right, up = x - column, y - row
        near = column * cells + row
        corners = (
            (near, (1 - right) * (1 - up)),
            (near + 1, (1 - right) * up),
            (near + cells, right * (1 - up)),
            (near + cells + 1, right * up),
        )
        spread = np.zeros(cells * cells)
        for corner, share in corners:
            spread += np.bincount(corner, mass * share, cells * cells)
        potential = self._potential(spread.reshape(cells, cells))
        force = np.empty_like(places)
        for axis in (0, 1):
            slope = (np.roll(potential, 1, axis) - np.roll(potential, -1, axis)).ravel()
            force[:, axis] = sum(slope[corner] * share for corner, share in corners)
        return force / (2 * width)

    def _potential(self, spread: Floats) -> Floats:
        cells, side = self._cells, 2 * self._cells
        waves = np.fft.rfft2(spread, (side, side))
        potential: Floats = np.fft.irfft2(waves * self._kernel, (side, side))
        return potential[:cells, :cells]
