"""Vectors from the model endpoint."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import EndpointError, VectorLengthError
from graphrag_dagster.kernel.common.progress import say
from graphrag_dagster.kernel.common.stable_values import unit_rows
from graphrag_dagster.kernel.models.chat.chat_model import Refused
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
from graphrag_dagster.kernel.models.model_costs import Amount
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_BATCH = 64
_BATCH_CHARACTERS = 200_000
#: Calls per connection in one go: the last of them wait for each other.
_ROUNDS = 4
_CHARACTERS_PER_TOKEN = 4
#: Statuses of what is too large; a refusal for another reason says nothing of this.
_TOO_LARGE = frozenset({413, 422})
_TOO_MUCH = re.compile(
    r"batch|size|limit|max|token|length|long|exceed|large|input|array|items|many|at most|context|payload"
    r"|bad request|invalid|unprocessable",
    re.IGNORECASE,
)
#: Of how many texts, or of how long ones, a refusal speaks.
_OF_NUMBER = re.compile(
    r"batch|\barray\b|too many (?:inputs?|texts?|items|elements)|(?:number|count|list) of"
    r"|max\w* \w*(?:inputs|texts|items)|\d+ (?:inputs|texts|items|elements|strings)",
    re.IGNORECASE,
)
_OF_LENGTH = re.compile(
    r"token|length|context|characters|bytes|payload|too (?:long|large)|body", re.IGNORECASE
)
_OF_NUMBER_TOLD = re.compile(r"(?<![\w.])(\d{1,4})(?![\w]|\.\d)")
_TOKENS_TOLD = re.compile(r"(?<![\w.])(\d{2,7}|\d{1,3}(?:,\d{3})+)(?![\w]|\.\d)")
#: Characters that every embedding model takes; a shorter text is refused for another reason.
_SURELY_TAKEN = 400
_SAFE = 0.95
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


@dataclass(frozen=True, slots=True)
class _EmbeddedTexts:
    """Vectors, and the most texts and characters that were taken at once; ``alone``: one text was cut."""

    vectors: NDArray[np.float32]
    texts: int
    characters: int
    alone: bool = False


async def _free(_: Sequence[str]) -> Amount:
    return Amount()


def _nothing(_: Amount, __: Tries, ___: BaseException) -> None:
    pass


class OpenAIEmbedder:
    """Vectors from an endpoint; an :class:`.Embedder`.

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
        self._cut = 0
        #: Is awaited before each batch; what it gives comes back with the batch.
        self.reserve: Callable[[Sequence[str]], Awaitable[Amount]] = _free
        #: Is told what was reserved for a batch that did not come, how it was tried, and why it did not.
        self.failed: Callable[[Amount, Tries, BaseException], None] = _nothing

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
        return (await self._embed_in_calls(batch)).vectors

    async def _embed_in_calls(self, batch: Sequence[str]) -> _EmbeddedTexts:
        """Vectors of texts, in as many calls as the endpoint wants; what turns out is kept for the next."""
        parts = split_into_batches(batch, self.capabilities.texts or len(batch), self.capabilities.characters)
        if len(parts) > 1:
            return _join_vectors([await self._embed_in_calls(part) for part in parts])
        known = self.capabilities
        try:
            return _EmbeddedTexts(await self._send(batch, known), len(batch), sum(map(len, batch)))
        except RefusedWith as refusal:
            if known.encoding and "encoding_format" in refusal.said:
                self._learn(encoding=False)
                return await self._embed_in_calls(batch)
            if not _may_be_too_much(refusal):
                raise
            if len(batch) == 1:
                return await self._embed_shortened(batch[0], refusal)
            if self.capabilities != known:
                # Another call has found out what is too much.
                return await self._embed_in_calls(batch)
            most = _stated_limit(refusal.said, len(batch)) or (len(batch) + 1) // 2
            taken = _join_vectors(
                [await self._embed_in_calls(part) for part in split_into_batches(batch, most, None)]
            )
            if not taken.alone:
                self._record_batch_size(refusal.said, taken)
            return taken

    def _record_batch_size(self, said: str, taken: _EmbeddedTexts) -> None:
        """Keep how much was taken at once, where all texts were, by number or by length."""
        known = self.capabilities
        if _OF_LENGTH.search(said) and not _OF_NUMBER.search(said):
            self._learn(characters=min(taken.characters, known.characters or taken.characters))
        else:
            self._learn(texts=min(taken.texts, known.texts or taken.texts))

    async def _embed_shortened(self, text: str, refusal: RefusedWith) -> _EmbeddedTexts:
        """The vector of a text that is refused alone, of as much of its beginning as is taken."""
        length = min(len(text), self.capabilities.longest or len(text))
        if length < _SURELY_TAKEN:
            raise refusal
        while length >= _SURELY_TAKEN:
            length = int(length * _stated_share(refusal.said))
            try:
                vectors = await self._send([text], replace(self.capabilities, longest=length))
            except RefusedWith as again:
                if not _may_be_too_much(again):
                    raise
                refusal = again
                continue
            self._learn(longest=min(length, self.capabilities.longest or length))
            return _EmbeddedTexts(vectors, 1, length, alone=True)
        raise Refused(
            f"{refusal}; not even the first {length:,} characters of a text are accepted: set "
            "embeddings.model to a model for longer texts, or text_units.size smaller"
        )

    async def _send(self, batch: Sequence[str], known: Capabilities) -> NDArray[np.float32]:
        """The vectors of texts in one call, of their beginnings where they are longer than may be."""
        texts = [text[: known.longest] for text in batch]
        body: dict[str, Any] = {"model": self.model, "input": storable(texts)}
        if known.encoding:
            body["encoding_format"] = "float"
        estimate = sum(map(len, texts)) // _CHARACTERS_PER_TOKEN
        what = f"embedding model {self.model}"
        reserved, tries = await self.reserve(texts), Tries("embed")
        try:
            send = partial(_embeddings, body)
            came = await self.connection.call(send, what, estimate, tries=tries)
            vectors = self._read(came.answer, batch)
        except BaseException as error:
            self.failed(reserved, tries, error)
            raise
        self._cut += sum(len(whole) > len(text) for whole, text in zip(batch, texts, strict=True))
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
        known = self.capabilities
        most = min(self._batch_size, known.texts or self._batch_size)
        return split_into_batches(texts, most, min(_BATCH_CHARACTERS, known.characters or _BATCH_CHARACTERS))


