"""Vectors from the model endpoint."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.accounting.budget import Amount
from graphrag_dagster.core.language.chat.loop import run_in_order
from graphrag_dagster.core.language.chat.replies import holdable
from graphrag_dagster.core.ranks import unit_rows
from graphrag_dagster.errors import EndpointError
from graphrag_dagster.model_calls.endpoint.connection import Connection, Tries
from graphrag_dagster.model_calls.endpoint.envelope import usage_of
from graphrag_dagster.model_calls.endpoint.pace import Size
from graphrag_dagster.settings.model import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from graphrag_dagster.model_calls.endpoint.client import Sent

_BATCH = 64
_BATCH_CHARACTERS = 200_000
#: Calls per connection in one go: the last of them wait for each other.
_ROUNDS = 4
_CHARACTERS_PER_TOKEN = 4
#: The largest number of a vector; any bound will do that leaves a norm to divide by.
_LARGEST = 1e30


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """Texts with their vectors [len(texts), dimension], and what they cost."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]
    tokens: int
    tries: Tries
    reserved: Amount


async def _free(_: Sequence[str]) -> Amount:
    return Amount()


def _nothing(_: Amount, __: Tries, ___: BaseException) -> None:
    pass


class OpenAIEmbedder:
    """Vectors from an endpoint; an :class:`~graphrag_dagster.core.language.tasks.Embedder`.

    Args:
        model: the embedding model; ``name`` of the embedder is ``endpoint:`` and this.
        settings: the endpoint.
        first_wait: seconds before the first retry.
        batch_size: most texts in one call.
        arrived: is told of every batch that came, on the loop of the calls.
    """

    def __init__(
        self,
        model: str,
        settings: ModelSettings,
        *,
        first_wait: float = 0.5,
        batch_size: int = _BATCH,
        arrived: "Callable[[EmbeddedBatch], None] | None" = None,
    ) -> None:
        self.name = f"endpoint:{model}"
        self.model = model
        self._batch_size = batch_size
        self._dimension: int | None = None
        self.connection = Connection(settings, model, first_wait)
        self.at_once = self.connection.concurrency * batch_size * _ROUNDS
        self._arrived = arrived
        #: Is awaited before each batch; what it gives comes back with the batch.
        self.reserve: Callable[[Sequence[str]], Awaitable[Amount]] = _free
        #: Is told what was reserved for a batch that did not come, how it was tried, and why it did not.
        self.failed: Callable[[Amount, Tries, BaseException], None] = _nothing

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.model!r}, base_url={self.connection.shown_url!r})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array [len(texts), dimension] of L2-normalised float32 rows; a blank text gives zeros.

        Each distinct text is sent once.

        Raises:
            EndpointError: the endpoint cannot be used, or its vectors differ in length or number.
        """
        distinct = sorted({text for text in texts if text.strip()})
        batches = self._batches(distinct or ([] if self._dimension else ["dimension"]))
        rows: dict[str, NDArray[np.float32]] = {}
        made = run_in_order(self._embed, batches, calls=self.connection.concurrency)
        for batch, vectors in zip(batches, made, strict=True):
            self._check(batch, vectors)
            rows.update(zip(batch, vectors, strict=True))
        matrix = np.zeros((len(texts), self._dimension or 0), dtype=np.float32)
        for place, text in enumerate(texts):
            if text.strip():
                matrix[place] = rows[text]
        return matrix

    async def _embed(self, batch: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self.model, "input": holdable(list(batch)), "encoding_format": "float"}
        estimate = sum(map(len, batch)) // _CHARACTERS_PER_TOKEN
        what = f"embedding model {self.model}"
        reserved, tries = await self.reserve(batch), Tries("embed")
        size = Size(prompt=estimate)
        try:
            send = partial(_embeddings, body)
            came = await self.connection.call(send, what, estimate, size=size, tries=tries)
            vectors = self._read(came.answer, batch)
        except BaseException as error:
            self.failed(reserved, tries, error)
            raise
        self.connection.pace.answered(size, came.seconds)
        if self._arrived:
            tokens = usage_of(came.answer).input_tokens
            self._arrived(EmbeddedBatch(batch, vectors, tokens, tries, reserved))
        return vectors

    def _read(self, answer: Mapping[str, Any], batch: Sequence[str]) -> NDArray[np.float32]:
        try:
            data = answer["data"]
            places = [item.get("index", place) for place, item in enumerate(data)]
            if sorted(places) != list(range(len(batch))):
                raise ValueError("not one vector for each text")
            matrix = np.empty((len(batch), len(data[0]["embedding"])), dtype=np.float64)
            for place, item in zip(places, data, strict=True):
                # Told before it is copied: numpy would spread a single number over the row.
                if len(item["embedding"]) != matrix.shape[1]:
                    raise ValueError("vectors of several lengths")
                matrix[place] = np.array(item["embedding"], dtype=np.float64)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            matrix = np.empty((0, 0))
        if not matrix.size or not np.isfinite(matrix).all() or np.abs(matrix).max() > _LARGEST:
            raise EndpointError(
                f"{self.connection.shown_url} gave no {len(batch)} vectors of one length for as many texts; "
                f"is {self.model} an embedding model?"
            )
        return unit_rows(matrix)

    def _check(self, batch: Sequence[str], vectors: NDArray[np.float32]) -> None:
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise EndpointError(
                f"{self.model} gave vectors of {vectors.shape[1]} numbers after {self._dimension}, "
                f"first for {batch[0][:60]!r}"
            )

    def _batches(self, texts: Sequence[str]) -> list[list[str]]:
        batches: list[list[str]] = []
        room = 0
        for text in texts:
            if not batches or len(batches[-1]) >= self._batch_size or len(text) > room:
                batches.append([])
                room = _BATCH_CHARACTERS
            batches[-1].append(text)
            room -= len(text)
        return batches


async def _embeddings(body: Mapping[str, Any], client: "AsyncOpenAI", _: Callable[[], None]) -> "Sent":
    from graphrag_dagster.model_calls.endpoint.client import post

    return await post(client, "/embeddings", body)
