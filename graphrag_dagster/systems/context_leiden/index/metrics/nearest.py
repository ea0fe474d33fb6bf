"""The most similar nodes, exactly."""

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.context_leiden.index.adjacency import Places
from graphrag_dagster.systems.context_leiden.index.units import Doubles, Singles, Units, blocks

#: Products that are held at once.
_PRODUCTS = 2**25
#: What single precision may be off.
_UNSURE = 1e-6
#: Similarities that differ in later digits alone are equal.
_DIGITS = 9
_GROUP = 64
_PAIRS_AT_ONCE = 2**16


def nearest_nodes(units: Units, members: Places, places: Places, count: int) -> Places:
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
        found[some] = _best(units, members, single, queries, places[some], found.shape[1])
    return found


def nearest_to(units: Units, members: Places, queries: Doubles, count: int) -> Places:
    """Return of vectors, shape [n, d], the members with the largest products; see :func:`nearest_nodes`."""
    found = np.empty((len(queries), min(count, len(members))), dtype=np.int64)
    single = units.single(members)
    for some in blocks(len(queries), max(_PRODUCTS // max(len(members), 1), 1)):
        found[some] = _best(units, members, single, queries[some], None, found.shape[1])
    return found


def _best(
    units: Units, members: Places, single: Singles, queries: Doubles, left_out: Places | None, count: int
) -> Places:
    if not count:
        return np.empty((len(queries), 0), dtype=np.int64)
    products = queries.astype(np.float32) @ single.T
    if left_out is not None:
        products[np.arange(len(queries)), left_out] = -np.inf
    query, place = np.nonzero(products >= _bound(products, count)[:, None] - np.float32(_UNSURE))
    similarity = np.empty(len(query))
    for some in blocks(len(query), _PAIRS_AT_ONCE):
        near = units.double(members[place[some]])
        similarity[some] = np.einsum("ij,ij->i", queries[query[some]], near)
    order = np.lexsort((place, -similarity.round(_DIGITS), query))
    first = np.searchsorted(query, np.arange(len(queries)))
    best: Places = place[order[first[:, None] + np.arange(count)]]
    return best


def _bound(products: Singles, count: int) -> NDArray[np.float32]:
    """Return of each row a number that at least ``count`` of its products reach."""
    groups = products.shape[1] // _GROUP
    if groups < count:
        return np.partition(products, -count, axis=1)[:, -count]
    highest = products[:, : groups * _GROUP].reshape(len(products), groups, _GROUP).max(axis=2)
    return np.partition(highest, -count, axis=1)[:, -count]
