"""Which reports to begin with, told from the lengths of texts before anything is packed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from graphrag_dagster.core.reports.elements import Elements

T = TypeVar("T")

_CHARACTERS_PER_TOKEN = 4
#: Enough to keep an endpoint busy while the next are packed.
_FIRST = 64


class Urgency:
    """Puts communities into the order in which their reports are best begun.

    Args:
        elements: the indexed graph.
        limit: most tokens of a context.
    """

    def __init__(self, elements: Elements, limit: int) -> None:
        entities, edges = (
            np.fromiter(map(len, rows.texts), np.int64, len(rows.texts))
            for rows in (elements.entities, elements.relationships)
        )
        self._size = {
            name: int(entities[one.members].sum() + edges[one.edges].sum())
            for name, one in elements.communities.items()
        }
        self._limit = limit * _CHARACTERS_PER_TOKEN

    def ordered(self, communities: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of ``graph.communities``: those first that a larger community is likely to wait for,
        then what is large and takes long, since begun last it would keep all waiting.
        """

        def urgency(community: dict[str, Any]) -> tuple[bool, int, str]:
            name, above = community["community_id"], community["parent_id"]
            return self._size.get(above, 0) <= self._limit, -self._size[name], name

        return sorted(communities, key=urgency)


def doubling(items: Sequence[T], most: int | None = None) -> Iterator[Sequence[T]]:
    """Yield batches of items, a small one first and each twice as long as the one before, up to ``most``."""
    start, size = 0, min(_FIRST, most or _FIRST)
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, min(2 * size, most or 2 * size)
