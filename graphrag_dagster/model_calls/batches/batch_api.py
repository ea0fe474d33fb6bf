"""Calls of a provider's Batch API: many chat requests in a file, answered within a day at half the price."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphrag_dagster.core.language.chat.port import CallFailed
from graphrag_dagster.errors import EndpointError
from graphrag_dagster.model_calls.batches.batch_files import CHATS, json_object, said, short
from graphrag_dagster.model_calls.endpoint.connection import Connection
from graphrag_dagster.model_calls.endpoint.envelope import count, mapping
from graphrag_dagster.settings.model import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from graphrag_dagster.model_calls.endpoint.client import Raw, Sent

#: What a batch ends with; nothing about it changes any more.
FINAL = frozenset({"completed", "failed", "expired", "cancelled", "missing"})
MOST_LINES = 50_000
MOST_BYTES = 150_000_000
#: Large files travel in one call.
_SECONDS = 600.0
_LISTED = 100
_NOT_THERE = frozenset({404, 405, 501})


@dataclass(frozen=True, slots=True)
class RemoteBatch:
    """A batch as the provider tells of it; ``problem`` is why it failed."""

    id: str
    status: str
    requests: int = 0
    done: int = 0
    input_file: str | None = None
    files: tuple[str, ...] = ()
    problem: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


class BatchApi:
    """The batches of one endpoint.

    Args:
        settings: where the endpoint is; its key is read from the environment at each call.
        first_wait: seconds before the first retry.
    """

    def __init__(self, settings: ModelSettings, first_wait: float = 0.5) -> None:
        patient = settings.model_copy(update={"timeout_seconds": max(settings.timeout_seconds, _SECONDS)})
        self._often = Connection(patient, "batches", first_wait)
        # A creation whose answer was lost may have been done: repeated, it would be paid for twice.
        self._once = Connection(patient.model_copy(update={"retries": 0}), "batches", first_wait)

    @property
    def shown_url(self) -> str:
        """The base URL without credentials."""
        return self._often.shown_url

    @property
    def url(self) -> str:
        """The base URL."""
        return self._often.url

    async def create(self, lines: bytes, metadata: Mapping[str, str]) -> RemoteBatch:
        """Upload requests, made by :mod:`.batch_files`, and begin a batch of them.

        Raises:
            EndpointError: there is no Batch API, or it refuses the batch.
        """
        file = await self._call(
            self._often,
            lambda client: client.files.with_raw_response.create(
                file=("batch.jsonl", lines, "application/jsonl"), purpose="batch"
            ),
        )
        if file is None:
            raise self._no_api()

        batch = await self._call(
            self._once,
            lambda client: client.batches.with_raw_response.create(
                input_file_id=str(file.get("id")),
                endpoint=CHATS,
                completion_window="24h",
                metadata=dict(metadata),
            ),
        )
        if batch is None:
            raise self._no_api()
        return _remote(batch)

    async def look(self, name: str) -> RemoteBatch:
        """Return how far a batch is; its status is ``missing`` where the provider does not know it.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        batch = await self._call(self._often, lambda client: client.batches.with_raw_response.retrieve(name))
        if batch is None:
            return RemoteBatch(name, "missing", problem=f"{self.shown_url} does not know it any more")
        return _remote(batch)

    async def cancel(self, name: str) -> RemoteBatch:
        """Ask the provider to stop a batch; what is answered by then is kept.

        Raises:
            EndpointError: there is no such batch, or it is over.
        """
        batch = await self._call(self._once, lambda client: client.batches.with_raw_response.cancel(name))
        if batch is None:
            raise EndpointError(f"{self.shown_url} does not know the batch {name} any more")
        return _remote(batch)

    async def latest(self) -> list[RemoteBatch]:
        """Return the latest batches of the account, at most 100; none where the provider lists none.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        found = await self._call(
            self._often, lambda client: client.batches.with_raw_response.list(limit=_LISTED)
        )
        listed = (found or {}).get("data")
        return [_remote(one) for one in (listed if isinstance(listed, list) else []) if isinstance(one, dict)]

    async def lines(self, file: str) -> list[dict[str, Any]]:
        """Return the lines of a file; none where it is gone. What is no JSON object is left out.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        content = await self._read(
            self._often, lambda client: client.files.with_raw_response.content(file), whole=False
        )
        # Not splitlines(): replies hold separators that JSON does not escape.
        return [line for raw in (content or "").split("\n") if (line := json_object(raw))]

    async def _call(
        self, connection: Connection, send: Callable[["AsyncOpenAI"], Awaitable["Raw"]]
    ) -> dict[str, Any] | None:
        """Return the answer, None where there is no such thing."""
        text = await self._read(connection, send)
        return None if text is None else json_object(text)

    async def _read(
        self,
        connection: Connection,
        send: Callable[["AsyncOpenAI"], Awaitable["Raw"]],
        *,
        whole: bool = True,
    ) -> str | None:
        """Return the text of an answer, None where there is none; ``whole``: it is one JSON object."""
        text: str | None = None

        async def careful(client: "AsyncOpenAI", _: Callable[[], None]) -> "Sent":
            from openai import APIStatusError

            from graphrag_dagster.model_calls.endpoint.client import sent

            nonlocal text
            text = None
            try:
                content, headers = sent(await send(client))
            except APIStatusError as error:
                if error.status_code not in _NOT_THERE:
                    raise
                return b"{}", error.response.headers
            text = connection.without_key(content.decode(errors="replace"))
            return (content if whole else b"{}"), headers

        try:
            await connection.call(careful, "Batch API")
        except CallFailed as failure:
            # No failure of one request of many: nothing can be done without the Batch API.
            raise EndpointError(f"Batch API: {failure}") from None
        return text

    def _no_api(self) -> EndpointError:
        return EndpointError(f"{self.shown_url} has no Batch API; set model.batch: false")


def _remote(told: Mapping[str, Any]) -> RemoteBatch:
    counts = mapping(told.get("request_counts"))
    errors = mapping(told.get("errors")).get("data")
    listed = errors if isinstance(errors, list) else []
    reasons = list(dict.fromkeys(said(mapping(error), "no reason given") for error in listed))
    file = told.get("input_file_id")
    files = (told.get("output_file_id"), told.get("error_file_id"))
    return RemoteBatch(
        id=str(told.get("id")),
        status=str(told.get("status")),
        requests=count(counts.get("total")),
        done=count(counts.get("completed")) + count(counts.get("failed")),
        input_file=file if isinstance(file, str) else None,
        files=tuple(file for file in files if isinstance(file, str) and file),
        problem=short("; ".join(reasons)) if reasons else None,
        metadata=mapping(told.get("metadata")),
    )
