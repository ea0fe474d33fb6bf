"""CoTeRAG-S: stores, flat communities, descriptions, summaries, terms, vectors and thresholds."""

from collections.abc import Iterator
from typing import Any

from graphrag_dagster.kernel.pipeline.display import counts
from graphrag_dagster.kernel.pipeline.step import Made, StepRun, Tables
from graphrag_dagster.kernel.tables import (
    COMMUNITY_LEVELS,
    ENTITIES,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    TRIPLES,
    Table,
)
from graphrag_dagster.kernel.text.tokens import get_tokenizer
from graphrag_dagster.systems.coterag.settings import CoteragSettings
from graphrag_dagster.systems.coterag.tables import (
    COTERAG_COMMUNITIES,
    COTERAG_DESCRIPTION_VECTORS,
    COTERAG_DESCRIPTIONS,
    COTERAG_MEMBERS,
    COTERAG_QUOTES,
    COTERAG_STORES,
    COTERAG_SUMMARIES,
    COTERAG_SUMMARY_VECTORS,
    COTERAG_TERMS,
    COTERAG_THRESHOLDS,
)
from graphrag_dagster.systems.coterag.tasks import COMMUNITY_SUMMARISER

#: What is written beside communities and summaries.
BESIDE = (
    COTERAG_STORES,
    COTERAG_MEMBERS,
    COTERAG_DESCRIPTIONS,
    COTERAG_DESCRIPTION_VECTORS,
    COTERAG_QUOTES,
    COTERAG_TERMS,
    COTERAG_SUMMARY_VECTORS,
    COTERAG_THRESHOLDS,
)


def coterag(tables: Tables, run: StepRun) -> Iterator[Made]:
    """The CoTeRAG-S index: communities of triples, what stands apart from them, and thresholds."""
    # Only what is switched on needs it.
    from graphrag_dagster.systems.coterag.index.build import build_coterag

    session, settings = run.session("coterag"), run.settings
    embedder = session.embedder()
    vectors = (COTERAG_DESCRIPTION_VECTORS, COTERAG_SUMMARY_VECTORS)
    made = build_coterag(
        entities=tables[ENTITIES],
        triples=tables[TRIPLES],
        community_levels=tables[COMMUNITY_LEVELS],
        text_chunks=tables[TEXT_CHUNKS],
        chunk_vectors=tables[TEXT_UNIT_EMBEDDINGS],
        known={one.name: run.before(one) for one in vectors},
        summariser=session.task(COMMUNITY_SUMMARISER),
        embedder=embedder,
        tokenizer=get_tokenizer(settings.text_units.encoding),
        options=settings.section(CoteragSettings),
    )
    session.still_uses(made.embedded)
    summaries = made.tables["summaries"]
    told: dict[Table, dict[str, Any]] = {
        COTERAG_COMMUNITIES: {
            "tiny": int(made.tables["communities"]["tiny"].sum()),
            "stores": counts(made.tables["stores"], "store"),
            "templated_descriptions": round(made.templated, 4),
            "profile": settings.section(CoteragSettings).profile,
            "embedder": embedder.name,
        },
        COTERAG_SUMMARIES: {
            **counts(summaries, "engine"),
            "problems": int(summaries["problem"].is_not_null().sum()),
            **session.finish(),
        },
    }
    for table in (COTERAG_COMMUNITIES, COTERAG_SUMMARIES, *BESIDE):
        yield Made(table, made.tables[table.name], told.get(table, {}))
