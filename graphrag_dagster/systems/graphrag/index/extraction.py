"""Instances of entities, relationships and claims, the ledger of text units, and their vectors."""

from collections.abc import Iterator
from functools import partial

from graphrag_dagster.kernel.pipeline.display import counts
from graphrag_dagster.kernel.pipeline.embedding import embedded
from graphrag_dagster.kernel.pipeline.orchestration.versions import code_version
from graphrag_dagster.kernel.pipeline.step import Made, StepRun, Tables
from graphrag_dagster.kernel.pipeline.updates.inputs import begin_replacing, replies_in
from graphrag_dagster.kernel.tables import (
    CLAIMS,
    EXTRACTION_STATE,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    TYPINGS,
    UNIT_LEDGER,
)
from graphrag_dagster.systems.graphrag.extraction.typing import typed
from graphrag_dagster.systems.graphrag.index.earlier_extraction import state_of
from graphrag_dagster.systems.graphrag.index.extracting import extract_corpus
from graphrag_dagster.systems.graphrag.settings import ClaimSettings
from graphrag_dagster.systems.graphrag.tasks import ENTITY_TYPER


def extraction(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Entities, relationships and claims of each text unit (paper §3.1.2), while the units are embedded."""
    units = tables[TEXT_CHUNKS]
    if not run.settings.makes("extraction"):
        yield embedded(run, TEXT_UNIT_EMBEDDINGS, units)
        return
    vectors = run.begin(partial(embedded, run, TEXT_UNIT_EMBEDDINGS, units), quiet=True)
    session, settings = run.session("extraction"), run.settings
    state = state_of(settings, code_version("extraction"))
    done = extract_corpus(session, run.warehouse, run.corpus, units, state)
    session.uses_again(replies_in(done.extracted.taken_over))
    made = typed(done.extracted.frames, units, session.task(ENTITY_TYPER))
    frames, engine = made.frames, {"engine": settings.engine_of("extraction")}
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
            "units_reused": done.extracted.taken_over.height,
            "extracted_anew_because": done.why_anew,
            "quarantined": counts(frames.quarantine, "kind"),
            "typed": counts(frames.typings, "decided_by"),
            "typing_problems": int(frames.typings["problem"].is_not_null().sum()),
            "typings_repaired": made.repaired,
        },
    )
    yield Made(QUARANTINE, frames.quarantine)
    yield Made(TYPINGS, frames.typings)
    yield Made(EXTRACTION_STATE, state)
    yield vectors.result()
