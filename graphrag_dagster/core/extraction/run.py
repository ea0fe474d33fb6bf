"""Extraction of a whole corpus: units in, instances and the account of every unit out."""

from typing import Literal

import polars as pl

from graphrag_dagster.core.extraction.frames import (
    ExtractionFrames,
    extraction_frames,
    resolve_dangling,
    with_claims,
)
from graphrag_dagster.core.language.tasks import ClaimExtractor, GraphExtractor, TextUnit


def extract_units(
    text_chunks: pl.DataFrame,
    *,
    extractor: GraphExtractor,
    claim_extractor: ClaimExtractor | None,
    dangling: Literal["quarantine", "create"],
) -> ExtractionFrames:
    """Extract every text unit, in the order of the corpus.

    Args:
        text_chunks: rows of ``corpus.text_chunks``.
        extractor: finds entities and relationships.
        claim_extractor: finds claims; None where claims are not wanted.
        dangling: what becomes of relationships whose ends are no entities of their unit (spec_graphrag §3).

    Raises:
        EngineError: the engine cannot do what was asked of it.
        EndpointError: the model endpoint cannot be used at all.
    """
    ordered = text_chunks.sort("human_readable_id")
    units = [TextUnit(*row) for row in ordered.select("text_unit_id", "text").iter_rows()]
    extractions = [resolve_dangling(found, dangling) for found in extractor.extract(units)]
    if claim_extractor:
        names = [sorted({entity.name for entity in found.entities}) for found in extractions]
        extractions = with_claims(extractions, list(claim_extractor.extract_claims(units, names)))
    claim_engine = claim_extractor.engine if claim_extractor else None
    return extraction_frames(extractions, extractor.engine, claim_engine)
