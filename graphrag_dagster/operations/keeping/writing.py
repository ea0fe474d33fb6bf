"""The reports of a corpus: those of which something has changed are written, the rest taken over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.catalogue.tasks import REPORT_WRITER
from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.engines.session import Session
from graphrag_dagster.operations.importing.kept import kept_reports_of
from graphrag_dagster.operations.keeping.reports import report_basis, reusable_reports
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import (
    ALIASES,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    CONTEXT_NODES,
    ENTITIES,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    TEXT_CHUNKS,
)

if TYPE_CHECKING:
    from graphrag_dagster.core.reports.frames import ReportFrames

#: The tables that reports are written from.
WRITTEN_FROM = (
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
)


#: Requests that an engine of this process is given at once: each holds all sentences that support it.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class CorpusReports:
    """The tables of all reports, and the rows of ``graph.written_reports`` of those that were taken over."""

    made: "ReportFrames"
    taken_over: pl.DataFrame


def write_reports(
    session: Session, warehouse: Warehouse, corpus: str, code: str, frames: Mapping[str, pl.DataFrame]
) -> CorpusReports:
    """Write the reports of a corpus, but for those whose rows of before still hold.

    Args:
        session: of the asset ``reports``.
        warehouse: with the tables of before.
        corpus: its name.
        code: version of the code that writes them, with its prompts.
        frames: those of :data:`WRITTEN_FROM`, by their names.

    Raises:
        EngineError: the writer did not return one report per request.
        EndpointError: the model endpoint cannot be used at all.
    """
    # Not needed by the steps before, the first of which calls a model.
    from graphrag_dagster.core.reports.build import build_reports

    settings = session.settings
    earlier = reusable_reports(warehouse, corpus, session.remembered)
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
        writer=session.task(REPORT_WRITER),
        tokens=get_tokenizer(settings.text_units.encoding),
        context_tokens=settings.reports.context_tokens,
        context_share=settings.reports.context_share,
        kept=kept_reports_of(warehouse, settings, corpus, frames["entities"], frames["relationships"]),
        basis=report_basis(settings, code),
        earlier=earlier,
        at_once=None if settings.asks_model("reports") else _AT_ONCE,
    )
    return CorpusReports(made, made.written.filter(pl.col("fingerprint").is_in(earlier.keys())))
