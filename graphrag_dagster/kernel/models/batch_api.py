"""Client of a provider's Batch API: many chat requests in a file, answered within a day at half the price."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import read_reply
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Connection
from graphrag_dagster.kernel.models.endpoint.error_mapping import is_out_of_credit
from graphrag_dagster.kernel.models.endpoint.response_parsing import count, json_object, mapping
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from graphrag_dagster.kernel.models.endpoint.openai_client import Raw


#: Where the requests of a batch go.
CHATS: Final = "/v1/chat/completions"
_SHOWN = 400
_WHOLE_ENDPOINT = frozenset({401, 403, 404})
#: How the problem of a batch begins whose account has no money left.
NO_CREDIT: Final = "no credit left"
_NOT_BEGUN = frozenset({"batch_expired", "batch_cancelled"})


@dataclass(frozen=True, slots=True)
class LineResult:
    """Outcome of one request of a batch.

    ``reply``: it was answered. ``refused``: it was not, and why. ``problem``: what prevents all requests,
    such as a wrong model. All None: it was not started.
    """

    key: bytes
    reply: ChatReply | None = None
    refused: str | None = None
    problem: str | None = None


def batch_line(key: bytes, body: Mapping[str, Any]) -> bytes:
    """Return a request as a line of a batch file; its name is the key in hexadecimal digits."""
    line = {"custom_id": key.hex(), "method": "POST", "url": CHATS, "body": body}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def key_of(line: Mapping[str, Any]) -> bytes | None:
    """Return the key of a line that :func:`batch_line` made, None of any other."""
    try:
        return bytes.fromhex(line["custom_id"])
    except (KeyError, TypeError, ValueError):
        return None


def read_result(line: Mapping[str, Any]) -> LineResult | None:
    """Return what a line of an output or error file tells; None where it belongs to no request of ours."""
    key = key_of(line)
    if key is None:
        return None
    response, error = line.get("response"), line.get("error")
    if not isinstance(response, dict):
        told = error if isinstance(error, dict) else {}
        if told.get("code") in _NOT_BEGUN:
            return LineResult(key)
        return LineResult(key, refused=error_text(told, "no answer and no reason"))
    status, body = response.get("status_code"), response.get("body")
    body = body if isinstance(body, dict) else {}
    if status == 200 and not body.get("error"):
        reply = read_reply(body)
        if reply.finish_reason == "error":
            return LineResult(key, refused="the reply was cut short")
        return LineResult(key, reply=reply)
    inner = body.get("error")
    reason = f"{error_text(inner if isinstance(inner, dict) else body, 'no reason given')} ({status})"
    if status == 402 or is_out_of_credit(inner or body):
        return LineResult(key, problem=f"{NO_CREDIT}: {reason}")
    if status in _WHOLE_ENDPOINT:
        return LineResult(key, problem=reason)
    return LineResult(key, refused=reason)


def error_text(told: Mapping[str, Any], otherwise: str) -> str:
    """Return the message of an error, else its code, in one short line."""
    return shorten_line(str(told.get("message") or told.get("code") or otherwise))


def shorten_line(text: str) -> str:
    """Return a text in one line, cut where it is long."""
    folded = " ".join(text.split())
    return folded if len(folded) <= _SHOWN else folded[:_SHOWN] + " …"


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
        """Upload requests and begin a batch of them.

        Raises:
            EndpointError: there is no Batch API, or it refuses the batch.
        """
        file = await self._call(
            self._often,
            lambda client: client.files.with_raw_response.create(
                file=("batch.jsonl", lines, "application/jsonl"), purpose="batch"
            ),
        )
        name = str((file or {}).get("id"))
        batch = file and await self._call(
            self._once,
            lambda client: client.batches.with_raw_response.create(
                input_file_id=name,
                endpoint=CHATS,
                completion_window="24h",
                metadata=dict(metadata),
            ),
        )
        if not batch:
            raise EndpointError(f"{self.shown_url} has no Batch API; set model.batch: false")
        return _remote(batch)

    async def look(self, name: str) -> RemoteBatch:
        """Return how far a batch is; its status is ``missing`` where the provider does not know it.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        batch = await self._call(self._often, lambda client: client.batches.with_raw_response.retrieve(name))
        if batch is None:
            return RemoteBatch(name, "missing", problem=f"{self.shown_url} no longer has it")
        return _remote(batch)

    async def cancel(self, name: str) -> RemoteBatch:
        """Ask the provider to stop a batch; what is answered by then is kept.

        Raises:
            EndpointError: there is no such batch, or it is over.
        """
        batch = await self._call(self._once, lambda client: client.batches.with_raw_response.cancel(name))
        if batch is None:
            raise EndpointError(f"{self.shown_url} no longer has the batch {name}")
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
        return None if text is None else json_object(text) or {}

    async def _read(
        self,
        connection: Connection,
        send: Callable[["AsyncOpenAI"], Awaitable["Raw"]],
        *,
        whole: bool = True,
    ) -> str | None:
        """Return the text of an answer, None where there is none; ``whole``: it is one JSON object."""
        text: str | None = None

        async def careful(client: "AsyncOpenAI") -> bytes:
            from openai import APIStatusError

            from graphrag_dagster.kernel.models.endpoint.openai_client import body_of

            nonlocal text
            text = None
            try:
                content = body_of(await send(client))
            except APIStatusError as error:
                if error.status_code not in _NOT_THERE:
                    raise
                return b"{}"
            text = content.decode(errors="replace")
            return content if whole else b"{}"

        try:
            await connection.call(careful, "Batch API")
        except CallFailed as failure:
            # No failure of one request of many: nothing can be done without the Batch API.
            raise EndpointError(f"Batch API: {failure}") from None
        return text


def _remote(told: Mapping[str, Any]) -> RemoteBatch:
    counts = mapping(told.get("request_counts"))
    errors = mapping(told.get("errors")).get("data")
    listed = errors if isinstance(errors, list) else []
    reasons = list(dict.fromkeys(error_text(mapping(error), "no reason given") for error in listed))
    if any(map(is_out_of_credit, listed)):
        reasons[0] = f"{NO_CREDIT}: {reasons[0]}"
    file = told.get("input_file_id")
    files = (told.get("output_file_id"), told.get("error_file_id"))
    return RemoteBatch(
        id=str(told.get("id")),
        status=str(told.get("status")),
        requests=count(counts.get("total")),
        done=count(counts.get("completed")) + count(counts.get("failed")),
        input_file=file if isinstance(file, str) else None,
        files=tuple(file for file in files if isinstance(file, str) and file),
        problem=shorten_line("; ".join(reasons)) if reasons else None,
        metadata=mapping(told.get("metadata")),
    )
