"""Requests to a model through the provider's Batch API: half the price, answers within a day.

A run that asks something new submits it and ends with
:class:`~graphrag_dagster.kernel.models.batches.batch_queue.BatchPending`; a later run finds the answers, asks
what follows from them, and so on, until nothing is left to ask.
"""

import hashlib
import json

from graphrag_dagster.kernel.models.batches.batch_api import BatchApi
from graphrag_dagster.kernel.models.batches.batch_queue import BatchDesk
from graphrag_dagster.kernel.models.batches.batch_store import BatchStore, Line
from graphrag_dagster.kernel.models.cache.capability_store import AbilityStore
from graphrag_dagster.kernel.models.cache.database import Database
from graphrag_dagster.kernel.models.cache.replies import User, reply_key
from graphrag_dagster.kernel.models.chat.port import CallFailed, ChatRequest, Listener, Refused
from graphrag_dagster.kernel.models.endpoint.bodies import abilities_of, set_abilities
from graphrag_dagster.kernel.models.endpoint.chat import Answered
from graphrag_dagster.kernel.models.endpoint.connection import Tries
from graphrag_dagster.kernel.settings.model import ModelSettings

#: Time without a new request after which what is there is submitted.
QUIET_SECONDS = 1.0
#: Every unit's request is to be there before a batch is made of them.
_ALL = 100_000


class BatchSender:
    """Sends requests in batches; takes the place of
    :class:`~graphrag_dagster.kernel.models.endpoint.chat.OpenAIChatModel` in a remembering model.

    Args:
        settings: the model and its endpoint.
        user: whose batches these are.
        database: where batches and their answers are kept.
        quiet: seconds without a new request after which what is there is submitted; default:
            ``QUIET_SECONDS``.
        first_wait: seconds before the first retry of a call of the Batch API.
    """

    def __init__(
        self,
        settings: ModelSettings,
        user: User,
        database: Database,
        *,
        quiet: float | None = None,
        first_wait: float = 0.5,
    ) -> None:
        self.settings = settings
        self._user = user
        self._store = BatchStore(database)
        self._known = AbilityStore(database)
        self._api = BatchApi(settings, first_wait)
        self._desk = BatchDesk(
            settings, user, self._store, self._api, QUIET_SECONDS if quiet is None else quiet
        )
        self._begun = False

    @property
    def concurrency(self) -> int:
        """Most requests waiting."""
        return _ALL

    async def send(
        self, request: ChatRequest, listen: Listener | None = None, tries: Tries | None = None
    ) -> Answered:
        """Return the reply once a batch has brought it.

        Raises:
            BatchPending: it is in a batch that is not done, and so is all else that was asked for.
            CallFailed: the endpoint will not do this request, or failed at it in several batches.
            EndpointError: the Batch API cannot be used, or a batch failed as a whole.
        """
        if not self._begun:
            self._begun = True
            self._store.forget_made(self._user)
        key = self._key(request)
        while True:
            line = self._store.take(key, self._user.run_id)
            if line is None:
                await self._desk.wait(key, request)
            elif line.reply is None:
                self._relearn(key, line)
            else:
                if listen:
                    listen(line.reply.text)
                if tries:
                    tries.sent = 1
                return Answered(line.reply, 0.0, paid=not line.seen)

    def _key(self, request: ChatRequest) -> bytes:
        """The hash of a request as this corpus means it, in whatever form the endpoint takes it."""
        parts = {
            "corpus": self._user.corpus,
            "url": self._api.shown_url,
            "request": reply_key(self.settings, request).hex(),
            "max_tokens": request.max_tokens,
            "again": request.again,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()

    def _relearn(self, key: bytes, line: Line) -> None:
        """Send a refused request again without what the endpoint does not understand, else give it up."""
        told = f"{self._api.shown_url} answered in batch {line.batch}: {line.problem}"
        if not line.refused:
            raise CallFailed(told)
        known = abilities_of(self._api.url, self.settings.name)
        left = line.abilities.without(line.problem, self._api.url) if known == line.abilities else known
        if left is None or not self._store.free(key):
            raise Refused(told)
        set_abilities(self._api.url, self.settings.name, left)
        self._known.put(self._api.shown_url, self.settings.name, left)
