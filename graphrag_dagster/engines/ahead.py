"""Embedding that is begun before its step: vectors come while an earlier step waits for other replies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread

from graphrag_dagster.core.progress import quietly
from graphrag_dagster.core.text.embedder import CorpusEmbedder
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.model_calls.memory.replies import User

_lock = Lock()
_begun: dict[User, tuple[Thread, CorpusEmbedder]] = {}
_whole_runs = 0


@contextmanager
def in_a_whole_run() -> Iterator[None]:
    """Say that all steps of a run are in this process, whose end then waits for nothing that was begun.

    By the end of such a run all of it is done, unless a step failed: then nobody is kept waiting. A process
    of one step waits, since what is on its way is paid for.
    """
    global _whole_runs
    _whole_runs += 1
    try:
        yield
    finally:
        _whole_runs -= 1


def in_whole_run() -> bool:
    """Return whether all steps of what runs are in this process."""
    return _whole_runs > 0


def begin(user: User, embedder: CorpusEmbedder, work: Callable[[], object]) -> None:
    """Have work done in a thread, which the user's step waits for.

    Args:
        user: whose work it is; once in a run.
        embedder: that it uses, and that its step is to go on with.
        work: what it asks for is remembered. What goes wrong is met with again by the step, and told there.
    """

    def run() -> None:
        with quietly(), suppress(GraphragError):
            work()

    thread = Thread(target=run, name=f"ahead of {user.asset}", daemon=in_whole_run())
    with _lock:
        _begun[user] = thread, embedder
    thread.start()


def begun(user: User) -> CorpusEmbedder | None:
    """Wait for what was begun for a user, and return its embedder; None where nothing was."""
    with _lock:
        thread, embedder = _begun.pop(user, (None, None))
    if thread is not None:
        thread.join()
    return embedder
