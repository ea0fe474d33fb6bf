"""Studies of single settings (spec_graphrag §11)."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.documents.text_units import cut
from graphrag_dagster.kernel.tasks.ports import GraphExtractor, TextUnit, UnitExtraction

Mode = Literal["checked", "forced"]
#: The overlap of text units, whatever their size.
_OVERLAP = 100


def sampled_documents(documents: pl.DataFrame, text_chunks: pl.DataFrame, most_tokens: int) -> pl.DataFrame:
    """Return whole documents drawn by a hash of their ids up to a number of tokens, at least one.

    Args:
        documents: rows of ``corpus.documents``.
        text_chunks: rows of ``corpus.text_chunks``, which tell how long the documents are.
        most_tokens: of the documents' text units together.
    """
    tokens = dict(text_chunks.group_by("document_id").agg(pl.col("tokens").sum()).iter_rows())
    chosen: list[str] = []
    total = 0
    for identity in sorted(documents["document_id"], key=lambda one: stable_id("sample", one)):
        total += tokens.get(identity, 0)
        if chosen and total > most_tokens:
            break
        chosen.append(identity)
    return documents.filter(pl.col("document_id").is_in(chosen))


def extraction_counts(
    documents: pl.DataFrame,
    extractor_of: Callable[[Mode], GraphExtractor],
    *,
    sizes: Sequence[int],
    gleanings: int,
    encoding: str,
) -> list[dict[str, Any]]:
    """Return the rows of ``studies.extraction_counts``: records by chunk size and number of gleanings.

    Entities are counted twice: every record, which the paper calls entity references, and distinct names.
    One run with all gleanings gives every point of a line, since the runs share their first turns. An
    extractive extractor has no gleanings: there is one point for each size.

    Args:
        documents: rows of ``corpus.documents``.
        extractor_of: makes the extractor that asks before each gleaning, or gleans unasked.
        sizes: tokens of a text unit.
        gleanings: most continuations.
        encoding: tokenizer.

    Raises:
        EndpointError: the model endpoint cannot be used at all.
    """
    rows: list[dict[str, Any]] = []
    for size in sizes:
        overlap = min(_OVERLAP, size - 1)
        chunks = cut(documents, strategy="tokens", size=size, overlap=overlap, encoding=encoding)
        units = [TextUnit(*row) for row in chunks.select("text_unit_id", "text").iter_rows()]
        modes: tuple[Mode, ...] = ("checked", "forced")
        for mode in modes:
            extractor = extractor_of(mode)
            found = list(extractor.extract(units))
            rounds = range(gleanings + 1) if asks_model(extractor.engine) else range(1)
            rows += [
                {
                    "chunk_size": size,
                    "mode": mode,
                    "gleanings": last,
                    "text_units": len(units),
                    **_counted(found, last),
                    "engine": extractor.engine,
                }
                for last in rounds
            ]
            if not asks_model(extractor.engine):
                break
    return rows


def _counted(found: Sequence[UnitExtraction], last: int) -> dict[str, int]:
    names = {entity.name for unit in found for entity in unit.entities if entity.round <= last}
    return {
        name: sum(record.round <= last for unit in found for record in getattr(unit, name))
        for name in ("entities", "relationships", "quarantined")
    } | {"distinct_entities": len(names)}
