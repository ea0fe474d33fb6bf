"""An embedder with an LLM cache: no text is embedded twice, and every request is accounted for."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import VectorLengthError
from graphrag_dagster.kernel.models.cache.leases import pauses_of_waiting
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore, vector_key
from graphrag_dagster.kernel.models.cache.usage_account import (
    CostMeter,
    UsageAccount,
    usage_of_lost_call,
    use_of,
)
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import EmbeddedBatch, OpenAIEmbedder
from graphrag_dagster.kernel.models.endpoint.request_bodies import Capabilities, set_capabilities
from graphrag_dagster.kernel.models.model_costs import Amount, ModelUse
from graphrag_dagster.kernel.settings.model_settings import ModelSettings


class CachedEmbedder:
    """An :class:`.Embedder` that embeds no text twice.

    Vectors are cached by text, batch by batch as they arrive.

    Args:
        make: makes the embedder that is asked; it tells the given function of each batch that came.
        settings: the endpoint.
        account: where calls are booked.
    """

    def __init__(
        self,
        make: Callable[[Callable[[EmbeddedBatch], None]], OpenAIEmbedder],
        settings: ModelSettings,
        account: UsageAccount,
    ) -> None:
        self._embedder = make(self._on_arrival)
        self._namespace = settings.namespace
        self._account = account
        self.name = self._embedder.name
        if self._namespace:
            self.name += f" namespace={self._namespace!r}"
        self.at_once = self._embedder.at_once
        self._model = self._embedder.model
        self._leases = account.replies.database.leases
        self._meter = CostMeter(account, settings, self._model, self._embedder.connection.url)
        self._embedder.reserve = self._reserve
        self._embedder.failed = self._on_failure
        self._store = CapabilityStore(account.replies.database)
        self._restore_capabilities()
        #: Keys of vectors that arrived, so that they do not count as cached when they are requested again.
        self._asked: set[bytes] = set()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array [len(texts), dimension] of L2-normalised float32 rows; a blank text gives zeros.

        Raises:
            BudgetExhausted: a call might pass a limit of the run.
            EndpointError: the endpoint cannot be used, or its vectors differ in number.
            VectorLengthError: its vectors are of another length than cached ones.
        """
        keys = {text: self._key(text) for text in texts if text.strip()}
        vectors: dict[str, NDArray[np.float32]] = {}
        pauses = pauses_of_waiting()
        while missing := [text for text in keys if text not in vectors]:
            known = self._account.replies.vectors([keys[text] for text in missing], self._account.user)
            if cached := known.keys() - self._asked:
                self._account.book("embed", self._model, ModelUse(cached=len(cached)))
            vectors.update((text, known[keys[text]]) for text in missing if keys[text] in known)
            unknown = [text for text in missing if text not in vectors]
            mine = run_one(self._leases.take_some([keys[text] for text in unknown]))
            if asked := [text for text in unknown if keys[text] in mine]:
                vectors.update(zip(asked, self._embed(asked, mine), strict=True))
            elif unknown:
                # What another process asks for; a caller of this waits anyway.
                time.sleep(next(pauses))
        return self._matrix(texts, vectors)

    def _matrix(
        self, texts: Sequence[str], vectors: Mapping[str, NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        # Cached ones come first.
        dimension, *others = dict.fromkeys(map(len, vectors.values())) or [self._embed([], ()).shape[1]]
        if others:
            raise VectorLengthError(others[0], dimension, self._model)
        matrix = np.zeros((len(texts), dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if text.strip():
                matrix[place] = vectors[text]
        return matrix

    def _embed(self, texts: Sequence[str], mine: Collection[bytes]) -> NDArray[np.float32]:
        """Ask for the vectors of texts whose leases are taken, and give these back."""
        before = self._embedder.capabilities
        try:
            made = self._embedder.embed(texts)
        finally:
            self._leases.leave_now(mine)
        if (found := self._embedder.capabilities) != before:
            self._store.put(self._embedder.connection.shown_url, self._model, found)
        return made

    def _restore_capabilities(self) -> None:
        """Take over how much the endpoint took at once the last time, where this process knows nothing."""
        connection = self._embedder.connection
        if self._embedder.capabilities == Capabilities() and (
            kept := self._store.get(connection.shown_url, self._model)
        ):
            set_capabilities(connection.url, self._model, kept)

    def _key(self, text: str) -> bytes:
        return vector_key(self._model, self._namespace, text)

    async def _reserve(self, batch: Sequence[str]) -> Amount:
        return await self._meter.reserve(sum(len(text.encode("utf-8", "replace")) for text in batch), 0)

    def _on_failure(self, reserved: Amount, tries: Tries, error: BaseException) -> None:
        self._meter.settle(reserved, "embed", usage_of_lost_call(tries, error))

    def _on_arrival(self, batch: EmbeddedBatch) -> None:
        vectors = {self._key(text): v for text, v in zip(batch.texts, batch.vectors, strict=True)}
        self._asked.update(vectors)
        self._account.replies.keep_vectors(self._model, vectors, batch.tokens, self._account.user)
        use = use_of(ChatReply("", input_tokens=batch.tokens), batch.tries)
        self._meter.settle(batch.reserved, "embed", use)
