"""Shards of a step: rows split over several interpreters, each of which calls models.

One interpreter serves some 100 calls a second, whatever the number of connections. A row's shard is told by a
range of the hash of the text that a model is asked about: equal texts, whose prompts are the same, are asked
about by the same interpreter, and no other row decides where a row belongs. Whoever collects the tables of
shards brings them into the order of keys, so that tables do not depend on the number of shards.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl

from graphrag_dagster.errors import EngineError, GraphragError
from graphrag_dagster.kernel.catalogue.tasks import Task
from graphrag_dagster.kernel.common.progress import say, stage
from graphrag_dagster.kernel.common.worker_processes import available_processors
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.shard_workers import (
    Assignment,
    Died,
    Factory,
    ProcessWorkers,
    RayWorkers,
    ShardFailed,
    ShardResult,
    Work,
)
from graphrag_dagster.kernel.settings.model_settings import ModelSettings, TaskModelSettings
from graphrag_dagster.kernel.storage.home import cache_location, cache_place
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

if TYPE_CHECKING:
    from graphrag_dagster.kernel.pipeline.step_declaration import StepRun

#: For `auto`: connections that one interpreter serves well, and the largest number of interpreters.
_CONNECTIONS, _MOST = 64, 8
#: Rows of a shard: worth another interpreter, and few enough to wait for where another has failed.
_ROWS = 500
#: How often a shard is begun.
_ATTEMPTS = 3
_NAMED = 5
#: What interpreters of a step divide among them.
_SHARED = ("concurrency", "requests_per_minute", "tokens_per_minute")


def shard_of(text: str, number: int) -> int:
    """Return the shard of a text, from 0: a range of its hash."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") * number >> 64


