"""Types for entities that were extracted without one: by a model if enabled, else by rules."""

from dataclasses import dataclass, replace

import polars as pl

from graphrag_dagster.kernel.tasks.name_judging import EntityTyper, Typing, Untyped
from graphrag_dagster.kernel.tasks.ports import UNKNOWN_TYPE, TextUnit
from graphrag_dagster.systems.graphrag.extraction.frames import ExtractionFrames

_NAME = ["text_unit_id", "name"]


@dataclass(frozen=True, slots=True)
class Typed:
    """The tables of an extraction with all its types, and how many names had one of a repaired reply."""

    frames: ExtractionFrames
    repaired: int


def typed(frames: ExtractionFrames, text_chunks: pl.DataFrame, typer: EntityTyper | None) -> Typed:
    """Return an extraction whose entities have the type that a model says, else the one by the rules.

    Args:
        frames: of which ``typings`` tells who has no type of their own, whatever was said of them before.
        text_chunks: rows of ``corpus.text_chunks``.
        typer: None: rules alone decide.
    """
    said = [Typing(None)] * len(frames.typings)
    if typer:
        asked = untyped(frames.entities, frames.typings, text_chunks)
        said = [one for told in typer.type_entities(asked) for one in told]
    rows = frames.typings.with_columns(
        said=pl.Series([one.label.upper() if one.label else None for one in said], dtype=pl.String),
        problem=pl.Series([one.problem for one in said], dtype=pl.String),
    )
    typings = rows.with_columns(
        type=pl.coalesce("said", "by_rule"),
        decided_by=pl.when(pl.col("said").is_not_null())
        .then(pl.lit("model"))
        .when(pl.col("by_rule") != UNKNOWN_TYPE)
        .then(pl.lit("rule"))
        .otherwise(pl.lit("nothing")),
    ).select(frames.typings.columns)
    entities = (
        frames.entities.join(typings.select(*_NAME, kind="type"), on=_NAME, how="left", maintain_order="left")
        .with_columns(type=pl.coalesce("kind", "type"))
        .select(frames.entities.columns)
    )
    return Typed(replace(frames, entities=entities, typings=typings), sum(one.repaired for one in said))


def untyped(entities: pl.DataFrame, typings: pl.DataFrame, text_chunks: pl.DataFrame) -> list[Untyped]:
    """Return the names without a type of their own, unit by unit, in the order of ``typings``.

    Args:
        entities: rows of ``extraction.gleaned_entities``.
        typings: rows of ``extraction.typings``.
        text_chunks: rows of ``corpus.text_chunks``.
    """
    rows = (
        typings.select(_NAME)
        .join(
            entities.select(*_NAME, "surface").unique(_NAME, keep="first", maintain_order=True),
            on=_NAME,
            maintain_order="left",
        )
        .join(text_chunks.select("text_unit_id", "text"), on="text_unit_id", maintain_order="left")
        .group_by("text_unit_id", "text", maintain_order=True)
        .agg("surface")
    )
    return [Untyped(TextUnit(unit, text), tuple(names)) for unit, text, names in rows.iter_rows()]
