"""Bodies that an OpenAI-compatible endpoint answers, and requests that it refuses."""

import base64
import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from support.conversations import limit_of, prompt_tokens, text_of
from support.faults import Body
from support.scripted_replies import Scripted

Script = Callable[[Body], "Scripted | str"]


class Refusal(Exception):
    """A request that gets an error instead of an answer."""

    def __init__(self, status: int, message: str, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        kind = "requests" if status == 429 else "invalid_request_error"
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


@dataclass(frozen=True)
class Capabilities:
    """What an endpoint understands and how it deals with what it does not.

    ``unsupported``: keys of requests, also ``response_format.json_schema`` and ``response_format.json_object``.
    """

    models: Sequence[str] = ("scripted",)
    strict_models: bool = False
    unsupported: Collection[str] = ()
    obey_limit: bool = False
    context_tokens: int | None = None
    overflow: Literal["error", "truncate"] = "error"

    def check(self, body: Body) -> None:
        """Raise Refusal where the request cannot be answered."""
        if self.strict_models and body.get("model") not in self.models:
            message = f"The model `{body.get('model')}` does not exist"
            raise Refusal(404, message, "model_not_found", "model")
        for key in sorted(self.unsupported):
            if _uses(body, key):
                raise _unsupported(key, body)
        if self.context_tokens is not None and self.overflow == "error" and "messages" in body:
            tokens = prompt_tokens(body)
            if tokens > self.context_tokens:
                message = (
                    f"This model's maximum context length is {self.context_tokens} tokens. "
                    f"However, your messages resulted in {tokens} tokens."
                )
                raise Refusal(400, message, "context_length_exceeded", "messages")

    def seen(self, body: Body) -> Body:
        """The request as the model sees it: too long a prompt has lost its beginning."""
        excess = sum(len(text_of(one)) for one in body["messages"]) - 4 * (self.context_tokens or 0)
        if self.context_tokens is None or excess <= 0:
            return body
        left = []
        for message in body["messages"]:
            text = text_of(message)
            left.append({**message, "content": text[excess:] if excess < len(text) else ""})
            excess = max(excess - len(text), 0)
        return {**body, "messages": left}

    def reply(self, script: Script, body: Body) -> Scripted:
        """The script's reply with its tokens counted."""
        seen = self.seen(body)
        made = script(seen)
        reply = made if isinstance(made, Scripted) else Scripted(made)
        tokens = prompt_tokens(seen) if reply.input_tokens is None else reply.input_tokens
        return replace(reply, input_tokens=min(tokens, self.context_tokens or tokens))

    def limited(self, reply: Scripted, body: Body) -> Scripted:
        """The reply with its output counted, cut off at the request's limit where limits are obeyed."""
        thought = len(reply.reasoning or "") // 4
        tokens = reply.output_tokens if reply.output_tokens is not None else len(reply.text) // 4 + thought
        limit = limit_of(body)
        if not self.obey_limit or limit is None or tokens <= limit:
            return replace(reply, output_tokens=tokens)
        text = reply.text[: 4 * max(limit - thought, 0)]
        return replace(reply, text=text, output_tokens=limit, finish_reason="length")


def _uses(body: Body, key: str) -> bool:
    name, _, kind = key.partition(".")
    value = body.get(name)
    if kind:
        return isinstance(value, dict) and value.get("type") == kind
    return value is not None and value is not False


def _unsupported(key: str, body: Body) -> Refusal:
    name, _, kind = key.partition(".")
    code = "unsupported_parameter"
    if kind:
        message = f"Invalid parameter: '{name}' of type '{kind}' is not supported with this model."
    elif name == "max_tokens":
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead."
        )
    elif name in {"temperature", "stream"}:
        code = "unsupported_value"
        message = f"Unsupported value: '{name}' does not support {body[name]} with this model."
    elif name in {"chat_template_kwargs", "stream_options"}:
        code = "unknown_parameter"
        message = f"Unrecognized request argument supplied: {name}"
    else:
        message = f"Unsupported parameter: '{name}' is not supported with this model."
    return Refusal(400, message, code, name)


def usage(reply: Scripted) -> dict[str, Any]:
    """The use of a reply whose tokens are counted."""
    prompt, output = reply.input_tokens or 0, reply.output_tokens or 0
    told: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
    }
    if reply.reasoning is not None:
        told["completion_tokens_details"] = {"reasoning_tokens": len(reply.reasoning) // 4}
    if reply.cached_input_tokens:
        told["prompt_tokens_details"] = {"cached_tokens": reply.cached_input_tokens}
    return told


def completion(body: Body, reply: Scripted) -> dict[str, Any]:
    """The answer to a chat request."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": reply.finish_reason, "message": message}],
        "usage": usage(reply),
    }


def embeddings(body: Body, vector: Callable[[str], list[float]]) -> dict[str, Any]:
    """The answer to a request for vectors; they come in reverse order."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    packed = body.get("encoding_format") == "base64"
    data = []
    for index, text in enumerate(texts):
        numbers = vector(text)
        shown = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode() if packed else numbers
        data.append({"object": "embedding", "index": index, "embedding": shown})
    tokens = sum(map(len, texts)) // 4
    use = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body["model"], "data": data[::-1], "usage": use}


def model_list(models: Sequence[str]) -> dict[str, Any]:
    """The answer to ``GET /v1/models``."""
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in models]
    return {"object": "list", "data": data}
