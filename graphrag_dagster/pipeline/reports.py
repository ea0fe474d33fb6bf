"""Community reports, bottom-up, with the context nodes that they show and the vectors that answers need."""

from collections.abc import Iterator
from functools import partial

import polars as pl

from graphrag_dagster.core.language.embedded_rows import embed_rows, text_of_entity
from graphrag_dagster.operations.keeping.deciding import begin_replacing, replies_in
from graphrag_dagster.operations.keeping.writing import write_reports
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.pipeline.embedding import embedded
from graphrag_dagster.pipeline.shown import counts, histogram
from graphrag_dagster.pipeline.stage import Made, StageRun, Tables
from graphrag_dagster.tables import (
    COMMUNITY_LEVELS,
    COMMUNITY_REPORTS,
    CONTEXT_ACCOUNT,
    CONTEXT_CANDIDATES,
    CONTEXT_NODES,
    CONTEXT_VECTORS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    RELATIONSHIPS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
    REPORT_EMBEDDINGS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    WRITTEN_REPORTS,
)


def reports(tables: Tables, run: StageRun) -> Iterator[Made]:
    """A report per community, deepest level first, citing what it was written from (paper §3.1.5).

    Entities are embedded meanwhile; before, where context nodes are chosen by their vectors.
    """
    vectors = run.begin(partial(embedded, run, ENTITY_EMBEDDINGS, tables[ENTITIES]), quiet=True)
    nodes = CONTEXT_NODES.empty()
    if run.settings.makes("context"):
        chosen = list(context_nodes(tables, run, vectors.result().rows))
        nodes = next(one.rows for one in chosen if one.table == CONTEXT_NODES)
        yield from chosen
    session = run.session("reports")
    frames = {table.name: rows for table, rows in {**tables, CONTEXT_NODES: nodes}.items()}
    written = write_reports(session, run.warehouse, run.corpus, code_version("reports"), frames)
    made = written.made
    session.uses_again(replies_in(written.taken_over))
    begin_replacing(run.warehouse, run.corpus, WRITTEN_REPORTS)
    tokens = made.reports["tokens"]
    yield Made(
        COMMUNITY_REPORTS,
        made.reports,
        {
            **counts(made.reports, "engine"),
            "tokens": int(tokens.sum()),
            "taken_over": written.taken_over.height,
            "invalid_citations": int((~made.references["valid"]).sum()),
            "largest_context_tokens": made.contexts["tokens"].max() or 0,
            **session.finish(),
            "sizes": histogram(tokens.to_list(), "Report sizes", "tokens"),
        },
    )
    yield Made(REPORT_FINDINGS, made.findings)
    yield Made(REPORT_REFERENCES, made.references)
    yield Made(REPORT_CONTEXTS, made.contexts)
    yield Made(REPORT_CONTEXT_ROWS, made.context_rows)
    yield Made(WRITTEN_REPORTS, made.written)
    yield vectors.result()
    yield embedded(run, REPORT_EMBEDDINGS, made.reports)


def context_nodes(tables: Tables, run: StageRun, entity_vectors: pl.DataFrame) -> Iterator[Made]:
    """Nodes attached to communities that they resemble and are no members of (fourth paper §III.A)."""
    # Only what is switched on needs it.
    from graphrag_dagster.core.graph.context.build import build_context
    from graphrag_dagster.core.graph.context.vectors.making import node_vectors
    from graphrag_dagster.core.graph.network import network_of

    session, own = run.session("context_vectors_embeddings"), run.settings.context
    entities, relationships = tables[ENTITIES], tables[RELATIONSHIPS]
    vectors = node_vectors(
        own.embedding,
        entities["entity_id"],
        entity_vectors,
        network_of(relationships),
        own.seed,
        own.structure,
    )
    made = build_context(relationships, tables[COMMUNITY_LEVELS], vectors, own)
    taken = entities.join(made.nodes, on="entity_id", how="semi").sort("entity_id")
    texts = text_of_entity(taken)
    known = run.before(CONTEXT_VECTORS)
    stored = embed_rows(taken["entity_id"], texts, session.embedder(), known, named="context nodes")
    session.still_uses(texts.to_list())
    yield Made(CONTEXT_CANDIDATES, made.candidates)
    yield Made(
        CONTEXT_NODES,
        made.nodes,
        {
            **{f"level_{k}": n for k, n in counts(made.nodes, "level").items()},
            "candidates": counts(made.candidates, "outcome"),
            **session.finish(),
        },
    )
    yield Made(CONTEXT_ACCOUNT, made.account)
    yield Made(CONTEXT_VECTORS, stored)
