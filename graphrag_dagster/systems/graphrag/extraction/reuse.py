"""Incremental extraction: rows of unchanged text units are reused.

A text unit's id is a hash of its document, place and text, so the same id means the same text. That is enough
only if a unit's result depends on the unit alone, as in the extractive engine, and for a model with an LLM
cache.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Final, Literal

import polars as pl

from graphrag_dagster.kernel.tasks.ports import ClaimExtractor, GraphExtractor, TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.extraction.frames import (
    ExtractionFrames,
    extraction_frames,
    joined_frames,
    resolve_dangling,
    with_claims,
)

_COUNTED = ("entities", "relationships", "claims", "quarantined")
_UNIT = "text_unit_id"


@dataclass(frozen=True)
class Extracted:
    """The tables of all units, and the rows of the ledger of those that were taken over."""

    frames: ExtractionFrames
    taken_over: pl.DataFrame


def extract_new(
    text_chunks: pl.DataFrame,
    earlier: ExtractionFrames | None,
    extract: Callable[[pl.DataFrame], ExtractionFrames],
) -> Extracted:
    """Extract the units that are not in an earlier extraction, and join both to what a whole one would give.

    Args:
        text_chunks: rows of ``corpus.text_chunks``.
        earlier: tables of an extraction that the same code and settings made, in any order; None without one.
        extract: extracts the given rows of ``text_chunks``.

    Returns:
        the same rows in the same order as ``extract(text_chunks)`` gives. A unit whose rows do not agree with
        its ledger, as after a write that was cut off, is extracted again.
    """
    if earlier is None:
        made = extract(text_chunks)
        return Extracted(made, made.ledger.clear())
    known = _whole(earlier).join(text_chunks.select(_UNIT), on=_UNIT, how="semi")
    made = extract(text_chunks.join(known, on=_UNIT, how="anti"))
    places = text_chunks.select(_UNIT, pl.col("human_readable_id").alias("place"))
    parts = {name: part.join(known, on=_UNIT, how="semi") for name, part in vars(earlier).items()}
    taken_over = ExtractionFrames(**parts)
    return Extracted(_joined(taken_over, made, places), taken_over.ledger)


def _whole(frames: ExtractionFrames) -> pl.DataFrame:
    """Ids of the units all of whose records are there, as the ledger counts them."""
    parts = (frames.entities, frames.relationships, frames.claims, frames.quarantine)
    counts = [part.group_by(_UNIT).len(f"{name}_found") for name, part in zip(_COUNTED, parts, strict=True)]
    ledger = reduce(lambda left, right: left.join(right, on=_UNIT, how="left"), counts, frames.ledger)
    agreed = [pl.col(name) == pl.col(f"{name}_found").fill_null(0) for name in _COUNTED]
    return ledger.filter(*agreed).select(_UNIT)


def _joined(kept: ExtractionFrames, made: ExtractionFrames, places: pl.DataFrame) -> ExtractionFrames:
    """Return the rows of both in the order of the corpus, with claims numbered anew."""
    parts: dict[str, pl.DataFrame] = {}
    for name, new in vars(made).items():
        rows = pl.concat([vars(kept)[name].select(new.columns).cast(new.schema), new])
        order = ("place", "position") if "position" in new.columns else ("place",)
        parts[name] = rows.join(places, on=_UNIT).sort(order).select(new.columns)
    numbers = pl.int_range(pl.len(), dtype=pl.Int32).alias("human_readable_id")
    return ExtractionFrames(**parts | {"claims": parts["claims"].with_columns(numbers)})


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
