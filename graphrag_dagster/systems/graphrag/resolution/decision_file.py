"""File of people's decisions on names, beside the documents."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.system_errors import told_of
from graphrag_dagster.kernel.documents.files.discovery import DECISIONS_FILE, DECISIONS_LOCK
from graphrag_dagster.kernel.storage.durable import sync_folder, write_durably
from graphrag_dagster.systems.graphrag.resolution.settings import Decision, read_decisions, written

_SECONDS = 10.0


@contextmanager
def changing_decisions(folder: Path, seconds: float = _SECONDS) -> Iterator[list[Decision]]:
    """Give the decisions of a corpus, in their order, and keep what the caller makes of the list.

    One writer at a time. Where the caller fails nothing is written; where no decision is left the file goes.

    Args:
        folder: of the corpus.
        seconds: to wait for another writer.

    Raises:
        SettingsError: a line of the file is no decision.
        CorpusError: the file cannot be written, or another process holds it.
    """
    lock = FileLock(folder / DECISIONS_LOCK)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise CorpusError(
            f"another process is writing decisions on names in {folder}; waited {seconds:.0f} s. Try again "
            "when it is done"
        ) from None
    except OSError as error:
        raise _refused(error) from None
    try:
        decisions = read_decisions(folder)
        before = list(decisions)
        yield decisions
        if decisions != before:
            _keep(folder / DECISIONS_FILE, decisions)
    finally:
        lock.release()


def _keep(path: Path, decisions: list[Decision]) -> None:
    try:
        if decisions:
            write_durably(path, written(decisions))
        else:
            path.unlink()
            sync_folder(path.parent)
    except OSError as error:
        raise _refused(error) from None


def _refused(error: OSError) -> CorpusError:
    return CorpusError(
        f"nothing was written: {told_of(error)}. Decisions can also be set in corpus.yaml, as "
        "resolution.same and resolution.different"
    )
