"""Chat requests as an endpoint gets them, made of what it turns out to understand."""

from functools import cache
from typing import Any

from pydantic import BaseModel

from graphrag_dagster import prompts
from graphrag_dagster.core.language.chat.port import ChatRequest
from graphrag_dagster.core.language.chat.replies import holdable
from graphrag_dagster.model_calls.endpoint.abilities import Abilities, thinking_keys
from graphrag_dagster.settings.model import ModelSettings

_BIAS = 100


def chat_body(settings: ModelSettings, request: ChatRequest, abilities: Abilities) -> dict[str, Any]:
    """Return the body of a request to ``/chat/completions``.

    Where the endpoint takes no JSON schema, the schema stands at the end of the first message.
    """
    messages = [{"role": m.role, "content": holdable(m.content)} for m in request.messages]
    body: dict[str, Any] = {
        **settings.extra_body,
        "model": settings.name,
        "messages": messages,
        abilities.limit: request.max_tokens,
        **thinking_keys(settings, abilities),
    }
    if abilities.temperature:
        body["temperature"] = settings.temperature if request.temperature is None else request.temperature
    if settings.top_p is not None:
        body["top_p"] = settings.top_p
    if settings.seed is not None:
        body["seed"] = settings.seed + request.replicate
    if request.forced_tokens and abilities.logit_bias:
        body["logit_bias"] = {str(token): _BIAS for token in request.forced_tokens}
    if request.schema is None:
        return body
    if abilities.format == "json_schema":
        body["response_format"] = {"type": "json_schema", "json_schema": _named(request.task, request.schema)}
        return body
    shown = prompts.load("json_only").render(schema=_compact(request.schema))
    messages[0] = {**messages[0], "content": f"{messages[0]['content']}\n\n{shown}"}
    if abilities.format == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


@cache
def strict_schema(shape: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """Return the JSON schema of a model in the form that strict decoding wants, and whether it can be strict.

    Every object is closed and all its properties are required; an object with free keys cannot be strict.
    """
    schema = shape.model_json_schema()
    return schema, _close(schema)


def _named(task: str, shape: type[BaseModel]) -> dict[str, Any]:
    schema, strict = strict_schema(shape)
    return {"name": task, "schema": schema, "strict": strict}


def _compact(shape: type[BaseModel]) -> str:
    import json

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
