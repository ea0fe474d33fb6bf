"""The model endpoint: chat and embeddings of any OpenAI-compatible server."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.errors import EndpointError
from graphrag_dagster.core.language.llm.chat import ChatReply, ChatRequest
from graphrag_dagster.core.language.llm.loop import run_in_order
from graphrag_dagster.core.language.llm.replies import holdable
from graphrag_dagster.resources.chat_requests import Abilities, chat_body
from graphrag_dagster.resources.endpoint_connection import Connection, Refused
from graphrag_dagster.settings import ModelSettings

#: What endpoints turned out to understand, by URL and model, for as long as the process lives.
_abilities: dict[tuple[str, str], Abilities] = {}

_BATCH = 64
_BATCH_CHARACTERS = 200_000


class OpenAIChatModel:
    """A chat model behind an endpoint; a :class:`~graphrag_dagster.core.language.llm.chat.ChatModel`.

    Args:
        settings: the model and its endpoint.
        first_wait: seconds before the first retry.
    """

    def __init__(self, settings: ModelSettings, *, first_wait: float = 0.5) -> None:
        self.name = settings.name
        self._temperature = settings.temperature
        self._connection = Connection(settings, first_wait)

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.name!r}, base_url={self._connection.shown_url!r})"

    @property
    def concurrency(self) -> int:
        """Most calls in flight."""
        return self._connection.concurrency

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply; what the endpoint does not understand is left out once and for all.

        Raises:
            CallFailed: this call got no reply.
            EndpointError: the endpoint cannot be used at all.
        """
        where = (self._connection.url, self.name)
        while True:
            used = _abilities.get(where, Abilities())
            body = chat_body(self.name, request, used, self._temperature)
            try:
                return _reply(await self._connection.call(partial(_chat, body), f"model {self.name}"))
            except Refused as refusal:
                known = _abilities.get(where, Abilities())
                left = used.without(str(refusal)) if known == used else known
                if left is None:
                    raise
                _abilities[where] = left


class OpenAIEmbedder:
    """Vectors from an endpoint; an :class:`~graphrag_dagster.core.language.tasks.Embedder`.

    Args:
        model: the embedding model; ``name`` of the embedder is ``endpoint:`` and this.
        settings: the endpoint.
        first_wait: seconds before the first retry.
        batch_size: most texts in one call.
    """

    def __init__(
        self, model: str, settings: ModelSettings, *, first_wait: float = 0.5, batch_size: int = _BATCH
    ) -> None:
        self.name = f"endpoint:{model}"
        self._model = model
        self._batch_size = batch_size
        self._dimension: int | None = None
        self._connection = Connection(settings, first_wait)

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._model!r}, base_url={self._connection.shown_url!r})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array [len(texts), dimension] of L2-normalised float32 rows; a blank text gives zeros.

        Each distinct text is sent once.

        Raises:
            EndpointError: the endpoint cannot be used, or its vectors differ in length or number.
        """
        distinct = sorted({text for text in texts if text.strip()})
        batches = self._batches(distinct or ([] if self._dimension else ["dimension"]))
        rows: dict[str, NDArray[np.float32]] = {}
        made = run_in_order(self._embed, batches, calls=self._connection.concurrency)
        for batch, vectors in zip(batches, made, strict=True):
            self._check(batch, vectors)
            rows.update(zip(batch, vectors, strict=True))
        matrix = np.zeros((len(texts), self._dimension or 0), dtype=np.float32)
        for place, text in enumerate(texts):
            if text.strip():
                matrix[place] = rows[text]
        return matrix

    async def _embed(self, batch: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self._model, "input": holdable(list(batch)), "encoding_format": "float"}
        answer = await self._connection.call(partial(_embeddings, body), f"embedding model {self._model}")
        try:
            listed = sorted(answer["data"], key=lambda item: int(item.get("index", 0)))
            matrix = np.array([item["embedding"] for item in listed], dtype=np.float64)
        except (KeyError, TypeError, ValueError, AttributeError):
            matrix = np.empty((0, 0))
        if matrix.ndim != 2 or len(matrix) != len(batch) or not np.isfinite(matrix).all():
            raise EndpointError(
                f"{self._connection.shown_url} gave no {len(batch)} vectors of one length for as many texts; "
                f"is {self._model} an embedding model?"
            )
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        return (matrix / np.where(norms > 0, norms, 1.0)).astype(np.float32)

    def _check(self, batch: Sequence[str], vectors: NDArray[np.float32]) -> None:
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise EndpointError(
                f"{self._model} gave vectors of {vectors.shape[1]} numbers after {self._dimension}, "
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


async def _chat(body: Mapping[str, Any], client: Any) -> str:
    response = await client.chat.completions.with_raw_response.create(**body)
    return str(response.text)


async def _embeddings(body: Mapping[str, Any], client: Any) -> str:
    response = await client.embeddings.with_raw_response.create(**body)
    return str(response.text)


def _reply(answer: Mapping[str, Any]) -> ChatReply:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message") or {}
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    usage = answer.get("usage") or {}
    return ChatReply(
        holdable(content) if isinstance(content, str) else "",
        "refusal" if message.get("refusal") else str(choice.get("finish_reason") or "stop"),
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
    )
