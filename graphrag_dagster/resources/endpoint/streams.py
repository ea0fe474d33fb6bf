"""Replies that are heard as they come, in the form of whole ones."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.core.language.llm.chat import Listener


@dataclass(slots=True)
class _Heard:
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)

    def takes(self, chunk: Any, listen: Listener | None) -> bool:
        """Take a chunk in; return whether there was anything in it."""
        self.usage = chunk.usage.model_dump() if chunk.usage else self.usage
        for choice in chunk.choices[:1]:
            self.finish = choice.finish_reason or self.finish
            hidden = getattr(choice.delta, "reasoning_content", None) or getattr(
                choice.delta, "reasoning", None
            )
            if isinstance(hidden, str):
                self.reasoning.append(hidden)
            if text := choice.delta.content:
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
    client: Any, asked: Mapping[str, Any], listen: Listener | None, heard: Callable[[], None]
) -> tuple[str, Mapping[str, str]]:
    """Return the body of a reply that came piece by piece, as that of a whole one, and its headers.

    Args:
        client: the client of the endpoint.
        asked: the request.
        listen: hears the text of each piece.
        heard: is told of each piece, also of hidden reasoning; that a reply has begun is none.
    """
    response = await client.chat.completions.with_raw_response.create(
        **asked, stream=True, stream_options={"include_usage": True}
    )
    if "json" in response.headers.get("content-type", ""):
        # Some servers do not know streams, and do not say so.
        whole = (await response.http_response.aread()).decode("utf-8", "replace")
        return whole, response.headers
    told = _Heard()
    async for chunk in response.parse():
        if told.takes(chunk, listen):
            heard()
    return json.dumps(told.answer()), response.headers
