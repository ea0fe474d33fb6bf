"""Vectors of text and structure together (spec_context_leiden §2)."""

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.graph.context.vectors.node_vectors import NodeVectors
from graphrag_dagster.core.ranks import unit_rows

#: Share of the text in vectors put side by side: its square weighs the cosine of the texts.
TEXT_WEIGHT = 0.7

_Singles = NDArray[np.float32]


def side_by_side(text: NodeVectors, structure: NodeVectors) -> NodeVectors:
    """Return both parts one after the other: a cosine is .49 of the texts' and .51 of the structures'.

    A node that lacks a part is compared by the other alone, the less so the less that weighs.

    Args:
        text: of the same nodes in the same order as ``structure``.
        structure: where they are in the graph.
    """
    rest = np.float32(np.sqrt(1 - TEXT_WEIGHT**2))
    matrix = np.hstack([unit_rows(text.matrix) * np.float32(TEXT_WEIGHT), unit_rows(structure.matrix) * rest])
    return NodeVectors(text.ids, matrix, f"concat/{text.name} + {structure.name} text_weight={TEXT_WEIGHT}")


def averaged(text: NodeVectors, structure: NodeVectors, seed: int) -> NodeVectors:
    """Return the mean of both; the longer one is projected to the length of the other by a random matrix.

    Args:
        text: of the same nodes in the same order as ``structure``.
        structure: where they are in the graph.
        seed: of the random matrix.
    """
    width = min(text.matrix.shape[1], structure.matrix.shape[1])
    parts = [_narrowed(part.matrix, width, seed) for part in (text, structure)]
    return NodeVectors(
        text.ids, (parts[0] + parts[1]) / np.float32(2), f"mean/{text.name} + {structure.name} seed={seed}"
    )


def _narrowed(matrix: _Singles, width: int, seed: int) -> _Singles:
    if matrix.shape[1] > width:
        shape = (matrix.shape[1], width)
        matrix = matrix @ np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return unit_rows(matrix)
