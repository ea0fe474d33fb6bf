"""Cosine similarity of nodes to communities (paper §III.A, step 2), and exact nearest nodes.

The mean cosine of a node with all members of a community is the product of its unit vector and the mean of
theirs, so that nodes are compared to communities instead of to each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.context_leiden.index.graph_neighbours import Places

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]

_AT_ONCE = 8192


class UnitVectors:
    """The rows of a matrix, brought to length 1 in double precision a few at a time.

    Args:
        matrix: shape [n, d], finite; a row of zeros stays so, and has cosine 0 with all.
    """

    def __init__(self, matrix: Singles) -> None:
        self._matrix = matrix
        self._lengths = np.empty(len(matrix))
        for rows in blocks(len(matrix)):
            self._lengths[rows] = np.sqrt(np.square(matrix[rows], dtype=np.float64).sum(axis=1))

    def __len__(self) -> int:
        return len(self._matrix)

    @property
    def dimension(self) -> int:
        """Length of the rows."""
        return int(self._matrix.shape[1])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows are not zeros."""
        return self._lengths > 0

    def double(self, rows: Places) -> Doubles:
        """Return rows of length 1, shape [rows, d]."""
        lengths = self._lengths[rows]
        found: Doubles = self._matrix[rows] / np.where(lengths > 0, lengths, 1.0)[:, None]
        return found

    def single(self, rows: Places) -> Singles:
        """Return rows of length 1 in single precision, shape [rows, d]."""
        return self.double(rows).astype(np.float32)

    def dots(self, rows: Places, others: Doubles, which: Places) -> Doubles:
        """Return of each of the rows its product with the one of ``others`` that ``which`` names."""
        found = np.empty(len(rows))
        for some in blocks(len(rows)):
            found[some] = np.einsum("ij,ij->i", self.double(rows[some]), others[which[some]])
        return found


def blocks(count: int, size: int = _AT_ONCE) -> Iterator[slice]:
    """Split so many rows into slices of at most ``size``."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


#: Similarities that differ by less are equal.
TOLERANCE = 1e-9
#: What single precision may be off: closer than this is decided in double.
_UNSURE = 1e-6
_ROWS, _COLUMNS = 2048, 2048
_ROWS_IN_DOUBLE = 512


@dataclass(frozen=True, slots=True)
class CommunityAlignment:
    """To what the clustered nodes are most similar.

    Attributes:
        target: of each node the community that it is most like: its own where none is more so.
        home: mean cosine with its own community.
        similarity: mean cosine with the target.
    """

    target: Places
    home: Doubles
    similarity: Doubles


def alignment(
    units: UnitVectors, members: Places, labels: Places, *, include_self: bool
) -> CommunityAlignment:
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
    return CommunityAlignment(target, home, similarity)


def community_means(units: UnitVectors, members: Places, labels: Places) -> tuple[Doubles, Places]:
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


def _targets(units: UnitVectors, rows: Places, own: Places, home: Doubles, means: Doubles) -> Places:
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


#: Products that are held at once.
_PRODUCTS = 2**25
#: What single precision may be off.
#: Similarities that differ in later digits alone are equal.
_DIGITS = 9
_GROUP = 64
_PAIRS_AT_ONCE = 2**16


def nearest_nodes(units: UnitVectors, members: Places, places: Places, count: int) -> Places:
    """Return of some members the most similar others, best first; of equals the lower number.

    Args:
        units: vectors of all nodes.
        members: the nodes among which to look.
        places: of those that are looked for, among ``members``.
        count: how many; all others where there are fewer.

    Returns:
        places among ``members``, shape [places, count].
    """
    found = np.empty((len(places), min(count, len(members) - 1)), dtype=np.int64)
    single = units.single(members)
    for some in blocks(len(places), max(_PRODUCTS // max(len(members), 1), 1)):
        queries = units.double(members[places[some]])
        found[some] = _best_matches(units, members, single, queries, places[some], found.shape[1])
    return found


def nearest_to(units: UnitVectors, members: Places, queries: Doubles, count: int) -> Places:
    """Return of vectors, shape [n, d], the members with the largest products; see :func:`nearest_nodes`."""
    found = np.empty((len(queries), min(count, len(members))), dtype=np.int64)
    single = units.single(members)
    for some in blocks(len(queries), max(_PRODUCTS // max(len(members), 1), 1)):
        found[some] = _best_matches(units, members, single, queries[some], None, found.shape[1])
    return found


def _best_matches(
    units: UnitVectors,
    members: Places,
    single: Singles,
    queries: Doubles,
    left_out: Places | None,
    count: int,
) -> Places:
    if not count:
        return np.empty((len(queries), 0), dtype=np.int64)
    products = queries.astype(np.float32) @ single.T
    if left_out is not None:
        products[np.arange(len(queries)), left_out] = -np.inf
    query, place = np.nonzero(products >= _lower_bound(products, count)[:, None] - np.float32(_UNSURE))
    similarity = np.empty(len(query))
    for some in blocks(len(query), _PAIRS_AT_ONCE):
        near = units.double(members[place[some]])
        similarity[some] = np.einsum("ij,ij->i", queries[query[some]], near)
    order = np.lexsort((place, -similarity.round(_DIGITS), query))
    first = np.searchsorted(query, np.arange(len(queries)))
    best: Places = place[order[first[:, None] + np.arange(count)]]
    return best


def _lower_bound(products: Singles, count: int) -> NDArray[np.float32]:
    """Return of each row a number that at least ``count`` of its products reach."""
    groups = products.shape[1] // _GROUP
    if groups < count:
        return np.partition(products, -count, axis=1)[:, -count]
    highest = products[:, : groups * _GROUP].reshape(len(products), groups, _GROUP).max(axis=2)
    return np.partition(highest, -count, axis=1)[:, -count]
