"""Interpreters of shards: this one, processes of this machine, and actors of a Ray cluster."""

import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from logging import getLogger
from multiprocessing.managers import BaseManager
from socket import gethostname
from typing import Any, Protocol, TypeAlias, cast

import polars as pl

from graphrag_dagster import errors
from graphrag_dagster.kernel.common.progress import Listener, listening
from graphrag_dagster.kernel.common.worker_processes import sigint_ignored
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, Replies, User
from graphrag_dagster.kernel.models.cache.usage_account import UsageAccount
from graphrag_dagster.kernel.models.chat.concurrent_calls import stop_sending
from graphrag_dagster.kernel.models.model_costs import Budget
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.garbage_collection import defer_collection
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.staging import Staging
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

_log = getLogger("graphrag_dagster")

#: Makes tables of rows.
Work: TypeAlias = Callable[[pl.DataFrame], Mapping[str, pl.DataFrame]]
#: Makes the work of an interpreter, whose model calls go through the given task provider.
Factory: TypeAlias = Callable[[TaskProvider], Work]


class Died(Exception):
    """The interpreter of a shard is gone."""


class ShardFailed(Exception):
    """The work failed in a way that may pass, or is an error of a program."""


@dataclass(frozen=True)
class Assignment:
    """What an interpreter needs to know.

    Attributes:
        settings: the corpus's settings, with the interpreter's share of the connections.
        memory: the LLM cache, which all interpreters share.
        user: whom calls are booked to.
        staging: where it puts what it has made.
        step: whose shards these are.
        code: the code version of the step where it was started.
    """

    settings: CorpusSettings
    memory: LLMCache
    user: User
    staging: Staging
    step: str
    code: str


@dataclass
class Told:
    """How far an interpreter is: the finished steps of each stage, and what it has to say to users."""

    stages: dict[str, int] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


class Worker(Protocol):
    """An interpreter that does the work of a shard; threads may call it at the same time."""

    def run(self, factory: Factory, rows: pl.DataFrame) -> Mapping[str, str]:
        """Return the names of the staged files of the tables that the work makes of the rows.

        Raises:
            Died: the interpreter has ended.
            ShardFailed: the work failed otherwise than by an error that users can mend.
            GraphragError: such an error.
        """

    def told(self) -> Told:
        """Return how far it is."""

    def stop(self) -> None:
        """Have it send no more requests; what it is doing fails once those under way are answered."""

    def end(self) -> None:
        """End it, and whatever it is doing."""


class LocalWorker:
    """Does the work in the interpreter that it is made in."""

    def __init__(self, assignment: Assignment) -> None:
        database = assignment.memory.database()
        account = UsageAccount(assignment.user, Replies(database), assignment.memory.usage_log(), Budget())
        self._session = TaskProvider(assignment.settings, lambda: account)
        self._staging = assignment.staging
        self._work: dict[Factory, Work] = {}
        self._lock = threading.Lock()

    def run(self, factory: Factory, rows: pl.DataFrame) -> Mapping[str, str]:
        """Do the work; see :class:`Worker`."""
        try:
            with self._lock:
                if factory not in self._work:
                    self._work[factory] = factory(self._session)
            made = {name: self._staging.put(frame) for name, frame in self._work[factory](rows).items()}
            self._session.keep_paces()
        except errors.GraphragError as error:
            raise _public(error) from None
        except Exception as error:
            _log.debug("%s", traceback.format_exc())
            raise ShardFailed(f"{type(error).__name__}: {error}") from None
        return made

    def told(self) -> Told:
        """Return nothing: what happens in this interpreter is shown as it is."""
        return Told()

    def stop(self) -> None:
        """Do nothing: shards of one interpreter come one after the other."""

    def end(self) -> None:
        """Do nothing: the interpreter goes on."""


class RemoteWorker(LocalWorker):
    """Does the work in an interpreter of its own, and tells how far it is when asked."""

    def __init__(self, assignment: Assignment) -> None:
        # As for a command: the usual thresholds take a tenth of the processor time of calls.
        defer_collection()
        super().__init__(assignment)
        self._mismatch = _mismatch(assignment)
        self._stopped = False
        self._tally = _Tally()
        self._listening = listening(self._tally)
        self._listening.__enter__()

    def run(self, factory: Factory, rows: pl.DataFrame) -> Mapping[str, str]:
        """Do the work, unless it is to send no more; see :class:`Worker`.

        Raises:
            EngineError: the code here is not that of the step.
        """
        if self._mismatch:
            raise errors.EngineError(self._mismatch)
        if self._stopped:
            raise ShardFailed("it is ending")
        return super().run(factory, rows)

    def told(self) -> Told:
        """Return how far it is."""
        return self._tally.told

    def stop(self) -> None:
        """Send no more requests; see :class:`Worker`."""
        self._stopped = True
        stop_sending()


