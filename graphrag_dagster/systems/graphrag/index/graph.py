"""Entity resolution, then the merged graph: instances become nodes and edges."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from graphrag_dagster.kernel.pipeline.display import counts, histogram
from graphrag_dagster.kernel.pipeline.orchestration.versions import code_version
from graphrag_dagster.kernel.pipeline.step import Made, StepRun, Tables
from graphrag_dagster.kernel.pipeline.updates.inputs import begin_replacing
from graphrag_dagster.kernel.tables import (
    ALIASES,
    CANDIDATES,
    CLAIM_GROUPS,
    DECISIONS,
    DOCUMENTS,
    ENTITIES,
    ENTITY_GROUPS,
    GLEANED_ENTITIES,
    MERGED_CLAIMS,
    RELATIONSHIP_GROUPS,
    RELATIONSHIPS,
    RESOLUTION_STATE,
    TEXT_CHUNKS,
)
from graphrag_dagster.kernel.tasks.ports import MergedDescription
from graphrag_dagster.kernel.tasks.session import Session
from graphrag_dagster.systems.graphrag.index.merging import (
    description_groups,
    merge_claims,
    merge_entities,
    merge_relationships,
)
from graphrag_dagster.systems.graphrag.resolution.earlier import earlier_resolution, state_of_resolution
from graphrag_dagster.systems.graphrag.resolution.settings import ResolutionSettings
from graphrag_dagster.systems.graphrag.settings import GraphSettings
from graphrag_dagster.systems.graphrag.tasks import DESCRIPTION_MERGER, NAME_JUDGE


def resolution(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Entity resolution: names of one entity are merged, namesakes kept apart; instances are unchanged."""
    if not run.settings.makes("resolution"):
        return
    # Not needed by the steps before, the first of which calls a model.
    from graphrag_dagster.systems.graphrag.resolution.asking import AskedOfModel
    from graphrag_dagster.systems.graphrag.resolution.frames import resolve_corpus, unresolved

    session, own = run.session("resolution"), run.settings.section(ResolutionSettings)
    names = tables[GLEANED_ENTITIES], tables[TEXT_CHUNKS], tables[DOCUMENTS]
    state = state_of_resolution(code_version("resolution"), enabled=own.enabled)
    earlier, why_anew = earlier_resolution(run.warehouse, run.corpus, state)
    judge = session.task(NAME_JUDGE)
    asked = AskedOfModel(judge, tables[DOCUMENTS]) if judge else None
    made = resolve_corpus(*names, own.decisions(), asked, earlier) if own.enabled else unresolved(*names)
    begin_replacing(run.warehouse, run.corpus, RESOLUTION_STATE)
    yield Made(CANDIDATES, made.candidates)
    yield Made(
        DECISIONS,
        made.decisions,
        {
            **counts(made.decisions, "verdict"),
            **(asked.counts if asked else {}),
            "pairs_reused": made.reused,
            "compared_anew_because": why_anew,
            "left_out": made.left_out,
            **session.finish(),
        },
    )
    yield Made(
        ALIASES,
        made.aliases,
        {
            "names": made.aliases["name"].n_unique(),
            "entities": made.aliases["entity"].n_unique(),
            "namesakes": made.namesakes,
        },
    )
    yield Made(RESOLUTION_STATE, state)


def graph(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Nodes, edges and claims, each with one description, those of all kinds at once (paper §3.1.3)."""
    of_entities, of_edges, of_claims = (
        tables[ENTITY_GROUPS],
        tables[RELATIONSHIP_GROUPS],
        tables[CLAIM_GROUPS],
    )
    own, edges, claims = (run.session(user) for user in ("entities", "relationships", "claims"))
    edge_words = run.begin(partial(_described, edges, of_edges), quiet=True)
    claim_words = run.begin(partial(_described, claims, of_claims), quiet=True)
    nodes = merge_entities(of_entities, of_edges, _described(own, of_entities))
    yield Made(
        ENTITIES,
        nodes,
        {
            **counts(nodes, "type"),
            **_told(nodes, own),
            "degrees": histogram(nodes["degree"].to_list(), "Degrees", "distinct neighbours"),
        },
    )
    weight = run.settings.section(GraphSettings).weight
    merged = merge_relationships(of_edges, nodes, edge_words.result(), weight)
    yield Made(
        RELATIONSHIPS,
        merged,
        {
            "weight": weight,
            **_told(merged, edges),
            "weights": histogram(merged["weight"].to_list(), "Edge weights", weight),
        },
    )
    made = merge_claims(of_claims, claim_words.result())
    yield Made(MERGED_CLAIMS, made, {**counts(made, "status"), **_told(made, claims)})


def _described(session: Session, rows: pl.DataFrame) -> list[MergedDescription]:
    """One description for each group of instances."""
    groups = description_groups(rows)
    return list(session.task(DESCRIPTION_MERGER).merge(groups)) if groups else []


def _told(made: pl.DataFrame, session: Session) -> dict[str, Any]:
    return {"description_problems": int(made["description_problem"].is_not_null().sum()), **session.finish()}
