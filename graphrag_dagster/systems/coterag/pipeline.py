"""The step of CoTeRAG-S, and the checks of its tables."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.progress import say
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, Step, StepRun
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace, TableRule
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITY_LEVELS,
    ENTITIES,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    TRIPLES,
)
from graphrag_dagster.kernel.tables.table_declaration import Table, Tables
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.coterag.coterag_options import PAPER_EMBEDDER
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
SIDE_TABLES = (
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
    from graphrag_dagster.systems.coterag.index.index_builder import build_coterag

    session, settings = run.session("coterag"), run.settings
    embedder = session.embedder()
    vectors = (COTERAG_DESCRIPTION_VECTORS, COTERAG_SUMMARY_VECTORS)
    made, embedded = build_coterag(
        tables,
        known={one: run.before(one) for one in vectors},
        summariser=session.task(COMMUNITY_SUMMARISER),
        embedder=embedder,
        tokenizer=get_tokenizer(settings.text_units.encoding),
        options=settings.section(CoteragSettings),
    )
    session.mark_in_use(embedded)
    if problem := foreign_embedder(made[COTERAG_THRESHOLDS]):
        say(problem)
    summaries, templated = made[COTERAG_SUMMARIES], made[COTERAG_DESCRIPTIONS]["templated"]
    told: dict[Table, dict[str, Any]] = {
        COTERAG_COMMUNITIES: {
            "tiny": int(made[COTERAG_COMMUNITIES]["tiny"].sum()),
            "stores": counts(made[COTERAG_STORES], "store"),
            "templated_descriptions": round(templated.sum() / max(len(templated), 1), 4),
            "profile": settings.section(CoteragSettings).profile,
            "embedder": embedder.name,
        },
        COTERAG_SUMMARIES: {
            **counts(summaries, "engine"),
            "problems": int(summaries["problem"].is_not_null().sum()),
            **session.finish(),
        },
    }
    for table in (COTERAG_COMMUNITIES, COTERAG_SUMMARIES, *SIDE_TABLES):
        yield Made(table, made[table], told.get(table, {}))


def foreign_embedder(thresholds: pl.DataFrame) -> str | None:
    """Return a warning if thresholds of the paper meet vectors of another embedder than its own, else None.

    Args:
        thresholds: rows of ``coterag.thresholds``.
    """
    cosines = thresholds.filter((pl.col("source") == "paper") & (pl.col("threshold") != "coverage"))
    if cosines.is_empty() or PAPER_EMBEDDER.search(cosines["embedder"][0]):
        return None
    return (
        f"coterag.profile is {cosines['profile'][0]}, whose thresholds were set for nomic-embed-text-v1.5, "
        f"but the vectors are by {cosines['embedder'][0]}: contexts may be empty; set embeddings to that "
        "model, or coterag.profile to calibrated"
    )


STEPS = (
    Step(
        "coterag",
        coterag,
        reads=(ENTITIES, TRIPLES, COMMUNITY_LEVELS, TEXT_CHUNKS, TEXT_UNIT_EMBEDDINGS),
        assets={
            COTERAG_COMMUNITIES: (COMMUNITY_LEVELS, TEXT_UNIT_EMBEDDINGS),
            COTERAG_SUMMARIES: (COTERAG_COMMUNITIES,),
        },
        side_tables=SIDE_TABLES,
    ),
)


def _check_stores(of: CheckedPlace) -> list[str]:
    if not of.settings.makes("coterag"):
        return []
    entities, placed = set(of.read(tables.ENTITIES, "entity_id")["entity_id"]), of.read(COTERAG_STORES)
    main = set(placed.filter(store="main")["entity_id"])
    inside = set(of.read(COTERAG_MEMBERS)["entity_id"])
    wrong = [
        (entities - set(placed["entity_id"]), "is in no store"),
        (inside - main, "is preserved apart, and in a community"),
    ]
    return [f"entity {one} {problem}" for found, problem in wrong for one in sorted(found)]


RULES: Sequence[TableRule] = (
    TableRule(
        COTERAG_STORES,
        "Every entity is of the main graph or preserved apart, and communities are of the main graph",
        _check_stores,
    ),
)