class _Tally(Listener):
    def __init__(self) -> None:
        self.told = Told()
        self._lock = threading.Lock()

    def start(self, stage: str, total: int | None) -> None:  # noqa: ARG002 - told where all are counted.
        with self._lock:
            self.told.stages.setdefault(stage, 0)

    def advance(self, stage: str, steps: int) -> None:
        with self._lock:
            self.told.stages[stage] += steps

    def finish(self, stage: str) -> None:
        pass

    def say(self, line: str) -> None:
        with self._lock:
            if line not in self.told.said:
                self.told.said.append(line)


def _mismatch(assignment: Assignment) -> str:
    """Tell that the code here is not that of the step, and so would make other tables; blank if it is."""
    if (own := code_version(assignment.step)) == assignment.code:
        return ""
    return (
        f"{assignment.step}: {gethostname()} has other prompts, code or libraries than the machine that runs "
        f"the step (version {own}, not {assignment.code}); install the same versions there, and run again"
    )


def _public(error: errors.GraphragError) -> errors.GraphragError:
    """The error as one that another interpreter can make again of its text alone."""
    if type(error).__init__ is Exception.__init__:
        return error
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return cast("errors.GraphragError", next(kinds)(str(error)))


class _Manager(BaseManager):
    """Serves a worker to the threads of the process that has started it."""


_Manager.register("worker", RemoteWorker, exposed=("run", "told", "stop"))


def _end_with_parent() -> None:
    """End this process once the one that has started it is gone, even if that was killed."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="end with the parent", daemon=True).start()


class ProcessWorker:
    """A process of this machine. It ignores Ctrl-C, since its parent ends it."""

    def __init__(self, assignment: Assignment) -> None:
        self._manager = _Manager(ctx=multiprocessing.get_context("spawn"))
        try:
            with sigint_ignored():
                self._manager.start(_end_with_parent)
            self._proxy: Any = self._manager.worker(assignment)  # type: ignore[attr-defined]
        except BaseException as error:
            self.end()
            if isinstance(error, EOFError | OSError):
                raise Died(f"{type(error).__name__} at its start") from error
            raise

    def run(self, factory: Factory, rows: pl.DataFrame) -> Mapping[str, str]:
        """Do the work; see :class:`Worker`."""
        try:
            made: Mapping[str, str] = self._proxy.run(factory, rows)
        except (EOFError, ConnectionError) as error:
            raise Died(type(error).__name__) from error
        return made

    def told(self) -> Told:
        """Return how far it is; nothing of one that is gone."""
        try:
            told: Told = self._proxy.told()
        except (EOFError, OSError):
            return Told()
        return told

    def stop(self) -> None:
        """Have it send no more, if it is there; see :class:`Worker`."""
        with suppress(EOFError, OSError):
            self._proxy.stop()

    def end(self) -> None:
        """End the process."""
        # It may be gone already, or not have started.
        with suppress(AttributeError, EOFError, OSError):
            self._manager.shutdown()


class RayWorker:
    """An actor of a Ray cluster, which calls from many threads reach at the same time."""

    def __init__(self, assignment: Assignment) -> None:
        self._ray = _ray()
        # No processors are set aside for an actor, which mostly waits: more shards than processors run too.
        actor = self._ray.remote(max_concurrency=_THREADS, max_restarts=0, scheduling_strategy="SPREAD")(
            RemoteWorker
        )
        self._actor = actor.remote(assignment)

    def run(self, factory: Factory, rows: pl.DataFrame) -> Mapping[str, str]:
        """Do the work; see :class:`Worker`."""
        failures = self._ray.exceptions
        try:
            made: Mapping[str, str] = self._ray.get(self._actor.run.remote(factory, rows))
        except failures.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except failures.RayError as error:
            raise Died(type(error).__name__) from error
        return made

    def told(self) -> Told:
        """Return how far it is; nothing of one that is gone, or has not started."""
        failures = self._ray.exceptions
        try:
            told: Told = self._ray.get(self._actor.told.remote(), timeout=_PATIENT)
        except failures.RayError:
            return Told()
        return told

    def stop(self) -> None:
        """Have it send no more, if it is there; see :class:`Worker`."""
        self._actor.stop.remote()

    def end(self) -> None:
        """End the actor."""
        self._ray.kill(self._actor)


#: Calls of an actor at the same time, and seconds that one waits for its word.
_THREADS, _PATIENT = 64, 5.0


def _ray() -> Any:
    """Return Ray, connected to the cluster of ``$RAY_ADDRESS``, to the one that a job runs in, or a new one.

    Raises:
        SettingsError: it is not installed.
        EngineError: the cluster cannot be reached.
    """
    try:
        import ray
    except ImportError as error:
        raise errors.SettingsError(
            "execution.backend is ray, which is not installed; install 'graphrag-dagster[ray]', or set "
            "execution.backend: processes"
        ) from error
    with _connecting:
        if not ray.is_initialized():
            try:
                ray.init(log_to_driver=False)
            # What cannot be reached raises errors of many kinds.
            except Exception as error:
                raise errors.EngineError(
                    f"the Ray cluster cannot be reached: {error}; set RAY_ADDRESS to the head node, such as "
                    "10.0.0.1:6379, or unset it to start a cluster on this machine"
                ) from error
    return ray


_connecting = threading.Lock()
