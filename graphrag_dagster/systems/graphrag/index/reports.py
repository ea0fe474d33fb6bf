"""Community reports, bottom-up, with the vectors that answering needs."""

from collections.abc import Iterator

from graphrag_dagster.kernel.pipeline.display import counts, histogram
from graphrag_dagster.kernel.pipeline.embedding import embedded
from graphrag_dagster.kernel.pipeline.orchestration.versions import code_version
from graphrag_dagster.kernel.pipeline.step import Made, StepRun, Tables
from graphrag_dagster.kernel.pipeline.updates.inputs import begin_replacing, replies_in
from graphrag_dagster.kernel.tables import (
    COMMUNITY_REPORTS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
    REPORT_EMBEDDINGS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    WRITTEN_REPORTS,
)
from graphrag_dagster.systems.graphrag.index.report_writing import write_reports


def reports(tables: Tables, run: StepRun) -> Iterator[Made]:
    """A report per community, deepest level first, citing what it was written from (paper §3.1.5)."""
    session = run.session("reports")
    frames = {table.name: rows for table, rows in tables.items()}
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
    yield embedded(run, REPORT_EMBEDDINGS, made.reports)
