"""A large graph of triples by chance, for measurements of subgraphs and paths."""

import os
from pathlib import Path

import numpy as np

from graphrag_dagster.kernel.common.packed_arrays import Texts
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, build_path_store

RELATIONS = 50
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "ol")]


def power_law(edges: int, seed: int = 7) -> PathStore:
    """Return a graph with ten edges for a node, about: ends are drawn with probability ~ rank^(-2/3).

    The largest hub of 10 million edges has 2 % of these, at both ends. Labels are two invented words.
    """
    drawn = np.random.default_rng(seed)
    nodes = edges // 10
    shuffled = drawn.permutation(nodes).astype(np.int32)
    heads, tails = (
        shuffled[np.minimum((nodes * drawn.random(edges) ** 3).astype(np.int64), nodes - 1)] for _ in range(2)
    )
    own = drawn.integers(RELATIONS, size=edges, dtype=np.int32)
    key = (heads.astype(np.int64) * RELATIONS + own) * nodes + tails
    key = np.unique(key)
    left, tails = np.divmod(key, nodes)
    heads, own = np.divmod(left, RELATIONS)
    ends = tuple(one.astype(np.int32) for one in (heads, own, tails))
    relations = tuple(f"relation {place:02}" for place in range(RELATIONS))
    labels = Texts.of(_label(place) for place in range(nodes))
    ids = Texts.of(f"e{place:08}" for place in range(nodes))
    return build_path_store(ids, labels, np.arange(nodes, dtype=np.int32), relations, ends)


def made_power_law(folder: Path, edges: int) -> Path:
    """Return the folder of such a graph as arrays, made if it is not there."""
    place = folder / f"power_law_{edges}"
    if not place.is_dir():
        making = folder / f".{place.name}.{os.getpid()}"
        making.mkdir(parents=True)
        power_law(edges).write(making)
        making.rename(place)
    return place


def _label(place: int) -> str:
    parts, left = [], place
    for _ in range(4):
        left, syllable = divmod(left, len(_SYLLABLES))
        parts.append(_SYLLABLES[syllable])
    return f"{parts[0]}{parts[1]} {parts[2]}{parts[3]}".title()
