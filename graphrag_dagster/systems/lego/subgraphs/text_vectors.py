"""Vectors of many texts of a graph: made in batches, searched as a whole (paper B.7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError, VectorLengthError, WarehouseError
from graphrag_dagster.kernel.common.array_files import load_array
from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.graph.graph_labels import Places
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder

Precision = Literal["float32", "float16"]

#: Bytes that the vectors of a graph may have.
MOST_BYTES = 4 * 2**30
#: How far a product in single precision may be from the cosine.
_ROUGH = 1e-3
#: Numbers of stored vectors that are brought to single precision at once.
_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class TextVectors:
    """Unit vectors of texts.

    Attributes:
        vectors: a row for each text [n, d], in single or half precision, in memory or mapped.
        embedder: name of what made them.
    """

    vectors: NDArray[np.floating]
    embedder: str

    @classmethod
    def of(
        cls,
        count: int,
        texts: Callable[[int, int], Sequence[str]],
        embedder: CorpusEmbedder,
        precision: Precision = "float32",
        most_bytes: int = MOST_BYTES,
    ) -> "TextVectors":
        """Return the vectors of texts.

        Args:
            count: number of texts.
            texts: gives those from one place up to another, of which few are wanted at a time.
            embedder: makes the vectors.
            precision: in which they are stored.
            most_bytes: that they may have.

        Raises:
            GraphragError: they would be larger than allowed; says how large.
        """
        step = max(embedder.at_once, 1)
        first = embedder.embed(texts(0, min(step, count)))
        size = count * first.shape[1] * np.dtype(precision).itemsize
        if size > most_bytes:
            raise GraphragError(
                f"vectors of {count} texts, {first.shape[1]} numbers each in {precision}, have {size} bytes, "
                f"more than the {most_bytes} that are allowed; take another extraction for so large a graph"
            )
        found = np.empty((count, first.shape[1]), dtype=precision)
        found[: len(first)] = first
        for start in range(step, count, step):
            found[start : start + step] = embedder.embed(texts(start, min(start + step, count)))
        return cls(found, embedder.name)

    def write(self, folder: Path, name: str) -> None:
        """Write the vectors into files of a folder that is there; see :meth:`open`."""
        np.save(folder / f"{name}.npy", np.ascontiguousarray(self.vectors), allow_pickle=False)
        (folder / f"{name}.txt").write_text(self.embedder, encoding="utf-8")

    @classmethod
    def open(cls, folder: Path, name: str, embedder: str, count: int) -> "TextVectors":
        """Return vectors that were written, mapped.

        Args:
            folder: where they are.
            name: under which they were written.
            embedder: name of what must have made them.
            count: texts that they must be of.

        Raises:
            WarehouseError: they are missing, damaged, or others.
        """
        try:
            vectors = load_array(folder / f"{name}.npy", "r")
            made_by = (folder / f"{name}.txt").read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise WarehouseError(
                f"{folder}: the vectors {name} cannot be read ({error}); make them again"
            ) from error
        if made_by != embedder or len(vectors) != count:
            raise WarehouseError(
                f"{folder}: the vectors {name} are {len(vectors)} of {made_by}, not {count} of {embedder}; "
                "make them again"
            )
        return cls(vectors, made_by)

    def check_count(self, count: int) -> None:
        """Refuse vectors of another graph.

        Raises:
            GraphragError: they are not of so many texts.
        """
        if len(self.vectors) != count:
            raise GraphragError(f"{len(self.vectors)} vectors of a graph with {count} texts; make them again")

    def nearest(self, vector: NDArray[np.float32], most: int) -> Places:
        """Return the places of the texts with the highest cosine, best first; equal ones in order.

        Raises:
            VectorLengthError: the vector is of another length.
        """
        most = min(most, len(self.vectors))
        if most <= 0:
            return np.zeros(0, dtype=np.int64)
        if self.vectors.shape[1] != len(vector):
            raise VectorLengthError(len(vector), self.vectors.shape[1], self.embedder)
        rough = np.empty(len(self.vectors), dtype=np.float32)
        step = max(_AT_ONCE // max(len(vector), 1), 1)
        for start in range(0, len(rough), step):
            rough[start : start + step] = self.vectors[start : start + step].astype(np.float32) @ vector
        border = np.partition(rough, len(rough) - most)[len(rough) - most]
        near = np.flatnonzero(rough >= border - _ROUGH)
        exact = cosines(self.vectors[near], vector)
        return near[np.argsort(-exact, kind="stable")[:most]].astype(np.int64)
