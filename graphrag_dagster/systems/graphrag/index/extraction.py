"""The step of extraction: instances of entities, relationships and claims, their types and their vectors."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import polars as pl

from graphrag_dagster.kernel.pipeline.code_versions import (
    begin_replacing,
    code_version,
    replies_in,
)
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.shard_workers import Work
from graphrag_dagster.kernel.pipeline.shards import Shards
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun, embedded
from graphrag_dagster.kernel.tables.core_tables import CLAIMS, TEXT_CHUNKS, TEXT_UNIT_EMBEDDINGS, UNIT_LEDGER
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.name_judging_ports import EntityTyper, Typing, Untyped
from graphrag_dagster.kernel.tasks.task_ports import UNKNOWN_TYPE, TextUnit
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.index.extraction_tables import ExtractionFrames
from graphrag_dagster.systems.graphrag.index.incremental_extraction import (
    extract_new,
    extract_units,
    in_order,
    reusable_extraction,
    state_of,
)
from graphrag_dagster.systems.graphrag.settings import ClaimSettings, ExtractionSettings
from graphrag_dagster.systems.graphrag.tables import (
    EXTRACTION_STATE,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TYPINGS,
)
from graphrag_dagster.systems.graphrag.tasks import CLAIM_EXTRACTOR, ENTITY_TYPER, GRAPH_EXTRACTOR


def extraction(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Entities, relationships and claims of each text unit, while the units are embedded.

    From Local to Global, §3.1.2.
    """
    units = tables[TEXT_CHUNKS]
    if not run.settings.makes("extraction"):
        yield embedded(run, TEXT_UNIT_EMBEDDINGS, units)
        return
    vectors = run.begin(partial(embedded, run, TEXT_UNIT_EMBEDDINGS, units), quiet=True)
    session, settings = run.session("extraction"), run.settings
    state = state_of(settings, code_version("extraction"))
    earlier, why_anew = reusable_extraction(run.warehouse, run.corpus, settings, state, session.cached)
    with closing(Shards(run, session, "extraction", _ASKED)) as shards:
        done = extract_new(units, earlier, partial(extract_in_shards, shards))
    session.mark_reused(replies_in(done.taken_over))
    frames, repaired = type_entities(done.frames, units, session.task(ENTITY_TYPER))
    engine = {"engine": settings.engine_of("extraction")}
    begin_replacing(run.warehouse, run.corpus, EXTRACTION_STATE)
    yield Made(GLEANED_ENTITIES, frames.entities, engine)
    yield Made(
        GLEANED_RELATIONSHIPS, frames.relationships, {**engine, **counts(frames.relationships, "basis")}
    )
    yield Made(CLAIMS, frames.claims, {"enabled": settings.section(ClaimSettings).enabled})
    yield Made(
        UNIT_LEDGER,
        frames.ledger,
        {
            **counts(frames.ledger, "state"),
            **session.finish(),
            **shards.told,
            "units_reused": done.taken_over.height,
            "extracted_anew_because": why_anew,
            "quarantined": counts(frames.quarantine, "kind"),
            "typed": counts(frames.typings, "decided_by"),
            "typing_problems": int(frames.typings["problem"].is_not_null().sum()),
            "typings_repaired": repaired,
        },
    )
    yield Made(QUARANTINE, frames.quarantine)
    yield Made(TYPINGS, frames.typings)
    yield Made(EXTRACTION_STATE, state)
    yield vectors.result()


#: The tasks that shards do. Types of names are asked for by several units at a time, whatever their shards.
_ASKED = (GRAPH_EXTRACTOR, CLAIM_EXTRACTOR)


def extract_in_shards(shards: Shards, text_chunks: pl.DataFrame) -> ExtractionFrames:
    """Extract the given rows of ``text_chunks``, each in the shard of its text."""
    shards.expect(text_chunks.height)
    made = shards.run(unit_extraction_of, text_chunks, by="text", of="document_id")
    parts = [ExtractionFrames(**tables) for tables in made]
    return parts[0] if len(parts) == 1 else in_order(parts, text_chunks)


def unit_extraction_of(session: TaskProvider) -> Work:
    """Return what extracts text units, in whatever interpreter it is made."""
    extract = partial(
        extract_units,
        extractor=session.task(GRAPH_EXTRACTOR),
        claim_extractor=session.task(CLAIM_EXTRACTOR),
        dangling=session.settings.section(ExtractionSettings).dangling,
    )
    return lambda text_chunks: vars(extract(text_chunks))


_NAME = ["text_unit_id", "name"]


def type_entities(
    frames: ExtractionFrames, text_chunks: pl.DataFrame, typer: EntityTyper | None
) -> tuple[ExtractionFrames, int]:
    """Return an extraction whose entities have the type that a model says, else the one they had.

    The number tells how many names have one of a repaired reply.

    Args:
        frames: of which ``typings`` tells who has no type of their own, whatever was said of them before.
        text_chunks: rows of ``corpus.text_chunks``.
        typer: None: names without a type keep none.
    """
    said = [Typing(None)] * len(frames.typings)
    if typer:
        asked = untyped_names(frames.entities, frames.typings, text_chunks)
        said = [one for told in typer.type_entities(asked) for one in told]
    rows = frames.typings.with_columns(
        said=pl.Series([one.label.upper() if one.label else None for one in said], dtype=pl.String),
        problem=pl.Series([one.problem for one in said], dtype=pl.String),
    )
    typings = rows.with_columns(
        type=pl.col("said").fill_null(UNKNOWN_TYPE),
        decided_by=pl.when(pl.col("said").is_not_null()).then(pl.lit("model")).otherwise(pl.lit("nothing")),
    ).select(frames.typings.columns)
    entities = (
        frames.entities.join(typings.select(*_NAME, kind="type"), on=_NAME, how="left", maintain_order="left")
        .with_columns(type=pl.coalesce("kind", "type"))
        .select(frames.entities.columns)
    )
    return replace(frames, entities=entities, typings=typings), sum(one.repaired for one in said)


def untyped_names(entities: pl.DataFrame, typings: pl.DataFrame, text_chunks: pl.DataFrame) -> list[Untyped]:
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
