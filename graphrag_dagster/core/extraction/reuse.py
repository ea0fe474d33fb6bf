"""Extraction of what is new only: rows of unchanged text units are taken over as they are.

A text unit's id is a hash of its document, place and text, so the same id means the same text. That is enough
only where a unit's result depends on the unit alone: as it does in the extractive engine, and with a model
that remembers its replies.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

import polars as pl

from graphrag_dagster.core.extraction.frames import ExtractionFrames

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
    taken_over = _only(earlier, known)
    return Extracted(_joined(taken_over, made, places), taken_over.ledger)


def _whole(frames: ExtractionFrames) -> pl.DataFrame:
    """Ids of the units all of whose records are there, as the ledger counts them."""
    parts = (frames.entities, frames.relationships, frames.claims, frames.quarantine)
    counts = [part.group_by(_UNIT).len(f"{name}_found") for name, part in zip(_COUNTED, parts, strict=True)]
    ledger = reduce(lambda left, right: left.join(right, on=_UNIT, how="left"), counts, frames.ledger)
    agreed = [pl.col(name) == pl.col(f"{name}_found").fill_null(0) for name in _COUNTED]
    return ledger.filter(*agreed).select(_UNIT)


def _only(frames: ExtractionFrames, units: pl.DataFrame) -> ExtractionFrames:
    def of_units(part: pl.DataFrame) -> pl.DataFrame:
        return part.join(units, on=_UNIT, how="semi")

    return _each(of_units, frames)


def _joined(kept: ExtractionFrames, made: ExtractionFrames, places: pl.DataFrame) -> ExtractionFrames:
    def both(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
        rows = pl.concat([old.select(new.columns).cast(new.schema), new])
        order = ("place", "position") if "position" in new.columns else ("place",)
        return rows.join(places, on=_UNIT).sort(order).select(new.columns)

    frames = _each(both, kept, made)
    numbered = frames.claims.with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("human_readable_id"))
    return replace(frames, claims=numbered)


def _each(change: Callable[..., pl.DataFrame], *frames: ExtractionFrames) -> ExtractionFrames:
    return ExtractionFrames(
        change(*(one.entities for one in frames)),
        change(*(one.relationships for one in frames)),
        change(*(one.claims for one in frames)),
        change(*(one.ledger for one in frames)),
        change(*(one.quarantine for one in frames)),
        change(*(one.typings for one in frames)),
    )
