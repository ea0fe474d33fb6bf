"""Which community each node is most like (spec_context_leiden §3).

The mean cosine of a node with all members of a community is the product of its unit vector and the mean of
theirs, so that nodes are compared to communities instead of to each other.
"""

from dataclasses import dataclass

import numpy as np

from graphrag_dagster.systems.context_leiden.index.adjacency import Places
from graphrag_dagster.systems.context_leiden.index.units import Doubles, Singles, Units, blocks

#: Similarities that differ by less are equal.
TOLERANCE = 1e-9
#: What single precision may be off: closer than this is decided in double.
_UNSURE = 1e-6
_ROWS, _COLUMNS = 2048, 2048
_ROWS_IN_DOUBLE = 512


@dataclass(frozen=True, slots=True)
class Alignment:
    """To what the clustered nodes are most similar.

    Attributes:
        target: of each node the community that it is most like: its own where none is more so.
        home: mean cosine with its own community.
        similarity: mean cosine with the target.
    """

    target: Places
    home: Doubles
    similarity: Doubles


def alignment(units: Units, members: Places, labels: Places, *, include_self: bool) -> Alignment:
    """Return of each member of a partition the community with the highest mean cosine.

    Of equal ones (to 1e-9) its own comes first, then the lowest number. Products are taken in single
    precision by blocks; those within 1e-6 of a tie are decided in double. A node without a vector stays with
    its own, at similarity 0, and counts in the size of its community.

    Args:
        units: vectors of all nodes.
        members: the rows of the clustered nodes.
        labels: of each of these its community, 0…; none is empty.
        include_self: see :class:`~graphrag_dagster.systems.context_leiden.settings.ContextSettings`.

    Returns:
        arrays of the length of ``members``.
    """
    means, sizes = community_means(units, members, labels)
    home = units.dots(members, means, labels)
    if not include_self:
        present = units.present[members]
        others = np.maximum(sizes[labels] - 1, 1)
        home = np.where(present & (sizes[labels] > 1), (sizes[labels] * home - 1) / others, 0.0)
    target = labels.copy()
    # No product with a mean is larger than its length.
    highest = np.sqrt(np.square(means).sum(axis=1)).max(initial=0.0)
    open_ = np.flatnonzero(units.present[members] & (home < highest - TOLERANCE))
    if len(means) > 1 and len(open_):
        target[open_] = _targets(units, members[open_], labels[open_], home[open_], means)
    similarity = home.copy()
    moved = np.flatnonzero(target != labels)
    similarity[moved] = units.dots(members[moved], means, target[moved])
    return Alignment(target, home, similarity)


def community_means(units: Units, members: Places, labels: Places) -> tuple[Doubles, Places]:
    """Return the mean unit vector of each community, not of length 1 itself, and the sizes."""
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), units.dimension))
    order = np.argsort(labels, kind="stable")
    for some in blocks(len(order)):
        chosen = order[some]
        found = labels[chosen]
        first = np.flatnonzero(np.diff(found, prepend=-1))
        sums[found[first]] += np.add.reduceat(units.double(members[chosen]), first, axis=0)
    return sums / sizes[:, None], sizes


def _targets(units: Units, rows: Places, own: Places, home: Doubles, means: Doubles) -> Places:
    single = means.astype(np.float32).T.copy()
    target = own.copy()
    buffer = np.empty(_ROWS * _COLUMNS, dtype=np.float32)
    for some in blocks(len(rows), _ROWS):
        best, place, second = _nearest_other(units.single(rows[some]), single, own[some], home[some], buffer)
        ahead = best - home[some]
        sure = np.where(ahead > 0, best - second > _UNSURE, True) & (np.abs(ahead) > _UNSURE)
        target[some] = np.where(sure & (ahead > 0), place, own[some])
        unsure = np.flatnonzero(~sure) + some.start
        for part in blocks(len(unsure), _ROWS_IN_DOUBLE):
            chosen = unsure[part]
            target[chosen] = _decided(units.double(rows[chosen]), own[chosen], home[chosen], means)
    return target


def _nearest_other(
    rows: Singles, means: Singles, own: Places, home: Doubles, buffer: Singles
) -> tuple[Singles, Places, Singles]:
    """Return of each row the largest product with a mean but its own, which mean, and the second largest.

    The second is not looked for beside a largest that is less than that of the own community.
    """
    count = np.arange(len(rows))
    best = np.full(len(rows), -np.inf, dtype=np.float32)
    second, place = best.copy(), np.zeros(len(rows), dtype=np.int64)
    for some in blocks(means.shape[1], _COLUMNS):
        wide = some.stop - some.start
        tile = buffer[: len(rows) * wide].reshape(len(rows), wide)
        np.matmul(rows, means[:, some], out=tile)
        inside = np.flatnonzero((own >= some.start) & (own < some.stop))
        tile[inside, own[inside] - some.start] = -np.inf
        at = tile.argmax(axis=1)
        high = tile[count, at]
        second = np.maximum(second, np.minimum(best, high))
        rivals = np.flatnonzero(high >= home - _UNSURE)
        tile[rivals, at[rivals]] = -np.inf
        second[rivals] = np.maximum(second[rivals], tile[rivals].max(axis=1))
        place = np.where(high > best, at + some.start, place)
        best = np.maximum(best, high)
    return best, place, second


def _decided(rows: Doubles, own: Places, home: Doubles, means: Doubles) -> Places:
    products = rows @ means.T
    products[np.arange(len(rows)), own] = -np.inf
    highest = products.max(axis=1)
    lowest_number = (products >= highest[:, None] - TOLERANCE).argmax(axis=1)
    return np.where(home >= highest - TOLERANCE, own, lowest_number)
