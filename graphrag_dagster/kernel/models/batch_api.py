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
    """Outcome of one request of a batch: a reply, or what prevents all requests; neither: it was refused."""

    key: bytes
    reply: ChatReply | None = None
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
    """Return what a line of an output or error file tells; None of what is not ours, or was not begun."""
    key = key_of(line)
    if key is None or mapping(line.get("error")).get("code") in _NOT_BEGUN:
        return None
    response = mapping(line.get("response"))
    status, body = response.get("status_code"), mapping(response.get("body"))
    error = body.get("error")
    if status == 200 and not error:
        reply = read_reply(body)
        return LineResult(key, None if reply.finish_reason == "error" else reply)
    reason = f"{error_text(mapping(error) or body)} ({status})"
    if status == 402 or is_out_of_credit(error or body):
        reason = f"{NO_CREDIT}: {reason}"
    elif status not in _WHOLE_ENDPOINT:
        return LineResult(key)
    return LineResult(key, problem=reason)


def error_text(told: Mapping[str, Any]) -> str:
    """Return the message of an error, else its code, in one short line."""
    return shorten_line(str(told.get("message") or told.get("code") or "no reason given"))


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
        batch = file and await self._call(
            self._once,
            lambda client: client.batches.with_raw_response.create(
                input_file_id=str(file.get("id")),
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
        if not batch:
            return RemoteBatch(name, "missing", problem=f"{self.shown_url} no longer has it")
        return _remote(batch)

    async def cancel(self, name: str) -> RemoteBatch:
        """Ask the provider to stop a batch; what is answered by then is kept.

        Raises:
            EndpointError: there is no such batch, or it is over.
        """
        batch = await self._call(self._once, lambda client: client.batches.with_raw_response.cancel(name))
        if not batch:
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
        listed = found.get("data")
        return [_remote(one) for one in (listed if isinstance(listed, list) else []) if isinstance(one, dict)]

    async def lines(self, file: str) -> list[dict[str, Any]]:
        """Return the lines of a file; none where it is gone. What is no JSON object is left out.

        Raises:
            EndpointError: the endpoint cannot be asked.
        """
        found = await self._call(
            self._often, lambda client: client.files.with_raw_response.content(file), whole=False
        )
        # Not splitlines(): replies hold separators that JSON does not escape.
        return [line for raw in found.get("content", "").split("\n") if (line := json_object(raw))]

    @staticmethod
    async def _call(
        connection: Connection,
        send: Callable[["AsyncOpenAI"], Awaitable["Raw"]],
        *,
        whole: bool = True,
    ) -> dict[str, Any]:
        """Return the answer, an empty one where there is no such thing.

        Args:
            connection: by which it is asked for.
            send: makes the request.
            whole: the answer is one JSON object; else it comes as a text, under ``content``.
        """

        async def careful(client: "AsyncOpenAI") -> bytes:
            from openai import APIStatusError

            from graphrag_dagster.kernel.models.endpoint.openai_client import body_of

            try:
                body = body_of(await send(client))
            except APIStatusError as error:
                if error.status_code not in _NOT_THERE:
                    raise
                return b"{}"
            return body if whole else json.dumps({"content": body.decode(errors="replace")}).encode()

        try:
            return (await connection.call(careful, "Batch API")).answer
        except CallFailed as failure:
            # No failure of one request of many: nothing can be done without the Batch API.
            raise EndpointError(f"Batch API: {failure}") from None


def _remote(told: Mapping[str, Any]) -> RemoteBatch:
    counts = mapping(told.get("request_counts"))
    errors = mapping(told.get("errors")).get("data")
    listed = errors if isinstance(errors, list) else []
    reasons = list(dict.fromkeys(error_text(mapping(error)) for error in listed))
    if any(map(is_out_of_credit, listed)):
        reasons[0] = f"{NO_CREDIT}: {reasons[0]}"
    file = told.get("input_file_id")
    files = (told.get("output_file_id"), told.get("error_file_id"))
    return RemoteBatch(
        id=str(told.get("id")),
        status=str(told.get("status")),
        done=count(counts.get("completed")) + count(counts.get("failed")),
        input_file=file if isinstance(file, str) else None,
        files=tuple(file for file in files if isinstance(file, str) and file),
        problem=shorten_line("; ".join(reasons)) if reasons else None,
        metadata=mapping(told.get("metadata")),
    )
