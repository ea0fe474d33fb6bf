"""Calls of a provider's Batch API: many chat requests in a file, answered within a day at half the price."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from graphrag_dagster.core.language.chat.port import CallFailed
from graphrag_dagster.errors import EndpointError
from graphrag_dagster.model_calls.batches.batch_files import CHATS, json_object, said, short
from graphrag_dagster.model_calls.endpoint.connection import Connection
from graphrag_dagster.model_calls.endpoint.envelope import count, mapping
from graphrag_dagster.settings.model import ModelSettings

if TYPE_CHECKING:
    from graphrag_dagster.model_calls.endpoint.client import Client, Sent

#: What a batch ends with; nothing about it changes any more.
FINAL = frozenset({"completed", "failed", "expired", "cancelled", "missing"})
MOST_LINES = 50_000
MOST_BYTES = 150_000_000
#: Bytes of a file of replies; those of requests may grow by as much as they ask for.
_MOST_OF_FILE = 2_000_000_000
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
            self._often, lambda client: client.upload("files", "batch.jsonl", lines, {"purpose": "batch"})
        )
        if file is None:
            raise self._no_api()

        body = {
            "input_file_id": str(file.get("id")),
            "endpoint": CHATS,
            "completion_window": "24h",
            "metadata": dict(metadata),
        }
        batch = await self._call(self._once, lambda client: client.post("batches", body))
        if batch is None:
            raise self._no_api()
        return _remote(batch)

    async def look(self, name: str) -> RemoteBatch:
        """Return how far a batch is; its status is ``missing`` where the provider does not know it.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        batch = await self._call(self._often, lambda client: client.get(_place("batches", name)))
        if batch is None:
            return RemoteBatch(name, "missing", problem=f"{self.shown_url} does not know it any more")
        return _remote(batch)

    async def cancel(self, name: str) -> RemoteBatch:
        """Ask the provider to stop a batch; what is answered by then is kept.

        Raises:
            EndpointError: there is no such batch, or it is over.
        """
        batch = await self._call(self._once, lambda client: client.post(_place("batches", name, "cancel")))
        if batch is None:
            raise EndpointError(f"{self.shown_url} does not know the batch {name} any more")
        return _remote(batch)

    async def latest(self) -> list[RemoteBatch]:
        """Return the latest batches of the account, at most 100; none where the provider lists none.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        found = await self._call(self._often, lambda client: client.get("batches", limit=str(_LISTED))) or {}
        listed = found.get("data")
        return [_remote(one) for one in (listed if isinstance(listed, list) else []) if isinstance(one, dict)]

    async def lines(self, file: str) -> list[dict[str, Any]]:
        """Return the lines of a file; none where it is gone. What is no JSON object is left out.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        content = ""

        async def download(client: "Client") -> "Sent":
            nonlocal content
            text, headers = await client.get(_place("files", file, "content"), most=_MOST_OF_FILE)
            content = self._often.without_key(text)
            return "{}", headers

        await self._call(self._often, download)
        # Not splitlines(): replies hold separators that JSON does not escape.
        return [line for raw in content.split("\n") if (line := json_object(raw))]

    async def _call(
        self, connection: Connection, send: Callable[["Client"], Awaitable["Sent"]]
    ) -> dict[str, Any] | None:
        """Return the answer, None where there is no such thing."""
        missing = False

        async def careful(client: "Client", _: Callable[[], None]) -> "Sent":
            from graphrag_dagster.model_calls.endpoint.client import StatusError

            nonlocal missing
            try:
                return await send(client)
            except StatusError as error:
                if error.status not in _NOT_THERE:
                    raise
                missing = True
                return "{}", error.headers

        try:
            arrived = await connection.call(careful, "Batch API")
        except CallFailed as failure:
            # No failure of one request of many: nothing can be done without the Batch API.
            raise EndpointError(f"Batch API: {failure}") from None
        return None if missing else arrived.answer

    def _no_api(self) -> EndpointError:
        return EndpointError(f"{self.shown_url} has no Batch API; set model.batch: false")


def _place(*names: str) -> str:
    return "/".join(quote(name, safe="") for name in names)


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
