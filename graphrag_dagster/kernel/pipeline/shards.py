"""Shards of a step: rows split over several interpreters, each of which calls models.

One interpreter serves some 100 calls a second, whatever the number of connections. A row's shard is told by a
range of the hash of the text that a model is asked about: equal texts, whose prompts are the same, are asked
about by the same interpreter, and no other row decides where a row belongs. Each shard writes its tables as
Parquet files, named by the hash of their content, to :class:`.Staging`; whoever collects them brings them
into the order of keys, so that tables do not depend on the number of shards.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from graphrag_dagster.errors import EngineError, GraphragError
from graphrag_dagster.kernel.catalogue.tasks import Task
from graphrag_dagster.kernel.common.progress import ProgressStage, say, stage
from graphrag_dagster.kernel.common.worker_processes import available_processors
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.shard_workers import (
    Assignment,
    Died,
    Factory,
    LocalWorker,
    ProcessWorker,
    RayWorker,
    ShardFailed,
    Told,
    Work,
    Worker,
)
from graphrag_dagster.kernel.settings.model_settings import ModelSettings, TaskModelSettings
from graphrag_dagster.kernel.storage.home import cache_location, cache_place
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

if TYPE_CHECKING:
    from graphrag_dagster.kernel.pipeline.step_declaration import StepRun

#: For `auto`: connections that one interpreter serves well, and rows that are worth starting another.
_CONNECTIONS, _ROWS, _MOST = 64, 500, 8
#: How often a shard is begun, and seconds between two looks at how far the shards are.
_ATTEMPTS, _LOOKS = 3, 0.5
_NAMED = 5


def shard_of(text: str, number: int) -> int:
    """Return the shard of a text, from 0: a range of its hash."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") * number >> 64


