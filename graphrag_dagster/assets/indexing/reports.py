"""Community reports, bottom-up."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.operations.importing.kept import IMPORTED, kept_reports_of
from graphrag_dagster.operations.keeping.deciding import begin_replacing, replies_in
from graphrag_dagster.operations.keeping.reports import report_basis, reusable_reports
from graphrag_dagster.orchestration.declare import counts, ins_of, key_of, output, table_assets, version_in
from graphrag_dagster.orchestration.plots import histogram
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    ALIASES,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    COMMUNITY_REPORTS,
    CONTEXT_NODES,
    ENTITIES,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    TEXT_CHUNKS,
    WRITTEN_REPORTS,
)

_TABLES = (
    COMMUNITY_REPORTS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    REPORT_CONTEXTS,
    REPORT_CONTEXT_ROWS,
    WRITTEN_REPORTS,
)


@table_assets(
    _TABLES,
    ins=ins_of(
        ENTITIES,
        RELATIONSHIPS,
        MERGED_CLAIMS,
        COMMUNITIES,
        COMMUNITY_MEMBERS,
        TEXT_CHUNKS,
        GLEANED_ENTITIES,
        GLEANED_RELATIONSHIPS,
        ALIASES,
        CONTEXT_NODES,
    ),
    deps=[key_of(table) for table in IMPORTED],
    pool="llm",
)
def reports(
    context: AssetExecutionContext, language: Language, warehouse: Warehouse, **frames: pl.DataFrame
) -> Iterator[Output[pl.DataFrame]]:
    """A report per community, deepest level first, each citing what it was written from (paper §3.1.5)."""
    # Not needed by the steps before, the first of which calls a model.
    from graphrag_dagster.core.reports.build import build_reports

    session, corpus = language.session(context, "reports"), context.partition_key
    settings = session.settings
    earlier = reusable_reports(warehouse, corpus, session.remembered)
    tokenizer = get_tokenizer(settings.text_units.encoding)
    made = build_reports(
        entities=frames["entities"],
        relationships=frames["relationships"],
        claims=frames["claims"],
        communities=frames["communities"],
        members=frames["community_members"],
        text_chunks=frames["text_chunks"],
        gleaned_entities=frames["gleaned_entities"],
        gleaned_relationships=frames["gleaned_relationships"],
        aliases=frames["aliases"],
        context_nodes=frames["context_nodes"],
        writer=session.report_writer(),
        count=tokenizer.count,
        rows_add_up=tokenizer.lines_add_up,
        context_tokens=settings.reports.context_tokens,
        context_share=settings.reports.context_share,
        kept=kept_reports_of(warehouse, settings, corpus, frames["entities"], frames["relationships"]),
        basis=report_basis(settings, version_in(context, WRITTEN_REPORTS)),
        earlier=earlier,
    )
    taken_over = made.written.filter(pl.col("fingerprint").is_in(earlier.keys()))
    session.uses_again(replies_in(taken_over))
    begin_replacing(warehouse, corpus, WRITTEN_REPORTS)
    tokens = made.reports["tokens"]
    yield output(
        COMMUNITY_REPORTS,
        made.reports,
        **counts(made.reports, "engine"),
        tokens=int(tokens.sum()),
        taken_over=taken_over.height,
        **session.finish(),
        sizes=histogram(tokens.to_list(), "Report sizes", "tokens"),
    )
    yield output(REPORT_FINDINGS, made.findings)
    yield output(REPORT_REFERENCES, made.references, invalid_citations=int((~made.references["valid"]).sum()))
    yield output(REPORT_CONTEXTS, made.contexts, largest_context_tokens=made.contexts["tokens"].max() or 0)
    yield output(REPORT_CONTEXT_ROWS, made.context_rows)
    yield output(WRITTEN_REPORTS, made.written)
