"""Embedding of table rows, keyed by text so that nothing is embedded twice."""

import hashlib

import numpy as np
import polars as pl

from graphrag_dagster.errors import VectorLengthError
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.tasks.report_citations import without_citations


def text_of_unit(units: pl.DataFrame) -> pl.Series:
    """Return the text to embed for each row of ``corpus.text_chunks``."""
    return units["text"]


def text_of_entity(entities: pl.DataFrame) -> pl.Series:
    """Return the text to embed for each row of ``graph.entities``."""
    return entities.select(text=pl.format("{}: {}", "title", "description"))["text"]


def text_of_report(reports: pl.DataFrame) -> pl.Series:
    """Return the text to embed for each row of ``reports.community_reports``."""
    # Citation numbers change with every new entity, and carry no meaning for an embedding.
    return reports["content"].map_elements(without_citations, pl.String)


def text_hash(text: str) -> str:
    """Return the first 32 hexadecimal characters of the text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def embed_rows(
    keys: pl.Series,
    texts: pl.Series,
    embedder: Embedder,
    known: pl.DataFrame | None = None,
    *,
    named: str = "rows",
) -> pl.DataFrame:
    """Return a frame [key, text_hash, embedder, vector], one row per key.

    Args:
        keys: ids, named like the key column of the result.
        texts: one text per key.
        embedder: embeds the texts without a known vector.
        known: rows of an earlier result; those with the same embedder and text are reused.
        named: what the rows are, for the progress display.

    Raises:
        VectorLengthError: the embedder's vectors are of another length than the known ones.
    """
    hashes = [text_hash(text) for text in texts]
    first = {text: len(hashes) - row for row, text in enumerate(reversed(hashes), start=1)}
    vectors = _reusable(known, embedder.name)
    width = len(next(iter(vectors.values()), ()))
    lacking = sorted(text for text in first if text not in vectors)
    # Written into place as they come: two copies of all vectors would be most of the memory of a step.
    matrix: np.ndarray | None = None
    with stage(f"Embedding {named}", len(lacking)) as running:
        for start in range(0, len(lacking), embedder.at_once):
            rows = [first[text] for text in lacking[start : start + embedder.at_once]]
            embedded = embedder.embed(texts.gather(rows).to_list())
            if matrix is None:
                matrix = np.empty((len(hashes), width or embedded.shape[1]), dtype=np.float32)
            if embedded.shape[1] != matrix.shape[1]:
                raise VectorLengthError(embedded.shape[1], matrix.shape[1], embedder.name)
            matrix[rows] = embedded
            running.advance(len(rows))
    if matrix is None:
        # For a table without rows, a constant text (cached after the first run) gives the vector length.
        width = width or embedder.embed(["dimension"]).shape[1]
        matrix = np.empty((len(hashes), width), dtype=np.float32)
    for row, text in enumerate(hashes):
        if text in vectors:
            matrix[row] = vectors[text]
        elif first[text] != row:
            matrix[row] = matrix[first[text]]
    return pl.DataFrame(
        {
            keys.name: keys,
            "text_hash": pl.Series(hashes, dtype=pl.String),
            "embedder": pl.Series([embedder.name], dtype=pl.String).new_from_index(0, len(hashes)),
            "vector": pl.Series(matrix, dtype=pl.Array(pl.Float32, matrix.shape[1])),
        }
    )


def _reusable(known: pl.DataFrame | None, embedder: str) -> dict[str, np.ndarray]:
    if known is None:
        return {}
    same = known.filter(pl.col("embedder") == embedder)
    return dict(zip(same["text_hash"], same["vector"].to_numpy(), strict=True))
