"""Vectors from the model endpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import EndpointError, VectorLengthError
from graphrag_dagster.kernel.common.progress import say
from graphrag_dagster.kernel.common.stable_values import unit_rows
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.reply_parsing import storable
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Connection, Tries
from graphrag_dagster.kernel.models.endpoint.error_mapping import RefusedWith
from graphrag_dagster.kernel.models.endpoint.request_bodies import (
    Capabilities,
    capabilities_of,
    set_capabilities,
)
from graphrag_dagster.kernel.models.endpoint.response_parsing import usage_of
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_BATCH = 64
_BATCH_CHARACTERS = 200_000
#: Calls per connection in one go: the last of them wait for each other.
_ROUNDS = 4
_CHARACTERS_PER_TOKEN = 4
#: Statuses of what may be too large: a bare 400 has many reasons.
_TOO_LARGE = frozenset({400, 413, 422})
#: Characters that every embedding model takes; a shorter text is refused for another reason.
_SURELY_TAKEN = 400
#: The largest number of a vector; any bound will do that leaves a norm to divide by.
_LARGEST = 1e30


class OpenAIEmbedder:
    """Vectors from an endpoint; an :class:`.Embedder`.

    Args:
        model: the embedding model; ``name`` of the embedder is ``endpoint:`` and this.
        settings: the endpoint.
        first_wait: seconds before the first retry.
        batch_size: most texts in one call.
    """

    def __init__(
        self,
        model: str,
        settings: ModelSettings,
        *,
        first_wait: float = 0.5,
        batch_size: int = _BATCH,
    ) -> None:
        self.name = f"endpoint:{model}"
        self.model = model
        self._batch_size = batch_size
        self._dimension: int | None = None
        self.connection = Connection(settings, model, first_wait)
        self.at_once = self.connection.concurrency * batch_size * _ROUNDS
        self._cut = 0

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.model!r}, base_url={self.connection.shown_url!r})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array [len(texts), dimension] of L2-normalised float32 rows; a blank text gives zeros.

        Each distinct text is sent once. A call that the endpoint finds too large is made in halves, and a
        text that is too long for it is cut, which is said.

        Raises:
            EndpointError: the endpoint cannot be used, or its vectors are not as many as the texts.
            VectorLengthError: its vectors differ in length.
        """
        distinct = sorted({text for text in texts if text.strip()})
        batches = self._batches(distinct or ([] if self._dimension else ["dimension"]))
        rows: dict[str, NDArray[np.float32]] = {}
        self._cut = 0
        made = run_in_order(self._embed, batches, calls=self.connection.concurrency)
        for batch, vectors in zip(batches, made, strict=True):
            self._check(vectors)
            rows.update(zip(batch, vectors, strict=True))
        if self._cut:
            were = "text was" if self._cut == 1 else "texts were"
            most = f"about {self.capabilities.longest:,} characters"
            say(
                f"embedding model {self.model} takes at most {most} of a text: {self._cut:,} longer {were} "
                "cut, and the vector represents only the beginning. Set text_units.size smaller, or set "
                "embeddings.model to a model for longer texts"
            )
        matrix = np.zeros((len(texts), self._dimension or 0), dtype=np.float32)
        for place, text in enumerate(texts):
            if text.strip():
                matrix[place] = rows[text]
        return matrix

    @property
    def capabilities(self) -> Capabilities:
        """Known capabilities of the endpoint."""
        return capabilities_of(self.connection.url, self.model)

    def _learn(self, **found: Any) -> None:
        set_capabilities(self.connection.url, self.model, replace(self.capabilities, **found))

    async def _embed(self, batch: Sequence[str]) -> NDArray[np.float32]:
        return (await self._embed_in_calls(batch))[0]

    async def _embed_in_calls(self, batch: Sequence[str]) -> tuple[NDArray[np.float32], int]:
        """The vectors of texts, and the most texts that were taken at once; 0 where one had to be cut."""
        known = self.capabilities
        if known.texts and len(batch) > known.texts:
            return await self._embed_parts(split_into_batches(batch, known.texts))
        try:
            return (await self.send(batch, known, Tries("embed")))[0], len(batch)
        except RefusedWith as refusal:
            if known.encoding and "encoding_format" in refusal.said:
                self._learn(encoding=False)
                return await self._embed_in_calls(batch)
            if refusal.status not in _TOO_LARGE:
                raise
            if len(batch) == 1:
                return await self._embed_shortened(batch[0], refusal), 0
            made, taken = await self._embed_parts(split_into_batches(batch, (len(batch) + 1) // 2))
            if taken:
                self._learn(texts=min(taken, self.capabilities.texts or taken))
            return made, taken

    async def _embed_parts(self, parts: Sequence[Sequence[str]]) -> tuple[NDArray[np.float32], int]:
        made = [await self._embed_in_calls(part) for part in parts]
        taken = [count for _, count in made]
        return np.concatenate([vectors for vectors, _ in made]), max(taken) if all(taken) else 0

    async def _embed_shortened(self, text: str, refusal: RefusedWith) -> NDArray[np.float32]:
        """The vector of a text that is refused alone, of as much of its beginning as is taken."""
        length = min(len(text), self.capabilities.longest or len(text))
        while (length := length // 2) >= _SURELY_TAKEN // 2:
            try:
                shortened = replace(self.capabilities, longest=length)
                vectors, _ = await self.send([text], shortened, Tries("embed"))
            except RefusedWith as again:
                if again.status not in _TOO_LARGE:
                    raise
                continue
            self._learn(longest=min(length, self.capabilities.longest or length))
            return vectors
        raise refusal

    async def send(
        self, batch: Sequence[str], known: Capabilities, tries: Tries
    ) -> tuple[NDArray[np.float32], int]:
        """Return the vectors [len(batch), dimension] that one call gives, and the tokens it read.

        Args:
            batch: texts, of which the beginnings are sent where they are longer than may be.
            known: what the endpoint takes.
            tries: kept up while the call goes on.

        Raises:
            EndpointError: the endpoint refuses, or gives no usable vectors.
        """
        texts = [text[: known.longest] for text in batch]
        body: dict[str, Any] = {"model": self.model, "input": storable(texts)}
        if known.encoding:
            body["encoding_format"] = "float"
        estimate = sum(map(len, texts)) // _CHARACTERS_PER_TOKEN
        send = partial(_embeddings, body)
        came = await self.connection.call(send, f"embedding model {self.model}", estimate, tries=tries)
        vectors = self._read(came.answer, batch)
        self._cut += sum(len(whole) > len(text) for whole, text in zip(batch, texts, strict=True))
        return vectors, usage_of(came.answer).input_tokens

    def _read(self, answer: Mapping[str, Any], batch: Sequence[str]) -> NDArray[np.float32]:
        try:
            data = answer["data"]
            places = [item.get("index", place) for place, item in enumerate(data)]
            matrix = np.array([item["embedding"] for item in data], dtype=np.float64)
            if matrix.ndim != 2 or sorted(places) != list(range(len(batch))):
                raise ValueError("not one vector for each text")
            matrix = matrix[np.argsort(places)]
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            matrix = np.empty((0, 0))
        if not matrix.size or not np.isfinite(matrix).all() or np.abs(matrix).max() > _LARGEST:
            raise EndpointError(
                f"{self.connection.shown_url} did not return {len(batch)} vectors of one length and of "
                f"finite numbers for as many texts; is {self.model} an embedding model?"
            )
        return unit_rows(matrix)

    def _check(self, vectors: NDArray[np.float32]) -> None:
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise VectorLengthError(vectors.shape[1], self._dimension, self.model)

    def _batches(self, texts: Sequence[str]) -> list[list[str]]:
        most = min(self._batch_size, self.capabilities.texts or self._batch_size)
        return split_into_batches(texts, most)


def split_into_batches(texts: Sequence[str], most: int) -> list[list[str]]:
    """Return texts in parts of at most so many of them, and of 200,000 characters where more than one."""
    parts: list[list[str]] = []
    room = 0
    for text in texts:
        if not parts or len(parts[-1]) >= most or len(text) > room:
            parts.append([])
            room = _BATCH_CHARACTERS
        parts[-1].append(text)
        room -= len(text)
    return parts


async def _embeddings(body: Mapping[str, Any], client: "AsyncOpenAI") -> bytes:
    from graphrag_dagster.kernel.models.endpoint.openai_client import post

    return await post(client, "/embeddings", body)
