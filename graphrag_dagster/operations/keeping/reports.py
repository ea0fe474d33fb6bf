"""The reports a corpus already has, and which of them may be taken over."""

from collections.abc import Callable, Sequence

import polars as pl

from graphrag_dagster.catalogue.registry import tasks
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.reports.earlier import EarlierReport, earlier_reports
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.operations.keeping.deciding import model_of, replies_in
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import COMMUNITY_REPORTS, REPORT_CONTEXT_ROWS, REPORT_CONTEXTS, WRITTEN_REPORTS

_TASK = "report_writer"


def report_basis(settings: CorpusSettings, code: str) -> str:
    """Return a hash of what decides all reports of a corpus beside its tables.

    Args:
        settings: of the corpus.
        code: version of the code that writes them, with its prompts.
    """
    asked = settings.asks_model(tasks()[_TASK].section)
    return stable_id(
        code,
        settings.engine_of("reports"),
        settings.reports.model_dump_json(),
        settings.text_units.encoding,
        model_of(settings, _TASK) if asked else "",
    )


def reusable_reports(
    warehouse: Warehouse, corpus: str, remembered: Callable[[Sequence[str]], set[str]]
) -> dict[str, EarlierReport]:
    """Return the corpus's reports by the fingerprints of what they were written from.

    Those of which a model's reply is no longer remembered are not among them: they are asked for again.

    Args:
        warehouse: with the tables of before.
        corpus: its name.
        remembered: those of some keys under which there still is a reply.
    """
    tables = (WRITTEN_REPORTS, REPORT_CONTEXTS, REPORT_CONTEXT_ROWS, COMMUNITY_REPORTS)
    try:
        written, *others = (warehouse.read_if_present(table, corpus) for table in tables)
    except WarehouseError:
        # A file of before has them in another form, and they are made anew.
        return {}
    if written is None or any(one is None for one in others):
        return {}
    forgotten = set(keys := replies_in(written)) - remembered(keys)
    lasting = written.filter(~pl.col("replies").list.eval(pl.element().is_in(forgotten)).list.any())
    contexts, rows, reports = (one for one in others if one is not None)
    return earlier_reports(lasting, reports, contexts, rows)
