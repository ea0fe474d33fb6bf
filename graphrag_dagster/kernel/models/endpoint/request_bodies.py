"""Bodies of chat requests, built for the detected capabilities of an endpoint."""

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args

from pydantic import BaseModel

from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest
from graphrag_dagster.kernel.models.chat.reply_parsing import storable
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.text import prompts

_FORMAT_WORDS = (
    "response_format",
    "json_schema",
    "json schema",
    "structured output",
    "json_object",
    "grammar",
)
_THINKING_WORDS = ("reasoning_effort", "reasoning effort", "chat_template_kwargs", "enable_thinking")
_STREAM = re.compile(r"\bstream(?:ing|ed|_options)?\b")

Silence = Literal["not needed", "template", "none", "minimal", "impossible"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Capabilities that requests may use.

    ``counts``: a stream tells its tokens. ``silence`` is how hidden reasoning is switched off, once some was
    seen. Of calls for vectors: ``texts`` are most in one call, ``longest`` is most characters of one text,
    None where nothing was refused; ``encoding``: the form of numbers may be named.
    """

    format: Literal["json_schema", "json_object", "text"] = "json_schema"
    logit_bias: bool = True
    temperature: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = True
    counts: bool = True
    effort: bool = True
    silence: Silence = "not needed"
    texts: int | None = None
    longest: int | None = None
    encoding: bool = True

    def without(self, complaint: str) -> "Capabilities | None":
        """Return what is left after a refusal, None where the complaint names none of the capabilities.

        Args:
            complaint: what the endpoint says, and nothing else: our own words may hold those of a capability.
        """
        words = complaint.lower()
        if self.logit_bias and "logit_bias" in words:
            return replace(self, logit_bias=False)
        if self.limit == "max_tokens" and "max_completion_tokens" in words:
            return replace(self, limit="max_completion_tokens")
        if any(word in words for word in _THINKING_WORDS):
            if self.silence not in {"not needed", "impossible"}:
                return self.with_less_reasoning()
            return replace(self, effort=False) if self.effort else None
        if self.format != "text" and any(word in words for word in _FORMAT_WORDS):
            return replace(self, format="json_object" if self.format == "json_schema" else "text")
        if self.stream and _STREAM.search(words):
            return replace(self, stream=False)
        if self.temperature and "temperature" in words:
            return replace(self, temperature=False)
        return None

    def with_less_reasoning(self) -> "Capabilities":
        """Return the next way of switching hidden reasoning off; the last is to take it off the reply."""
        ways: tuple[Silence, ...] = get_args(Silence)
        return replace(self, silence=ways[min(ways.index(self.silence) + 1, len(ways) - 1)])


#: By URL and model, for as long as the process lives.
_known: dict[tuple[str, str], Capabilities] = {}


def capabilities_of(url: str, model: str) -> Capabilities:
    """Return what is known of a model behind an endpoint."""
    return _known.get((url, model), Capabilities())


def set_capabilities(url: str, model: str, capabilities: Capabilities) -> None:
    """Keep what turned out."""
    _known[url, model] = capabilities


def thinking_keys(settings: ModelSettings, capabilities: Capabilities) -> dict[str, object]:
    """Return the keys of a request that say how much hidden reasoning is wanted."""
    if settings.reasoning in {"low", "medium", "high"}:
        return {"reasoning_effort": settings.reasoning} if capabilities.effort else {}
    if settings.reasoning == "default":
        return {}
    if capabilities.silence == "template":
        return {"chat_template_kwargs": {"enable_thinking": False}}
    if capabilities.silence in {"none", "minimal"}:
        return {"reasoning_effort": capabilities.silence}
    return {}


_BIAS = 100


def chat_body(settings: ModelSettings, request: ChatRequest, capabilities: Capabilities) -> dict[str, Any]:
    """Return the body of a request to ``/chat/completions``.

    Where the endpoint takes no JSON schema, the schema stands at the end of the first message.
    """
    messages = [{"role": m.role, "content": storable(m.content)} for m in request.messages]
    body: dict[str, Any] = {
        **settings.extra_body,
        "model": settings.name,
        "messages": messages,
        capabilities.limit: request.max_tokens,
        **thinking_keys(settings, capabilities),
    }
    if capabilities.temperature:
        body["temperature"] = settings.temperature if request.temperature is None else request.temperature
    if settings.top_p is not None:
        body["top_p"] = settings.top_p
    if settings.seed is not None:
        body["seed"] = settings.seed + request.replicate
    if request.forced_tokens and capabilities.logit_bias:
        body["logit_bias"] = {str(token): _BIAS for token in request.forced_tokens}
    if request.schema is None:
        return body
    if capabilities.format == "json_schema":
        schema, strict = strict_schema(request.schema)
        named = {"name": request.task, "schema": schema, "strict": strict}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body
    shown = prompts.load("json_only").render(schema=_compact_json(request.schema))
    messages[0] = {**messages[0], "content": f"{messages[0]['content']}\n\n{shown}"}
    if capabilities.format == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


@cache
def strict_schema(shape: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """Return the JSON schema of a model in the form that strict decoding wants, and whether it can be strict.

    Every object is closed and all its properties are required; an object with free keys cannot be strict.
    """
    schema = shape.model_json_schema(mode="serialization")
    return schema, _close(schema)


@cache
def strict_schema_text(shape: type[BaseModel]) -> str:
    """Return :func:`strict_schema` as text: what the endpoint is asked for, without titles and docstrings."""
    return json.dumps(strict_schema(shape)[0], sort_keys=True, ensure_ascii=False)


def _compact_json(shape: type[BaseModel]) -> str:
    return json.dumps(strict_schema(shape)[0], ensure_ascii=False)


def _close(schema: Any) -> bool:
    """Close the objects of a schema in place; titles and defaults, which only cost tokens, go."""
    if isinstance(schema, list):
        return min(map(_close, schema), default=True)
    if not isinstance(schema, dict):
        return True
    for noise in ("title", "default", "description"):
        if isinstance(schema.get(noise), str | int | float | None):
            schema.pop(noise, None)
    strict = schema.get("type") != "object" or "properties" in schema
    named = [schema.get(group, {}) for group in ("properties", "$defs")]
    below = [inner for group in named for inner in group.values()]
    below += [schema[key] for key in ("items", "anyOf", "allOf", "oneOf", "prefixItems") if key in schema]
    if "properties" in schema:
        schema["additionalProperties"] = False
        schema["required"] = list(schema["properties"])
    # Not all(): it would leave what follows an open object unclosed.
    return min(map(_close, below), default=True) and strict
