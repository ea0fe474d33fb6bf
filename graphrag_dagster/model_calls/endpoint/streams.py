"""Replies that are heard as they come, in the form of whole ones, in a time that grows with their bytes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphrag_dagster.core.language.chat.port import Listener
from graphrag_dagster.model_calls.endpoint.envelope import BadAnswer, content_of, first, mapping

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from graphrag_dagster.model_calls.endpoint.client import Sent

#: Where chat requests go.
CHATS = "/chat/completions"
_SHOWN = 400


@dataclass(slots=True)
class _Heard:
    content: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    hidden: bool = False
    finish: object = None
    usage: Mapping[str, Any] = field(default_factory=dict)

    def takes(self, event: Mapping[str, Any], listen: Listener | None) -> bool:
        """Take an event in; return whether there was anything in it."""
        self.usage = mapping(event.get("usage")) or self.usage
        choice = first(event.get("choices"))
        delta = content_of(choice.get("delta"))
        self.finish = choice.get("finish_reason") or self.finish
        self.hidden |= delta.hidden
        if delta.refusal:
            self.refusal.append(delta.refusal)
        if delta.text:
            self.content.append(delta.text)
            if listen:
                listen(delta.text)
        return bool(self.hidden or self.content or self.refusal or self.finish)

    def answer(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.content)}
        if self.hidden:
            message["reasoning_content"] = "…"
        if self.refusal:
            message["refusal"] = "".join(self.refusal)
        # A stream that ends without a reason was cut off on its way.
        choice = {"message": message, "finish_reason": self.finish or "length"}
        return {"choices": [choice], "usage": self.usage}


async def streamed(
    client: "AsyncOpenAI", body: Mapping[str, Any], listen: Listener | None, heard: Callable[[], None]
) -> "Sent":
    """Return the body of a reply that came piece by piece, as that of a whole one, and its headers.

    Args:
        client: the client of the endpoint.
        body: the request.
        listen: hears the text of each piece.
        heard: is told of each piece, also of hidden reasoning; that a reply has begun is none.

    Raises:
        openai.OpenAIError: the endpoint does not answer, or breaks off.
        BadAnswer: it sends what is no event, or goes on and on.
    """
    from openai import AsyncStream

    asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
    told = _Heard()
    # Plain JSON: to make typed objects of the pieces takes longer than all else.
    stream = await client.post(CHATS, cast_to=object, body=asked, stream=True, stream_cls=AsyncStream[object])
    async with stream:
        headers = stream.response.headers
        if "json" in headers.get("content-type", ""):
            # Some servers do not know streams, and do not say so.
            return await stream.response.aread(), headers
        try:
            async for event in stream:
                if told.takes(mapping(event), listen):
                    heard()
        except (ValueError, RecursionError) as problem:
            shown = str(getattr(problem, "doc", ""))[:_SHOWN].strip()
            raise BadAnswer(f"sent no usable JSON: {shown or 'an empty event'}") from None
    return json.dumps(told.answer()).encode(), headers
