"""Community reports, bottom-up."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.operations.importing.kept import IMPORTED
from graphrag_dagster.operations.keeping.deciding import begin_replacing, replies_in
from graphrag_dagster.operations.keeping.writing import WRITTEN_FROM, write_reports
from graphrag_dagster.orchestration.declare import counts, ins_of, key_of, output, table_assets
from graphrag_dagster.orchestration.plots import histogram
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    COMMUNITY_REPORTS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
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
    ins=ins_of(*WRITTEN_FROM),
    deps=[key_of(table) for table in IMPORTED],
    pool="llm",
)
def reports(
    context: AssetExecutionContext, language: Language, warehouse: Warehouse, **frames: pl.DataFrame
) -> Iterator[Output[pl.DataFrame]]:
    """A report per community, deepest level first, each citing what it was written from (paper §3.1.5)."""
    corpus, code = context.partition_key, code_version("reports")
    session = language.session(context, "reports")
    written = write_reports(session, warehouse, corpus, code, frames)
    made, taken_over = written.made, written.taken_over
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