def split_into_batches(texts: Sequence[str], most: int, characters: int | None) -> list[list[str]]:
    """Return texts in parts of at most so many of them, and of so many characters where more than one."""
    parts: list[list[str]] = []
    room = 0
    for text in texts:
        if not parts or len(parts[-1]) >= most or (characters is not None and len(text) > room):
            parts.append([])
            room = characters or 0
        parts[-1].append(text)
        room -= len(text)
    return parts


def _join_vectors(parts: Sequence[_EmbeddedTexts]) -> _EmbeddedTexts:
    return _EmbeddedTexts(
        np.concatenate([part.vectors for part in parts]),
        max(part.texts for part in parts),
        max(part.characters for part in parts),
        any(part.alone for part in parts),
    )


def _may_be_too_much(refusal: RefusedWith) -> bool:
    """Whether less may be taken: a bare 400 has many reasons."""
    if refusal.status in _TOO_LARGE:
        return True
    return refusal.status == 400 and (not refusal.said or bool(_TOO_MUCH.search(refusal.said)))


def _stated_limit(said: str, refused: int) -> int | None:
    """The number of texts that is said to be most; None where there is none that is fewer."""
    numbers = [int(found) for found in _OF_NUMBER_TOLD.findall(said)] if _OF_NUMBER.search(said) else []
    return next((number for number in numbers if 0 < number < refused), None)


def _stated_share(said: str) -> float:
    """The share of a text that is taken, by the two numbers that are told of it; else half."""
    numbers = sorted({int(found.replace(",", "")) for found in _TOKENS_TOLD.findall(said)})
    if len(numbers) != 2 or not 0.05 < numbers[0] / numbers[1] < 1:
        return 0.5
    return _SAFE * numbers[0] / numbers[1]


async def _embeddings(body: Mapping[str, Any], client: "AsyncOpenAI") -> bytes:
    from graphrag_dagster.kernel.models.endpoint.openai_client import post

    return await post(client, "/embeddings", body)
