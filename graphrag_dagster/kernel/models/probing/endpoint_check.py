"""The check before the first paid request: the endpoint must answer and return JSON."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict

from graphrag_dagster.errors import EndpointDown, EndpointError, OutOfCredit
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatRequest, Message, Refused
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed, visible_text
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel, ServerReply
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Connection
from graphrag_dagster.kernel.models.endpoint.request_bodies import (
    Capabilities,
    capabilities_of,
    set_capabilities,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ReplyFormat = Literal["json_schema", "json_object", "text"]
REPLY_FORMATS: tuple[ReplyFormat, ...] = get_args(ReplyFormat)
#: Tokens of a small reply, and of one before which the model may reason.
ROOMS = (64, 1000)
_LISTING_SECONDS = 10.0
_LISTED = 12
_SHOWN = 100
_EMPTY = "an empty reply"
# Words that a server which ignores the schema would not come to write.
_QUESTION = "Is the peel of a ripe lemon yellow or blue?"

#: Who checks an endpoint and a model, of each loop that asks.
_checking: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], asyncio.Lock]] = (
    WeakKeyDictionary()
)


class _Peel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    peel_shade_code: Literal["peel-yellow-7", "peel-blue-3"]


@dataclass(frozen=True, slots=True)
class ProbeAttempt:
    """A typed question: the format in which JSON was asked for, and what is wrong with what came.

    ``problem`` is None for usable data; ``failure``: why no reply came.
    """

    format: ReplyFormat
    problem: str | None
    failure: CallFailed | None = None


async def check_endpoint(model: OpenAIChatModel, known: CapabilityStore) -> Capabilities:
    """Make sure that the endpoint is of use, before anything is spent on it; by one caller at a time.

    One small call where all is well, none where it was well within the last day, six at most; what the
    endpoint refuses comes on top.

    Returns:
        What it understands; requests are made accordingly from now on.

    Raises:
        EndpointError: it cannot be used: what was tried, and the fix.
    """
    locks = _checking.setdefault(asyncio.get_running_loop(), {})
    async with locks.setdefault((model.connection.url, model.name), asyncio.Lock()):
        return await _check_once(model, known)


async def _check_once(model: OpenAIChatModel, known: CapabilityStore) -> Capabilities:
    url, shown = model.connection.url, model.connection.shown_url
    before = capabilities_of(url, model.name)
    if (kept := known.get(shown, model.name)) is not None:
        # What this process has learned itself is newer.
        if before == Capabilities():
            set_capabilities(url, model.name, kept)
        return capabilities_of(url, model.name)
    try:
        attempts = await find_request_form(model)
    except OutOfCredit:
        raise
    except EndpointError as error:
        set_capabilities(url, model.name, before)
        raise _kind([error])(f"{error}{await _other_models(model)}") from None
    if attempts[-1].problem is not None and not _enough_for_tuples(model, attempts[-1]):
        set_capabilities(url, model.name, before)
        kind = _kind([one.failure for one in attempts])
        raise kind(f"{unusable_message(model, attempts)}{await _other_models(model)}")
    found = capabilities_of(url, model.name)
    known.put(shown, model.name, found)
    return found


def _kind(failures: Sequence[EndpointError | None]) -> type[EndpointError]:
    """What to raise where calls failed so: an error that waiting may mend, or another."""
    passing = (
        isinstance(one, EndpointDown | CallFailed) and not isinstance(one, Refused) for one in failures
    )
    return EndpointDown if all(passing) else EndpointError


async def find_request_form(model: OpenAIChatModel) -> list[ProbeAttempt]:
    """Ask a typed question in the best way first, until data of the right shape comes; keep to that way.

    Returns:
        The attempts; only the last can have been of use.

    Raises:
        EndpointError: the endpoint cannot be used at all, or keeps silent.
    """
    attempts: list[ProbeAttempt] = []
    for wanted in REPLY_FORMATS:
        if attempts and REPLY_FORMATS.index(attempts[-1].format) >= REPLY_FORMATS.index(wanted):
            continue
        attempts.append(await _attempt(model, wanted))
        if attempts[-1].problem is None:
            break
    return attempts


async def send_small_request(
    model: OpenAIChatModel, text: str, schema: type[BaseModel] | None = None
) -> ServerReply:
    """Ask something small; a reply that was cut off or reasoned away before it was usable is given more room.

    Raises:
        CallFailed: no reply came.
        EndpointError: the endpoint cannot be used at all.
    """
    for room in ROOMS:
        answered = await model.send(ChatRequest("probe", (Message("user", text),), room, schema))
        unfinished = answered.reasoned or answered.reply.finish_reason == "length"
        if not unfinished or _problem(answered, schema) is None:
            break
    return answered


async def listed_models(connection: Connection) -> list[str] | None:
    """Return the names of the endpoint's models, None where it does not tell them.

    Raises:
        EndpointError: the endpoint gives no list.
    """
    async with asyncio.timeout(_LISTING_SECONDS):
        answer = (await connection.call(_models, "list of models")).answer
    data = answer.get("data")
    if not isinstance(data, list):
        return None
    return [str(one["id"]) for one in data if isinstance(one, dict) and "id" in one]


def some_names(models: list[str]) -> str:
    """Return some of the names in one line."""
    rest = len(models) - _LISTED
    return ", ".join(sorted(models)[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def unusable_message(model: OpenAIChatModel, attempts: list[ProbeAttempt]) -> str:
    """Return the failed attempts, and the fix."""
    told = "; ".join(f"with {one.format}: {one.problem}" for one in attempts)
    return (
        f"{model.connection.shown_url}: model {model.name} gave no usable JSON to a small question ({told}). "
        "No tokens were spent on the corpus. Set model.name to a model that follows instructions, or serve "
        "it with decoding by JSON schema; run graphrag-dagster doctor for details"
    )


async def _models(client: "AsyncOpenAI") -> bytes:
    from graphrag_dagster.kernel.models.endpoint.openai_client import body_of

    return body_of(await client.models.with_raw_response.list())


async def _attempt(model: OpenAIChatModel, wanted: ReplyFormat) -> ProbeAttempt:
    url = model.connection.url
    set_capabilities(url, model.name, replace(capabilities_of(url, model.name), format=wanted))
    begun = time.monotonic()
    try:
        answered = await send_small_request(model, _QUESTION, _Peel)
    except CallFailed as failure:
        if time.monotonic() - begun >= model.settings.timeout_seconds:
            raise
        # Some servers fail on a schema instead of refusing it.
        return ProbeAttempt(capabilities_of(url, model.name).format, str(failure), failure)
    return ProbeAttempt(capabilities_of(url, model.name).format, _problem(answered, _Peel))


def _problem(answered: ServerReply, schema: type[BaseModel] | None) -> str | None:
    text = visible_text(answered.reply.text)
    if not text:
        return _EMPTY
    if schema is None:
        return None
    try:
        read_typed(text, schema)
    except NotUsable as reason:
        shown = " ".join(text.split())
        return f"{shown[:_SHOWN] + ' …' if len(shown) > _SHOWN else shown!r} ({reason})"
    return None


def _enough_for_tuples(model: OpenAIChatModel, last: ProbeAttempt) -> bool:
    """Delimited tuples need no JSON; where there is none, reports are written without the model."""
    return model.settings.replies == "tuples" and last.failure is None and last.problem != _EMPTY


async def _other_models(model: OpenAIChatModel) -> str:
    """The models that exist in place of a missing one; empty if it exists, or the list is unknown."""
    try:
        models = await listed_models(model.connection)
    except (EndpointError, TimeoutError):
        return ""
    return f"; it has these models: {some_names(models)}" if models and model.name not in models else ""
