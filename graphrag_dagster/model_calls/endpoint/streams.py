"""Replies that are heard as they come, in the form of whole ones, in a time that grows with their bytes."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphrag_dagster.core.language.chat.port import Listener
from graphrag_dagster.model_calls.endpoint.envelope import (
    BadAnswer,
    Body,
    first,
    json_object,
    mapping,
    pieces,
    text_of,
)

if TYPE_CHECKING:
    from graphrag_dagster.model_calls.endpoint.client import Client, Sent

#: Where chat requests go.
CHATS = "chat/completions"
_SHOWN = 400


@dataclass(slots=True)
class _Heard:
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)

    def takes(self, event: Mapping[str, Any], listen: Listener | None) -> bool:
        """Take an event in; return whether there was anything in it."""
        self.usage = mapping(event.get("usage")) or self.usage
        choice = first(event.get("choices"))
        delta, reason = mapping(choice.get("delta")), choice.get("finish_reason")
        self.finish = reason if isinstance(reason, str) and reason else self.finish
        hidden, text = delta.get("reasoning_content") or delta.get("reasoning"), delta.get("content")
        if isinstance(hidden, str):
            self.reasoning.append(hidden)
        if isinstance(text, str) and text:
            self.content.append(text)
            if listen:
                listen(text)
        return bool(self.reasoning or self.content or self.finish)

    def answer(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": "".join(self.content)}
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        # A stream that ends without a reason was cut off on its way.
        choice = {"message": message, "finish_reason": self.finish or "length"}
        return {"choices": [choice], "usage": self.usage}


async def streamed(
    client: "Client", body: Mapping[str, Any], listen: Listener | None, heard: Callable[[], None]
) -> "Sent":
    """Return the body of a reply that came piece by piece, as that of a whole one, and its headers.

    Args:
        client: the client of the endpoint.
        body: the request.
        listen: hears the text of each piece.
        heard: is told of each piece, also of hidden reasoning; that a reply has begun is none.

    Raises:
        BadAnswer: the endpoint breaks off, sends what is no event, or goes on and on.
    """
    asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
    async with client.streamed(CHATS, asked) as response:
        if "json" in response.headers.get("content-type", ""):
            # Some servers do not know streams, and do not say so.
            return await text_of(response), response.headers
        told = _Heard()
        async for event in _events(response):
            if told.takes(event, listen):
                heard()
        return json.dumps(told.answer()), response.headers


async def _events(body: Body) -> AsyncIterator[Mapping[str, Any]]:
    async for line in _lines(body):
        kind, _, data = line.partition(b":")
        if kind != b"data":
            continue
        if data.strip() == b"[DONE]":
            return
        event = json_object(data)
        if event is None:
            shown = data[:_SHOWN].decode(errors="replace").strip()
            raise BadAnswer(f"sent no usable JSON: {shown or 'an empty event'}")
        if error := event.get("error"):
            raise BadAnswer(f"broke off its reply: {mapping(error).get('message') or error}")
        yield event


async def _lines(body: Body) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    async for piece in pieces(body):
        *whole, last = piece.split(b"\n")
        for line in whole:
            yield b"".join([*begun, line]).rstrip(b"\r")
            begun.clear()
        begun.append(last)
    yield b"".join(begun)
