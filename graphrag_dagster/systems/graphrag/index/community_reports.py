"""The step of community reports: changed ones are written, the others are reused."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import tasks
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.pipeline.code_versions import (
    begin_replacing,
    code_version,
    model_of,
    replies_in,
)
from graphrag_dagster.kernel.pipeline.garbage_collection import release_memory
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.shards import Shards
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun, embedded
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITIES,
    COMMUNITY_REPORTS,
    ENTITIES,
    RELATIONSHIPS,
    REPORT_EMBEDDINGS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.index.graph_communities import adopted_reports_of
from graphrag_dagster.systems.graphrag.reports.report_reuse import EarlierReport, earlier_reports
from graphrag_dagster.systems.graphrag.settings import ReportSettings
from graphrag_dagster.systems.graphrag.tables import REPORT_CONTEXT_ROWS, REPORT_CONTEXTS, WRITTEN_REPORTS
from graphrag_dagster.systems.graphrag.tasks import REPORT_WRITER

#: Requests that an engine of this process is given at once: each holds all sentences that support it.
_AT_ONCE = 64


_TASK = "report_writer"


def report_basis(settings: CorpusSettings, code: str) -> str:
    """Return a hash of what decides all reports of a corpus beside its tables.

    ``code`` is the version of the code that writes them, with its prompts.
    """
    asked = settings.asks_model(tasks()[_TASK].section)
    own = settings.section(ReportSettings)
    # A report may be written from those of the next level, if they are there.
    same = {"levels"} if own.levels is None else set()
    return stable_id(
        code,
        settings.engine_of("reports"),
        own.model_dump_json(exclude=same),
        settings.text_units.encoding,
        model_of(settings, _TASK) if asked else "",
    )


def reported(communities: pl.DataFrame, settings: ReportSettings) -> pl.DataFrame:
    """Return the communities whose reports are written when indexing."""
    deepest = settings.levels
    return communities if deepest is None else communities.filter(pl.col("level") <= deepest)


def reusable_reports(
    warehouse: Warehouse, corpus: str, cached: Callable[[Sequence[str]], set[str]]
) -> dict[str, EarlierReport]:
    """Return the corpus's reports by the fingerprints of what they were written from.

    Those of which a model's reply is no longer cached are not among them: they are asked for again.
    ``cached`` tells under which of some keys there still is a reply.
    """
    tables = (WRITTEN_REPORTS, REPORT_CONTEXTS, REPORT_CONTEXT_ROWS, COMMUNITY_REPORTS)
    written, *others = (warehouse.read_if_present(table, corpus) for table in tables)
    if written is None or any(one is None for one in others):
        return {}
    forgotten = set(keys := replies_in(written)) - cached(keys)
    lasting = written.filter(~pl.col("replies").list.eval(pl.element().is_in(forgotten)).list.any())
    contexts, rows, reports = (one for one in others if one is not None)
    return earlier_reports(lasting, reports, contexts, rows)


def reports(tables: Tables, run: StepRun) -> Iterator[Made]:
    """A report per community, deepest level first, citing what it was written from.

    From Local to Global, §3.1.5.
    """
    # Not needed by the steps before, the first of which calls a model.
    from graphrag_dagster.systems.graphrag.reports.report_building import build_reports
    from graphrag_dagster.systems.graphrag.reports.report_shards import writer_in_shards

    session, settings = run.session("reports"), run.settings
    own = settings.section(ReportSettings)
    earlier = reusable_reports(run.warehouse, run.corpus, session.cached)

    def release() -> None:
        tables.clear()
        release_memory()

    with closing(Shards(run, session, "reports", (REPORT_WRITER,))) as shards:
        made = build_reports(
            tables,
            writer=writer_in_shards(session.task(REPORT_WRITER), shards),
            tokens=get_tokenizer(settings.text_units.encoding),
            context_tokens=own.context_tokens,
            context_share=own.context_share,
            kept=adopted_reports_of(run, tables[ENTITIES], tables[RELATIONSHIPS]),
            basis=report_basis(settings, code_version("reports")),
            earlier=earlier,
            at_once=None if settings.asks_model("reports") else _AT_ONCE,
            only=None if own.levels is None else reported(tables[COMMUNITIES], own)["community_id"],
            expect=shards.expect,
            give_up=shards.close,
            release=release,
        )
    taken_over = made.written.filter(pl.col("fingerprint").is_in(earlier.keys()))
    session.mark_reused(replies_in(taken_over))
    begin_replacing(run.warehouse, run.corpus, WRITTEN_REPORTS)
    yield Made(
        COMMUNITY_REPORTS,
        made.reports,
        {
            **counts(made.reports, "engine"),
            "tokens": int(made.reports["tokens"].sum()),
            "taken_over": taken_over.height,
            "invalid_citations": int((~made.references["valid"]).sum()),
            "largest_context_tokens": made.contexts["tokens"].max() or 0,
            **session.finish(),
            **shards.told,
        },
    )
    yield Made(REPORT_FINDINGS, made.findings)
    yield Made(REPORT_REFERENCES, made.references)
    yield Made(REPORT_CONTEXTS, made.contexts)
    yield Made(REPORT_CONTEXT_ROWS, made.context_rows)
    yield Made(WRITTEN_REPORTS, made.written)
    yield embedded(run, REPORT_EMBEDDINGS, made.reports)
