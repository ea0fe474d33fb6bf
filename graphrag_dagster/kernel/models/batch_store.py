"""Store of open batches and of the outcome of their requests, and the collection of finished ones."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, fields, replace
from typing import Any, TypeAlias

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.batch_api import FINAL, BatchApi, LineResult, RemoteBatch, read_result
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_schema import rows_of_keys
from graphrag_dagster.kernel.models.cache.llm_cache import User
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_address import BASE_URL, Address
from graphrag_dagster.kernel.settings.model_settings import ModelSettings


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """A batch; ``url`` is without credentials, times are seconds since 1970. ``closed``: all is collected."""

    id: str
    url: str
    variable: str
    model: str
    corpus: str
    asset: str
    run_id: str
    status: str
    requests: int
    done: int
    created: float
    closed: float | None = None
    problem: str | None = None


_COLUMNS = ", ".join(field.name for field in fields(RequestBatch))
_SETTLED = "(answer is not null or error is not null)"


@dataclass(frozen=True, slots=True)
class BatchLine:
    """Outcome of a request: a reply, or none where it was refused.

    ``seen``: it was taken before, so it is on an earlier account.
    """

    reply: ChatReply | None
    seen: bool


class BatchStore:
    """The batches in one LLM cache.

    A result stays until the asset that asked for it is made: a conversation of several requests is gone
    through again in every run, and must find the replies that were no good, too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, batch: RequestBatch, tasks: Mapping[bytes, str]) -> None:
        """Note a batch that was begun, and the keys and tasks of its requests."""
        values = astuple(batch)

        def write(connection: Any) -> None:
            connection.execute(
                f"insert into batches ({_COLUMNS}, capabilities) "
                f"values ({', '.join('?' * len(values))}, '') on conflict do nothing",
                values,
            )
            connection.executemany(
                "insert into batch_lines (key, batch, task) values (?, ?, ?) on conflict (key) do update "
                f"set batch = excluded.batch where not {_SETTLED}",
                [(key, batch.id, task) for key, task in tasks.items()],
            )

        self._database.write(write)

    def batches(self, corpus: str | None = None, *, open_only: bool = False) -> list[RequestBatch]:
        """Return the batches of a corpus, or of all, the oldest first."""
        query = f"select {_COLUMNS} from batches where (cast(? as text) is null or corpus = ?)"
        query += " and closed is null" if open_only else ""
        with self._database.reading() as connection:
            rows = connection.execute(f"{query} order by created, id", (corpus, corpus)).fetchall()
        return [RequestBatch(*row) for row in rows]

    def progress(self, remote: RemoteBatch) -> None:
        """Note how far a batch is."""
        self._database.write(
            lambda connection: connection.execute(
                "update batches set status = ?, done = case when done > ? then done else ? end "
                "where id = ? and closed is null",
                (remote.status, remote.done, remote.done, remote.id),
            )
        )

    def close(self, remote: RemoteBatch, results: Iterable[LineResult]) -> None:
        """Keep the results of a batch that is over; requests without one are free to be sent again."""
        results = list(results)
        hindered = next((result.problem for result in results if result.problem), None)
        done = sum(result.problem is None for result in results)

        def write(connection: Any) -> None:
            changed = connection.execute(
                "update batches set status = ?, done = ?, closed = ?, problem = ? "
                "where id = ? and closed is null",
                (remote.status, done, time.time(), remote.problem or hindered, remote.id),
            ).rowcount
            # Another process may have been here first.
            if changed:
                # The first result of a request counts, whichever batch it came with.
                connection.executemany(
                    f"update batch_lines set answer = ?, error = ? where key = ? and not {_SETTLED}",
                    [
                        (json.dumps(asdict(one.reply)), None, one.key)
                        if one.reply
                        else (None, "refused", one.key)
                        for one in results
                        if one.problem is None
                    ],
                )

        self._database.write(write)

    def take(self, keys: Sequence[bytes], run_id: str) -> dict[bytes, BatchLine]:
        """Return the results there are of these requests, and note which run has them."""
        query = f"select key, answer, taken from batch_lines where {_SETTLED} and key in ({{keys}})"
        with self._database.reading() as connection:
            rows = list(rows_of_keys(connection, query, keys))
        update = "update batch_lines set taken = ? where key = ?"
        self._database.write(
            lambda connection: connection.executemany(update, [(run_id, row[0]) for row in rows])
        )
        return {
            key: BatchLine(ChatReply(**json.loads(answer)) if answer else None, seen=before is not None)
            for key, answer, before in rows
        }

    def keys_in_progress(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the requests that are in an open batch, and its id."""
        query = (
            "select key, batch from batch_lines join batches on batch = id "
            f"where not {_SETTLED} and closed is null and key in ({{keys}})"
        )
        with self._database.reading() as connection:
            return dict(rows_of_keys(connection, query, keys))

    def complaint(self, corpus: str, asset: str) -> RequestBatch | None:
        """Return the oldest batch whose problem was not told yet, None where there is none; told from now."""

        def tell(connection: Any) -> RequestBatch | None:
            row = connection.execute(
                f"select {_COLUMNS} from batches where corpus = ? and asset = ? "
                "and closed is not null and problem is not null and told = 0 order by created, id",
                (corpus, asset),
            ).fetchone()
            if row:
                connection.execute("update batches set told = 1 where id = ?", (row[0],))
            return RequestBatch(*row) if row else None

        return self._database.write(tell)

    def forget_made(self, user: User) -> None:
        """Forget the results that the last making of the asset has used, or found and did not need."""
        self._database.write(
            lambda connection: connection.execute(
                "delete from batch_lines where key in (select l.key from batch_lines l "
                "join batches b on l.batch = b.id "
                "join finished f on f.corpus = b.corpus and f.asset = b.asset "
                "where b.corpus = ? and b.asset = ? and (l.taken = f.run_id or b.closed < f.begun))",
                (user.corpus, user.asset),
            )
        )

    def ready(self) -> dict[str, tuple[str, ...]]:
        """Return the corpora that wait for no batch any more, and the batches that none of their runs used.

        Batches that failed or were cancelled are no reason to begin again by itself.
        """
        with self._database.reading() as connection:
            rows = connection.execute(
                "select b.corpus, b.id from batches b where b.status in ('completed', 'expired') "
                "and b.problem is null and b.closed is not null "
                "and exists (select 1 from batch_lines l where l.batch = b.id and l.taken is null) "
                "and not exists (select 1 from batches o where o.corpus = b.corpus and o.closed is null) "
                "and not exists (select 1 from finished f where f.corpus = b.corpus and f.asset = b.asset "
                "and f.begun > b.closed) order by b.corpus, b.created, b.id"
            ).fetchall()
        found: dict[str, tuple[str, ...]] = {}
        for corpus, batch in rows:
            found[corpus] = (*found.get(corpus, ()), batch)
        return found


#: Gives the settings of the models of a corpus.
SettingsOf: TypeAlias = Callable[[str], Iterable[ModelSettings]]


async def refresh(store: BatchStore, api: BatchApi, batches: Iterable[RequestBatch]) -> None:
    """Ask how far open batches are, and collect the results of those that are over.

    Raises:
        EndpointError: the endpoint cannot be asked.
    """
    for batch in batches:
        remote = await api.look(batch.id)
        if remote.status not in FINAL:
            store.progress(remote)
            continue
        lines = [line for file in remote.files for line in await api.lines(file)]
        results = [result for line in lines if (result := read_result(line))]
        if remote.status == "completed" and not results:
            remote = replace(remote, problem="its results are missing")
        store.close(remote, results)


def api_of(batch: RequestBatch, settings_of: SettingsOf) -> BatchApi:
    """Return the Batch API that a batch is at, as the settings have it that have its address.

    Args:
        batch: of which only the address as it may be stored is known.
        settings_of: gives the settings of a corpus's models, in which the whole address stands, and what is
            sent along with each request.

    Raises:
        EndpointError: the address cannot be called without what was masked, and no settings have it.
    """
    own: dict[str, Any] = {"api_key_variable": batch.variable, "name": batch.model, "retries": 2}
    for settings in (*settings_of(batch.corpus), ModelSettings()):
        with suppress(EndpointError):
            if Address(settings).shown_url == batch.url:
                return BatchApi(settings.model_copy(update={**own, "tasks": {}}))
    if "?" not in batch.url:
        return BatchApi(ModelSettings(base_url=batch.url, **own))
    raise EndpointError(
        f"batch {batch.id} is at {batch.url}, which is no longer in the settings of {batch.corpus}; set "
        f"{BASE_URL} to that address"
    )


def refresh_all(database: Database, settings_of: SettingsOf, corpus: str | None = None) -> list[str]:
    """Ask how far all open batches are, or those of a corpus, and collect what is done.

    Args:
        database: of the batches.
        settings_of: as of :func:`api_of`.
        corpus: default: all.

    Returns:
        What could not be asked, and why; one text for each endpoint.
    """
    store = BatchStore(database)
    groups: dict[tuple[str, str, str], list[RequestBatch]] = {}
    for batch in store.batches(corpus, open_only=True):
        groups.setdefault((batch.url, batch.variable, batch.corpus), []).append(batch)
    problems = []
    for group in groups.values():
        try:
            run_one(refresh(store, api_of(group[0], settings_of), group))
        except EndpointError as error:
            problems.append(str(error))
    return problems
