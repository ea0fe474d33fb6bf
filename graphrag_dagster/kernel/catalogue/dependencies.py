"""Order of things that depend on each other."""

from collections.abc import Callable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def dependency_order(items: Mapping[K, V], needs: Callable[[V], Iterable[K]]) -> list[V]:
    """Return items, each after those it needs, otherwise in the given order.

    Args:
        items: by key.
        needs: returns the keys of what an item needs; those of no item are ignored.

    Raises:
        CycleError: items need each other; its second argument has their keys.
    """
    needed = {key: [other for other in needs(item) if other in items] for key, item in items.items()}
    TopologicalSorter(needed).prepare()
    ordered: dict[K, V] = {}

    def add(key: K) -> None:
        if key not in ordered:
            for other in needed[key]:
                add(other)
            ordered[key] = items[key]

    for key in items:
        add(key)
    return list(ordered.values())