def share_of_model(model: ModelSettings, shard: int, number: int) -> ModelSettings:
    """Return the settings of a model for one of several shards, with its part of the connections.

    The connections of all add up to those that are set; a shard has one at least. Rates hold for all of them
    together, by the cache that they share.
    """

    def part(section: ModelSettings | TaskModelSettings) -> dict[str, int | None]:
        given = section.concurrency
        return {"concurrency": given and max(given // number + (shard < given % number), 1)}

    tasks = {role: own.model_copy(update=part(own)) for role, own in model.tasks.items()}
    return model.model_copy(update={**part(model), "tasks": tasks})


class Shards:
    """Runs work on rows in the interpreters of one step; made by :func:`open_shards`.

    Args:
        run: the run of the step.
        session: its task provider, which the work of a step that is not split is done with.
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
        self._staging = run.warehouse.staging(run.corpus).below(name)
        self._here: dict[Factory, Work] = {}
        self._workers: dict[int, Worker] = {}
        self._locks: list[threading.Lock] = []
        self._closed = False
        self._failure: GraphragError | None = None
        self._shown = _Shown()
        #: Number of shards; what there is one of is not split.
        self.number = 1
        #: How often a shard was run again.
        self.repeated = 0

    @property
    def told(self) -> dict[str, int]:
        """Metadata of the step: empty where nothing was split."""
        return {} if self.number == 1 else {"shards": self.number, "shards_run_again": self.repeated}

    def expect(self, rows: int) -> None:
        """Choose the number of shards for so many rows, and prepare for them; none is started yet.

        What the endpoint can do is found out here, so that not each shard asks.

        Raises:
            EndpointError: the endpoint cannot be used.
        """
        self.number = self._suitable_number(rows)
        self._locks = [threading.Lock() for _ in range(self.number)]
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
            GraphragError: what the work itself raised; the other shards send no more, and end once what they
                have sent is answered.
        """
        if self.number == 1:
            if factory not in self._here:
                self._here[factory] = factory(self._session)
            return [self._here[factory](rows)]
        places = pl.Series([shard_of(text, self.number) for text in rows[by]], dtype=pl.Int64)
        parts = {shard: rows.filter(places == shard) for shard in places.unique().sort()}
        # In this process one after the other, each with all connections.
        most = 1 if self._backend == "in_process" else len(parts)
        with ThreadPoolExecutor(most, f"shards of {self._name}") as threads:
            begun = [threads.submit(self._complete, *part, factory, of) for part in parts.items()]
            pending: set[Future[Any]] = set(begun)
            try:
                while pending:
                    done, pending = wait(pending, _LOOKS, FIRST_EXCEPTION)
                    for one in done:
                        one.result()
                    self._shown.look(
                        list(self._workers.values()), 0 if quiet else rows.height, last=not pending
                    )
            except Exception as error:
                # Replies on their way are paid for; only who interrupts does not wait for them.
                self._stop()
                wait(pending)
                # What ended the others comes before what ended with them.
                raise self._failure or error from None
            finally:
                if pending:
                    self.close()
        return [one.result() for one in begun]

    def close(self) -> None:
        """End all interpreters, and whatever they are doing."""
        self._closed = True
        for shard, lock in enumerate(self._locks):
            with lock:
                if worker := self._workers.pop(shard, None):
                    worker.end()
        self._shown.close()

    def _stop(self) -> None:
        self._closed = True
        for shard, lock in enumerate(self._locks):
            with lock:
                if worker := self._workers.get(shard):
                    worker.stop()

    def _complete(
        self, shard: int, rows: pl.DataFrame, factory: Factory, of: str
    ) -> Mapping[str, pl.DataFrame]:
        problem = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self.repeated += 1
                say(f"{self._name}: shard {shard + 1} of {self.number} {problem}; it is run again")
            worker = None
            try:
                worker = self._worker(shard)
                files = worker.run(factory, rows)
                return {name: self._staging.get(file) for name, file in files.items()}
            except Died as error:
                if self._closed:
                    raise
                problem = f"was ended from outside, perhaps because memory ran out ({error})"
                self._drop(shard, worker)
            except ShardFailed as error:
                if self._closed:
                    raise Died("the step is ending") from error
                problem = f"failed: {error}"
            except GraphragError as error:
                raise self._failed(error) from None
        names = rows[of].unique(maintain_order=True).to_list()
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        raise self._failed(
            EngineError(
                f"{self._name}: shard {shard + 1} of {self.number} {problem}, {_ATTEMPTS} times; its rows "
                f"have {of} {', '.join(map(str, names[:_NAMED]))}{more}. Replies that came are kept: set "
                "execution.shards to another number, lower if memory ran out, and run again"
            )
        )

    def _failed(self, error: GraphragError) -> GraphragError:
        """Remember what ends the step, whose shards that have not begun are not to begin."""
        self._failure = self._failure or error
        self._closed = True
        return error

    def _worker(self, shard: int) -> Worker:
        with self._locks[shard]:
            if self._closed:
                raise Died("the step is ending")
            if shard not in self._workers:
                self._workers[shard] = _BACKENDS[self._backend](self._assignment(shard))
            return self._workers[shard]

    def _assignment(self, shard: int) -> Assignment:
        settings, memory = self._run.settings, self._run.memory
        if self._backend != "in_process":
            share = share_of_model(settings.model, shard, self.number)
            settings = settings.model_copy(update={"model": share})
        # The same file wherever the shard runs, and none of Dagster's classes.
        given = {key: getattr(memory, key) for key in LLMCache.model_fields}
        shared = LLMCache(**{**given, "file": cache_location(memory.file or cache_place())})
        return Assignment(
            settings, shared, self._session.user, self._staging, self._name, code_version(self._name)
        )

    def _drop(self, shard: int, dead: Worker | None) -> None:
        with self._locks[shard]:
            if dead is not None and self._workers.get(shard) is dead:
                del self._workers[shard]
                dead.end()


_BACKENDS: Final[Mapping[str, Callable[[Assignment], Worker]]] = {
    "in_process": LocalWorker,
    "processes": ProcessWorker,
    "ray": RayWorker,
}


class _Shown:
    """Shows the stages of all shards as one, and passes on what they say to users, once."""

    def __init__(self) -> None:
        self._stages: dict[str, tuple[ProgressStage, int]] = {}
        self._said: set[str] = set()
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._looked = 0.0

    def look(self, workers: Sequence[Worker], total: int, *, last: bool) -> None:
        """Take over how far the shards are, unless another thread has just done so.

        Args:
            workers: those there are.
            total: steps of a stage; 0 shows none.
            last: they are done.
        """
        if not self._lock.acquire(blocking=last):
            return
        try:
            if last or time.monotonic() - self._looked >= _LOOKS:
                self._take([worker.told() for worker in workers], total)
                self._looked = time.monotonic()
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the stages."""
        with self._lock:
            self._open.close()

    def _take(self, told: Sequence[Told], total: int) -> None:
        done: Counter[str] = Counter()
        for one in told:
            done.update(one.stages)
            for line in one.said:
                if line not in self._said:
                    self._said.add(line)
                    say(line)
        for name, steps in done.items() if total else ():
            if name not in self._stages:
                self._stages[name] = (self._open.enter_context(stage(name, total)), 0)
            running, before = self._stages[name]
            # Fewer where a shard was begun anew.
            if steps > before:
                running.advance(steps - before)
                self._stages[name] = (running, steps)


@contextmanager
def open_shards(
    run: "StepRun", session: TaskProvider, name: str, asked: Sequence[Task[Any]]
) -> Iterator[Shards]:
    """Provide the shards of a step, which end with the block, and so does what they have staged.

    Args:
        run: the run of the step.
        session: its task provider; the calls of all shards are booked to its user.
        name: of the step.
        asked: the tasks by which models are asked.
    """
    staging = run.warehouse.staging(run.corpus).below(name)
    # A run that was killed may have left some.
    staging.clear()
    shards = Shards(run, session, name, asked)
    try:
        yield shards
    finally:
        shards.close()
        staging.clear()
