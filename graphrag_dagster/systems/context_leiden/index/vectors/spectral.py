"""Structural vectors without random walks: what DeepWalk comes to with infinitely many of them.

Up to 20,000 nodes the matrix that skip-gram with random walks factorises implicitly is made and factorised
(NetMF, Qiu et al. 2018, §3): the logarithm of how much likelier two nodes are met within a window than by
chance. Beyond, random projections of the neighbourhoods (FastRP, Chen et al. 2019).
"""

from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import unit_rows
from graphrag_dagster.kernel.graph.network import Network
from graphrag_dagster.systems.context_leiden.index.units import blocks
from graphrag_dagster.systems.context_leiden.index.vectors.node_vectors import (
    WINDOW,
    NodeVectors,
    dimension,
    inverted,
    weights,
    without_noise,
)

_FACTORISED_UP_TO = 20_000
_COLUMNS = 256
_MORE, _ITERATIONS = 16, 4
#: Share of the largest singular value below which one is what rounding leaves of zero.
_NOTHING = 1e-5
#: Hops of the projections.
_HOPS = 4

_Singles = NDArray[np.float32]


def spectral_vectors(graph: Network, ids: pl.Series, seed: int) -> NodeVectors:
    """Return vectors of where nodes are in the graph; a node without an edge has zeros.

    Components too small to be among what the dimensions can tell have zeros, too.

    Args:
        graph: weighted edges.
        ids: of the nodes, sorted, with all names of the graph.
        seed: of the random projection with which the factorisation begins.
    """
    matrix = weights(graph, ids)
    width = dimension(len(ids))
    if len(ids) <= _FACTORISED_UP_TO:
        how, made = f"log-pmi window={WINDOW}", _factorised(log_pmi(matrix), width, seed)
    else:
        how, made = f"fastrp hops={_HOPS}", _projected(matrix, width, seed)
    present = np.diff(matrix.indptr) > 0
    name = f"spectral/{how} dim={width} seed={seed}@scipy-{version('scipy')}"
    return NodeVectors(ids, without_noise(made, present), name)


def log_pmi(matrix: Any) -> _Singles:
    """Return the dense symmetric matrix log max(1, vol / T · Σ_r (D⁻¹A)^r D⁻¹), r = 1…T, T the window."""
    nodes = matrix.shape[0]
    strength = matrix.sum(axis=1)
    inverse = inverted(strength)
    # Steps are taken from the right: a column holds where a walk from its node goes.
    step = matrix.multiply(inverse[None, :]).tocsr()
    scale = strength.sum() / WINDOW * inverse
    found = np.empty((nodes, nodes), dtype=np.float32)
    for some in blocks(nodes, _COLUMNS):
        reached = step[:, some].toarray()
        total = reached.copy()
        for _ in range(WINDOW - 1):
            reached = step @ reached
            total += reached
        total *= scale[:, None]
        found[some] = np.log(np.maximum(total, 1.0, out=total), out=total).T
    return found


def _factorised(matrix: _Singles, width: int, seed: int) -> _Singles:
    """Return U √Σ of the largest singular values, at most ``width``, by subspace iteration."""
    nodes = len(matrix)
    if not matrix.any():
        return np.zeros((nodes, width), dtype=np.float32)
    drawn = np.random.default_rng(seed).standard_normal((nodes, min(width + _MORE, nodes)), dtype=np.float32)
    basis = _orthonormal(matrix @ drawn)
    for _ in range(_ITERATIONS):
        basis = _orthonormal(matrix @ basis)
    squares, turns = _axes(matrix @ basis)
    values = np.sqrt(squares[:width])
    kept = values > _NOTHING * values[0]
    found = (basis @ turns[:, :width][:, kept]) * np.sqrt(values[kept])
    return _with_signs(found.astype(np.float32))


def _orthonormal(columns: _Singles) -> _Singles:
    """Return an orthonormal basis of columns, without what depends on the others."""
    squares, turns = _axes(columns)
    kept = squares > _NOTHING**2 * squares[0]
    found: _Singles = (columns @ (turns[:, kept] / np.sqrt(squares[kept]))).astype(np.float32)
    return found


def _axes(columns: _Singles) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return squared singular values, falling, and right singular vectors of a matrix with few columns.

    By products alone: LAPACK's own ways wait long for each other's threads where others use the processors.
    """
    double = columns.astype(np.float64)
    squares, turns = np.linalg.eigh(double.T @ double)
    return squares[::-1].clip(min=0), turns[:, ::-1]


def _with_signs(matrix: _Singles) -> _Singles:
    """Turn each column so that its entry farthest from 0 is positive."""
    farthest = np.abs(matrix).argmax(axis=0)
    signs = np.where(matrix[farthest, np.arange(matrix.shape[1])] < 0, -1, 1).astype(np.float32)
    return matrix * signs


def _projected(matrix: Any, width: int, seed: int) -> _Singles:
    """Return the sum over the hops of unit random projections of what is as many edges away."""
    step = matrix.multiply(inverted(matrix.sum(axis=1))[:, None]).tocsr().astype(np.float32)
    drawn = np.random.default_rng(seed).standard_normal((matrix.shape[0], width), dtype=np.float32)
    total = np.zeros_like(drawn)
    for _ in range(_HOPS):
        drawn = step @ drawn
        total += unit_rows(drawn)
    return total
