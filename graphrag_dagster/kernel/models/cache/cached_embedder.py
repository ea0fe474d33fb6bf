"""An embedder with an LLM cache: no text is embedded twice, and every request is accounted for."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import VectorLengthError
from graphrag_dagster.kernel.models.cache.leases import pauses_of_waiting
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore, vector_key
from graphrag_dagster.kernel.models.cache.usage_account import (
    CostMeter,
    UsageAccount,
    use_of,
)
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
from graphrag_dagster.kernel.models.endpoint.request_bodies import Capabilities, set_capabilities
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.settings.model_settings import ModelSettings


class CachedEmbedder(OpenAIEmbedder):
    """An :class:`.Embedder` that embeds no text twice.

    Vectors are cached by text, batch by batch as they arrive.

    Args:
        model: the embedding model.
        settings: the endpoint.
        account: where calls are booked.
        options: as of :class:`.OpenAIEmbedder`.
    """

    def __init__(self, model: str, settings: ModelSettings, account: UsageAccount, **options: Any) -> None:
        super().__init__(model, settings, **options)
        self._namespace = settings.namespace
        if self._namespace:
            self.name += f" namespace={self._namespace!r}"
        self._account = account
        self._leases = account.replies.database.leases
        self._meter = CostMeter(account, settings, model, self.connection.url)
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
                self._account.book("embed", self.model, ModelUse(cached=len(cached)))
            vectors.update((text, known[keys[text]]) for text in missing if keys[text] in known)
            unknown = [text for text in missing if text not in vectors]
            mine = run_one(self._leases.take_some([keys[text] for text in unknown]))
            if asked := [text for text in unknown if keys[text] in mine]:
                vectors.update(zip(asked, self._embed_leased(asked, mine), strict=True))
            elif unknown:
                # What another process asks for; a caller of this waits anyway.
                time.sleep(next(pauses))
        return self._matrix(texts, vectors)

    def _matrix(
        self, texts: Sequence[str], vectors: Mapping[str, NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        # Cached ones come first.
        dimension, *others = dict.fromkeys(map(len, vectors.values())) or [
            self._embed_leased([], ()).shape[1]
        ]
        if others:
            raise VectorLengthError(others[0], dimension, self.model)
        matrix = np.zeros((len(texts), dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if text.strip():
                matrix[place] = vectors[text]
        return matrix

    def _embed_leased(self, texts: Sequence[str], mine: Collection[bytes]) -> NDArray[np.float32]:
        """Ask for the vectors of texts whose leases are taken, and give these back."""
        before = self.capabilities
        try:
            made = super().embed(texts)
        finally:
            self._leases.leave_now(mine)
        if (found := self.capabilities) != before:
            self._store.put(self.connection.shown_url, self.model, found)
        return made

    def _restore_capabilities(self) -> None:
        """Take over how much the endpoint took at once the last time, where this process knows nothing."""
        connection = self.connection
        if self.capabilities == Capabilities() and (
            kept := self._store.get(connection.shown_url, self.model)
        ):
            set_capabilities(connection.url, self.model, kept)

    def _key(self, text: str) -> bytes:
        return vector_key(self.model, self._namespace, text)

    async def send(
        self, batch: Sequence[str], known: Capabilities, tries: Tries
    ) -> tuple[NDArray[np.float32], int]:
        """As that of :class:`.OpenAIEmbedder`; what comes is booked and cached."""
        most = sum(len(text[: known.longest].encode("utf-8", "replace")) for text in batch)
        async with self._meter.paying(most, 0, tries) as used:
            made, tokens = await super().send(batch, known, tries)
            used.append(use_of(ChatReply("", input_tokens=tokens), tries))
        vectors = dict(zip(map(self._key, batch), made, strict=True))
        self._asked.update(vectors)
        self._account.replies.keep_vectors(self.model, vectors, tokens, self._account.user)
        return made, tokens
