"""Extraction of a whole corpus: units in, instances and the account of every unit out."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal

import polars as pl

from graphrag_dagster.core.extraction.frames import (
    ExtractionFrames,
    extraction_frames,
    joined_frames,
    resolve_dangling,
    with_claims,
)
from graphrag_dagster.core.language.tasks import ClaimExtractor, GraphExtractor, TextUnit, UnitExtraction

_AT_ONCE: Final = 512


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
    extractions = (resolve_dangling(found, dangling) for found in extractor.extract(units))
    if claim_extractor is None:
        return joined_frames(extraction_frames(some, extractor.engine) for some in _pieces(extractions))
    graphs = list(extractions)
    names = [sorted({entity.name for entity in found.entities}) for found in graphs]
    both = with_claims(graphs, list(claim_extractor.extract_claims(units, names)))
    return extraction_frames(both, extractor.engine, claim_extractor.engine)


def _pieces(extractions: Iterator[UnitExtraction]) -> Iterator[list[UnitExtraction]]:
    """Some units at a time, at least once; as rows of a frame they take a fraction of the memory."""
    yield list(islice(extractions, _AT_ONCE))
    while some := list(islice(extractions, _AT_ONCE)):
        yield some
