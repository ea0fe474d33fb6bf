"""Requests collected into batches, and waiting for the batch with their answer.

A run that asks something new submits it and ends with
:class:`~graphrag_dagster.kernel.models.batch_queue.BatchPending`; a later run finds the answers, asks
what follows from them, and so on, until nothing is left to ask.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence

from graphrag_dagster.errors import EndpointError, OutOfCredit
from graphrag_dagster.kernel.models.batch_api import (
    MOST_BYTES,
    MOST_LINES,
    NO_CREDIT,
    BatchApi,
    RemoteBatch,
    batch_line,
    key_of,
)
from graphrag_dagster.kernel.models.batch_store import BatchLine, BatchStore, RequestBatch, refresh
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore, User, reply_key
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Listener, RefusedInBatch
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import ServerReply
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
from graphrag_dagster.kernel.models.endpoint.request_bodies import capabilities_of, chat_body
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

_OF_NO_USE = frozenset({"failed", "cancelling", "cancelled"})
_STATUSES = {"failed": "was refused", "missing": "is lost"}


class BatchPending(EndpointError):
    """All that is left to do waits for batches. Nothing is lost: a later run goes on from here."""

    exit_code = 5


#: Seconds without a new request after which what is there is submitted.
QUIET_SECONDS = 1.0
#: Every unit's request is to be there before a batch is made of them.
_ALL = 100_000


class BatchSender:
    """Sends the requests of one asset in batches; takes the place of
    :class:`~graphrag_dagster.kernel.models.endpoint.endpoint_chat.OpenAIChatModel` in a remembering model.

    Used on one event loop.

    Args:
        settings: the model and its endpoint.
        user: whose batches these are.
        database: where batches and their answers are kept.
        first_wait: seconds before the first retry of a call of the Batch API.
    """

    def __init__(
        self, settings: ModelSettings, user: User, database: Database, *, first_wait: float = 0.5
    ) -> None:
        self.settings = settings
        self._user = user
        self._store = BatchStore(database)
        self._known = CapabilityStore(database)
        self._api = BatchApi(settings, first_wait)
        self._waiting: dict[asyncio.Future[BatchLine], tuple[bytes, ChatRequest]] = {}
        self._arrived = 0
        self._turns: asyncio.Task[None] | None = None
        self._store.forget_made(user)

    @property
    def concurrency(self) -> int:
        """Most requests waiting."""
        return _ALL

    async def send(
        self, request: ChatRequest, listen: Listener | None = None, tries: Tries | None = None
    ) -> ServerReply:
        """Return the reply once a batch has brought it.

        Raises:
            BatchPending: it is in a batch that is not done, and so is all else that was asked for.
            RefusedInBatch: a batch came back without it.
            EndpointError: the Batch API cannot be used, or a batch failed as a whole.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[BatchLine] = loop.create_future()
        self._waiting[future] = (self._key(request), request)
        self._arrived += 1
        if self._turns is None:
            self._turns = loop.create_task(self._take_turns())
        try:
            line = await future
        finally:
            del self._waiting[future]
        if line.reply is None:
            raise RefusedInBatch(f"{self._api.shown_url} refused a request of a batch")
        if listen:
            listen(line.reply.text)
        if tries:
            tries.sent = 1
        return ServerReply(line.reply, 0.0, paid=not line.seen)

    def _key(self, request: ChatRequest) -> bytes:
        """The hash of a request as this corpus means it, in whatever form the endpoint takes it."""
        parts = {
            "corpus": self._user.corpus,
            "url": self._api.shown_url,
            # As it was: a batch may be under way.
            "request": reply_key(self.settings, request, documented=True).hex(),
            "max_tokens": request.max_tokens,
            "again": request.again,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()

    async def _take_turns(self) -> None:
        """Decide what to do, whenever no request has come for a while, until nobody waits."""
        try:
            while self._waiting_requests():
                before = self._arrived
                await asyncio.sleep(QUIET_SECONDS)
                if self._arrived == before:
                    await self._decide()
        except Exception as error:
            # Whatever it is, those who wait must hear of it, or they would wait for ever.
            for future in self._waiting:
                if not future.done():
                    future.set_exception(error)
        finally:
            self._turns = None

    async def _decide(self) -> None:
        """Hand out what has come; where nothing has, submit what is new.

        What follows from answers is asked before anything is submitted, so that one batch holds all of it.

        Raises:
            BatchPending: all wait.
            EndpointError: the Batch API cannot be used, or a batch failed as a whole.
        """
        await refresh(self._store, self._api, self._open())
        wanted = self._waiting_requests()
        if self._hand_out(wanted):
            return
        self._report_problem()
        under_way = self._store.keys_in_progress(list(wanted))
        fresh = {key: request for key, request in wanted.items() if key not in under_way}
        if fresh and await self._adopt_batches(fresh):
            return
        await self._submit(fresh)
        if self._waiting_requests().keys() <= wanted.keys():
            raise BatchPending(self._pending(list(wanted)))

    def _open(self) -> list[RequestBatch]:
        rows = self._store.batches(self._user.corpus, open_only=True)
        return [row for row in rows if row.url == self._api.shown_url]

    def _waiting_requests(self) -> dict[bytes, ChatRequest]:
        """The requests that wait, in the order of their keys."""
        found = dict(one for future, one in self._waiting.items() if not future.done())
        return {key: found[key] for key in sorted(found)}

    def _hand_out(self, wanted: dict[bytes, ChatRequest]) -> bool:
        came = self._store.take(list(wanted), self._user.run_id)
        for future, (key, _) in self._waiting.items():
            if key in came and not future.done():
                future.set_result(came[key])
        return bool(came)

    def _report_problem(self) -> None:
        if batch := self._store.complaint(self._user.corpus, self._user.asset):
            status = _STATUSES.get(batch.status, f"is {batch.status}, with errors")
            broke = (batch.problem or "").startswith(NO_CREDIT)
            raise (OutOfCredit if broke else EndpointError)(
                f"batch {batch.id} at {batch.url} {status}: {batch.problem}. All answers are kept; fix the "
                "problem and run again to submit the rest"
            )

    async def _adopt_batches(self, fresh: dict[bytes, ChatRequest]) -> bool:
        """Take up batches that were begun by a process which ended before it could note them.

        Returns:
            Whether there were any.
        """
        found = False
        names = {key.hex() for key in fresh}
        recorded = {batch.id for batch in self._store.batches(self._user.corpus)}
        for remote in await self._api.latest():
            ours = remote.metadata.get("graphrag_dagster") == self._user.corpus
            wanted = ours and remote.metadata.get("first") in names and remote.status not in _OF_NO_USE
            if not wanted or not remote.input_file or remote.id in recorded:
                continue
            lines = await self._api.lines(remote.input_file)
            keys = [key for line in lines if (key := key_of(line))]
            tasks = {key: fresh[key].task if key in fresh else "" for key in keys}
            self._record(remote, tasks)
            found = True
        return found

    async def _submit(self, fresh: dict[bytes, ChatRequest]) -> None:
        used = capabilities_of(self._api.url, self.settings.name)
        # What was learned from requests that were asked directly holds for the batches of later runs.
        self._known.put(self._api.shown_url, self.settings.name, used)
        lines = ((key, batch_line(key, chat_body(self.settings, fresh[key], used))) for key in fresh)
        for keys, content in _files(lines):
            metadata = {
                "graphrag_dagster": self._user.corpus,
                "run": self._user.run_id,
                "first": keys[0].hex(),
            }
            remote = await self._api.create(content, metadata)
            self._record(remote, {key: fresh[key].task for key in keys})

    def _record(self, remote: RemoteBatch, tasks: dict[bytes, str]) -> None:
        batch = RequestBatch(
            id=remote.id,
            url=self._api.shown_url,
            variable=self.settings.api_key_variable,
            model=self.settings.name,
            corpus=self._user.corpus,
            asset=self._user.asset,
            run_id=self._user.run_id,
            status=remote.status,
            requests=len(tasks),
            done=remote.done,
            created=time.time(),
        )
        self._store.record(batch, tasks)

    def _pending(self, keys: Sequence[bytes]) -> str:
        waits = self._store.keys_in_progress(keys)
        under_way = [batch for batch in self._open() if batch.id in set(waits.values())]
        done, sent = (sum(getattr(one, name) for one in under_way) for name in ("done", "requests"))
        return (
            f"{len(waits):,} requests wait in batches at {self._api.shown_url} ({done:,} of {sent:,} done). "
            "Run again when they are done, or let the sensor finished_batches do it; "
            "`graphrag-dagster batches` shows their progress"
        )


def _files(lines: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[list[bytes], bytes]]:
    """Cut requests into files that a provider takes."""
    keys: list[bytes] = []
    parts: list[bytes] = []
    size = 0
    for key, line in lines:
        if keys and (len(keys) == MOST_LINES or size + len(line) > MOST_BYTES):
            yield keys, b"".join(parts)
            keys, parts, size = [], [], 0
        keys.append(key)
        parts.append(line)
        size += len(line)
    if keys:
        yield keys, b"".join(parts)