def share_of_model(model: ModelSettings, number: int) -> ModelSettings:
    """Return the settings of a model for one of several interpreters: its part of connections and rates.

    One at least of each, so that all together keep to what is set.
    """

    def part(section: ModelSettings | TaskModelSettings) -> dict[str, int]:
        return {name: max(given // number, 1) for name in _SHARED if (given := getattr(section, name))}

    tasks = {role: own.model_copy(update=part(own)) for role, own in model.tasks.items()}
    return model.model_copy(update={**part(model), "tasks": tasks})


class Shards:
    """Runs work on rows in the interpreters of one step, which end when it is closed.

    Args:
        run: the run of the step.
        session: its task provider, which the work of a step that is not split is done with; the calls of all
            shards are booked to its user.
        name: of the step.
        asked: the tasks by which models are asked.
    """

    def __init__(self, run: "StepRun", session: TaskProvider, name: str, asked: Sequence[Task[Any]]) -> None:
        self._run, self._session, self._name = run, session, name
        done = [task for task in asked if run.settings.does(task.section)]
        # Engines of this machine have processes, or a model in memory, of their own.
        by_models = all(run.settings.asks_model(task.section) for task in done)
        self._asked = done if by_models else []
        self._backend = run.settings.execution.backend
        self._work_here: Callable[[Factory], Work] = cache(lambda factory: factory(session))
        self._key = uuid4().hex
        self._workers: ProcessWorkers | RayWorkers | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._failure: GraphragError | None = None
        self._said: set[str] = set()
        #: Number of interpreters; what there is one of is not split.
        self.number = 1
        #: How often a shard was run again.
        self.repeated = 0

    @property
    def told(self) -> dict[str, int]:
        """Metadata of the step: empty where nothing was split."""
        return {} if self.number == 1 else {"shards": self.number, "shards_run_again": self.repeated}

    def expect(self, rows: int) -> None:
        """Choose the number of interpreters for so many rows; none is started yet.

        What the endpoint can do is found out here, so that not each of them asks.

        Raises:
            EndpointError: the endpoint cannot be used.
        """
        self.number = self._suitable_number(rows)
        if self.number > 1:
            for task in filter(self._run.settings.switched_on, self._asked):
                self._session.check_endpoint(task)

    def _suitable_number(self, rows: int) -> int:
        settings, wanted = self._run.settings, self._run.settings.execution.shards
        models = [settings.model.for_role(task.role) for task in self._asked]
        # One interpreter alone keeps exactly to a limit on tokens or money, and gathers what a batch sends.
        if not models or self._run.language.limited or any(model.batch for model in models):
            return 1
        connections = min(model.concurrency for model in models)
        if wanted != "auto":
            return max(min(wanted, connections, rows), 1)
        # A cluster has as many processors as it is given nodes. Here the rest of the step wants some too.
        here = _MOST if self._backend == "ray" else available_processors() // 2
        processors = min(here, _MOST)
        return max(min(processors, connections // _CONNECTIONS, rows // _ROWS), 1)

    def run(
        self, factory: Factory, rows: pl.DataFrame, *, by: str, of: str, quiet: bool = False
    ) -> list[Mapping[str, pl.DataFrame]]:
        """Return what each shard that has rows makes of them; many threads may call this.

        Args:
            factory: module-level; called once in each interpreter, returns what makes tables of rows.
            rows: which rows are together in a shard, and in which order, decides nothing.
            by: column with the text that a model is asked about.
            of: column that names rows to people, such as their document.
            quiet: whether to show no progress.

        Raises:
            EngineError: a shard failed each time, or its machine has other code.
            GraphragError: what the work itself raised; shards that were begun are completed, because their
                replies are paid for, and no other begins.
        """
        if self.number == 1:
            return [self._work_here(factory)(rows)]
        number = max(self.number, -(-rows.height // _ROWS))
        places = pl.Series([shard_of(text, number) for text in rows[by]], dtype=pl.Int64)
        parts = [rows.filter(places == shard) for shard in places.unique().sort()]
        name = f"{self._name.capitalize()} in {self.number} interpreters"
        # In this process one after the other, each with all connections.
        here = self._backend == "in_process"
        with (
            nullcontext() if quiet or here else stage(name, rows.height) as running,
            ThreadPoolExecutor(1 if here else self.number, f"shards of {self._name}") as threads,
        ):
            begun = {threads.submit(self._complete, factory, part, of): part.height for part in parts}
            try:
                for one in as_completed(begun):
                    one.result()
                    if running:
                        running.advance(begun[one])
            except Exception as error:
                # What ended the others comes before what ended with them.
                raise self._failure or error from None
            except BaseException:
                self.close()
                raise
        return [one.result() for one in begun]

    def close(self) -> None:
        """End all interpreters, and whatever they are doing."""
        self._closed = True
        self._drop(self._workers)

    def _complete(self, factory: Factory, rows: pl.DataFrame, of: str) -> Mapping[str, pl.DataFrame]:
        problem = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self.repeated += 1
                say(f"{self._name}: a shard {problem}; it is run again")
            workers = None
            try:
                workers = self._started()
                if not workers:
                    return self._work_here(factory)(rows)
                return self._collected(workers.make(self._assignment(), factory, rows))
            except Died as error:
                if self._closed:
                    raise
                problem = f"was ended from outside, perhaps because memory ran out ({error})"
                self._drop(workers)
            except GraphragError as error:
                raise self._failed(error) from None
            except ShardFailed as error:
                problem = f"failed: {error}"
            except Exception as error:
                problem = f"failed: {type(error).__name__}: {error}"
        names = rows[of].unique(maintain_order=True).to_list()
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        raise self._failed(
            EngineError(
                f"{self._name}: a shard {problem}, {_ATTEMPTS} times; its rows have {of} "
                f"{', '.join(map(str, names[:_NAMED]))}{more}. Replies that came are kept: set "
                "execution.shards to another number, lower if memory ran out, and run again"
            )
        )

    def _failed(self, error: GraphragError) -> GraphragError:
        """Remember what ends the step, whose shards that have not begun are not to begin."""
        self._failure = self._failure or error
        self._closed = True
        return error

    def _collected(self, result: ShardResult) -> Mapping[str, pl.DataFrame]:
        for line in result.messages:
            if line not in self._said:
                self._said.add(line)
                say(line)
        return result.tables

    def _started(self) -> ProcessWorkers | RayWorkers | None:
        """Return the interpreters; None: this one."""
        with self._lock:
            if self._closed:
                raise Died("the step is ending")
            if self._workers is None and self._backend != "in_process":
                self._workers = RayWorkers() if self._backend == "ray" else ProcessWorkers(self.number)
            return self._workers

    def _drop(self, workers: ProcessWorkers | RayWorkers | None) -> None:
        with self._lock:
            if workers is not None and self._workers is workers:
                self._workers = None
                workers.end()

    def _assignment(self) -> Assignment:
        settings, memory = self._run.settings, self._run.memory
        settings = settings.model_copy(update={"model": share_of_model(settings.model, self.number)})
        # The same file wherever the shard runs, and none of Dagster's classes.
        given = {key: getattr(memory, key) for key in LLMCache.model_fields}
        shared = LLMCache(**{**given, "file": cache_location(memory.file or cache_place())})
        user, code = self._session.user, code_version(self._name)
        return Assignment(self._key, settings, shared, user, self._name, code)
