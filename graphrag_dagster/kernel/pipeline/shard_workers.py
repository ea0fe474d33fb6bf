"""Interpreters of shards: processes of this machine, and tasks of a Ray cluster."""

import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from logging import getLogger
from multiprocessing.connection import Connection
from socket import gethostname
from typing import Any, NamedTuple, TypeAlias, cast

import polars as pl

from graphrag_dagster import errors
from graphrag_dagster.kernel.common.progress import Listener, listening
from graphrag_dagster.kernel.common.worker_processes import sigint_ignored
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, Replies, User
from graphrag_dagster.kernel.models.cache.usage_account import UsageAccount
from graphrag_dagster.kernel.models.model_costs import Budget
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.garbage_collection import defer_collection
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
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
        key: tells the assignments of a machine apart; equal ones are served by one task provider.
        settings: the corpus's settings, with the interpreter's share of the connections.
        memory: the LLM cache, which all interpreters share.
        user: whom calls are booked to.
        step: whose shards these are.
        code: the code version of the step where it was started.
    """

    key: str
    settings: CorpusSettings = field(compare=False)
    memory: LLMCache = field(compare=False)
    user: User = field(compare=False)
    step: str = field(compare=False)
    code: str = field(compare=False)


class ShardResult(NamedTuple):
    """Tables of a shard, and what it has to say to users."""

    tables: Mapping[str, pl.DataFrame]
    messages: list[str]


def make_shard(assignment: Assignment, factory: Factory, rows: pl.DataFrame) -> ShardResult:
    """Do the work in this interpreter.

    Raises:
        EngineError: the code here is not that of the step, and so would make other tables.
        GraphragError: the work failed by an error that users can mend.
        ShardFailed: it failed otherwise.
    """
    if (own := code_version(assignment.step)) != assignment.code:
        raise errors.EngineError(
            f"{assignment.step}: {gethostname()} has other prompts, code or libraries than the machine that "
            f"runs the step (version {own}, not {assignment.code}); install the same versions there, and run "
            "again"
        )
    messages = _Messages()
    try:
        with listening(messages):
            made = _work(assignment, factory)(rows)
        # The step reads the account once it has the rows: what waits to be written is written before.
        with assignment.memory.database().reading():
            pass
        return ShardResult(made, messages.said)
    except errors.GraphragError as error:
        raise _public(error) from None
    except Exception as error:
        _log.debug("%s", traceback.format_exc())
        raise ShardFailed(f"{type(error).__name__}: {error}") from None


@lru_cache(1)
def _provider(assignment: Assignment) -> TaskProvider:
    # As for a command: the usual thresholds take a tenth of the processor time of calls.
    defer_collection()
    database = assignment.memory.database()
    account = UsageAccount(assignment.user, Replies(database), assignment.memory.usage_log(), Budget())
    return TaskProvider(assignment.settings, lambda: account)


@lru_cache(4)
def _work(assignment: Assignment, factory: Factory) -> Work:
    return factory(_provider(assignment))


class _Messages(Listener):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)


def _public(error: errors.GraphragError) -> errors.GraphragError:
    """The error as one that another interpreter can make again of its text alone."""
    if type(error).__init__ is Exception.__init__:
        return error
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return cast("errors.GraphragError", next(kinds)(str(error)))


class ProcessWorkers:
    """Processes of this machine. They ignore Ctrl-C, and end with the one that has started them.

    Args:
        number: how many.
    """

    def __init__(self, number: int) -> None:
        # A pool of multiprocessing would wait forever for what a killed process was doing.
        context = multiprocessing.get_context("spawn")
        alive, self._alive = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(number, context, _end_with_parent, (alive,))
        self._begun: set[Future[ShardResult]] = set()

    def make(self, assignment: Assignment, factory: Factory, rows: pl.DataFrame) -> ShardResult:
        """Do the work in one of them, as :func:`make_shard`; many threads may call this.

        Raises:
            Died: it has ended.
        """
        try:
            with sigint_ignored():
                begun = self._pool.submit(make_shard, assignment, factory, rows)
            self._begun.add(begun)
            try:
                return begun.result()
            finally:
                self._begun.discard(begun)
        # A pool that is shut down takes nothing more.
        except (BrokenExecutor, RuntimeError) as error:
            raise Died(type(error).__name__) from error

    def end(self) -> None:
        """End the processes."""
        if self._begun:
            self._alive.close()
        self._pool.shutdown(cancel_futures=True)
        self._alive.close()


def _end_with_parent(alive: Connection) -> None:
    """End this process once the other end of the pipe is closed, even if by killing who holds it."""

    def watch() -> None:
        with suppress(EOFError, OSError):
            alive.recv()
        os._exit(1)

    threading.Thread(target=watch, name="end with the parent", daemon=True).start()


class RayWorkers:
    """Tasks of a Ray cluster, which end with the process that has started them.

    Raises:
        SettingsError: Ray is not installed.
        EngineError: the cluster cannot be reached.
    """

    def __init__(self) -> None:
        self._ray = _ray()
        # No processors are set aside for what mostly waits: more shards than processors run too.
        self._task = self._ray.remote(num_cpus=0, max_retries=0, scheduling_strategy="SPREAD")(make_shard)
        self._begun: set[Any] = set()

    def make(self, assignment: Assignment, factory: Factory, rows: pl.DataFrame) -> ShardResult:
        """Do the work in one of them, as :func:`make_shard`; many threads may call this.

        Raises:
            Died: it has ended.
        """
        failures = self._ray.exceptions
        begun = self._task.remote(assignment, factory, rows)
        self._begun.add(begun)
        try:
            return cast("ShardResult", self._ray.get(begun))
        except failures.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from None
        except failures.RayError as error:
            raise Died(type(error).__name__) from error
        finally:
            self._begun.discard(begun)

    def end(self) -> None:
        """End the tasks."""
        for one in tuple(self._begun):
            self._ray.cancel(one, force=True)


def _ray() -> Any:
    """Return Ray, connected to the cluster of ``$RAY_ADDRESS``, to that of a job, or to a new one."""
    try:
        import ray
    except ImportError as error:
        raise errors.SettingsError(
            "execution.backend is ray, which is not installed; install 'graphrag-dagster[ray]', or set "
            "execution.backend: processes"
        ) from error
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
