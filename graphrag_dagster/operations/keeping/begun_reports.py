"""Reports that are begun as soon as there are communities, beside the steps that ask no model."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread

import polars as pl

from graphrag_dagster.engines.ahead import in_whole_run
from graphrag_dagster.engines.session import Session
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.operations.keeping.writing import WRITTEN_FROM, CorpusReports, write_reports
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import CONTEXT_NODES

REPORTS = "reports"


@dataclass(frozen=True, slots=True)
class _Begun:
    """Reports that are being written, with what they are written from, and who is asked for them."""

    session: Session
    written: "Future[tuple[CorpusReports, Mapping[str, pl.DataFrame]]]"


#: By the id of the run.
_begun: dict[str, _Begun] = {}


def begin_reports(language: Language, warehouse: Warehouse, corpus: str, run_id: str, code: str) -> bool:
    """Begin the reports of a run of which all steps are in this process, where a model writes them.

    Nothing is begun where the run has a limit, or where reports wait for context nodes.

    Args:
        language: opens the engines.
        warehouse: with all that reports are written from but context nodes.
        corpus: its name.
        run_id: of the run.
        code: version of the code that writes them.

    Returns:
        Whether they were begun.
    """
    settings = language.corpora.settings(corpus)
    waited_for = not settings.model.for_role("report").batch
    if not (in_whole_run() and settings.asks_model(REPORTS) and waited_for) or settings.makes("context"):
        return False
    session = language.session_of(settings, User(corpus, REPORTS, run_id))
    if session.limited:
        return False
    begun = _begun[run_id] = _Begun(session, Future())
    given = (begun, warehouse, corpus, code)
    Thread(target=_write, args=given, name=f"ahead of {REPORTS}", daemon=True).start()
    return True


def corpus_reports(
    session: Session,
    warehouse: Warehouse,
    corpus: str,
    run_id: str,
    code: str,
    frames: Mapping[str, pl.DataFrame],
) -> tuple[CorpusReports, Session]:
    """Return the reports of a corpus, written before where that was begun, and whose session asked for them.

    The arguments and errors are those of :func:`.writing.write_reports`.
    """
    begun = _begun.pop(run_id, None)
    if begun:
        written, of = begun.written.result()
        if all(of[name].equals(frame) for name, frame in frames.items()):
            return written, begun.session
    return write_reports(session, warehouse, corpus, code, frames), session


def _write(begun: _Begun, warehouse: Warehouse, corpus: str, code: str) -> None:
    try:
        with warehouse.reading(corpus) as reader:
            frames = {table.name: reader.read(table) for table in WRITTEN_FROM if table is not CONTEXT_NODES}
        frames[CONTEXT_NODES.name] = CONTEXT_NODES.empty()
        written = write_reports(begun.session, warehouse, corpus, code, frames)
        begun.written.set_result((written, frames))
    except BaseException as error:
        # Its step meets with it, which would have to wait for it once more.
        begun.written.set_exception(error)
