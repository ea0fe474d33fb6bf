"""Replies to small questions that a client asks to learn what an endpoint can do."""

import json
import re
from typing import Any

from support.conversations import limit_of, text_of

_NEEDLE = re.compile(r"\bNEEDLE-[A-Z0-9]+\b")


def probe_reply(body: dict[str, Any]) -> str | None:
    """The reply to a probe, None for what is none.

    Asked to repeat the code words, all of them that stand in the prompt; asked for JSON, data of the shape
    that the schema describes; forced to a single token, " YES".
    """
    texts = [text_of(message) for message in body["messages"]]
    if "Repeat the code words" in texts[-1]:
        return " ".join(word for text in texts for word in _NEEDLE.findall(text))
    if (schema := _schema(body, texts)) is not None:
        return json.dumps(fill(schema, schema))
    return " YES" if body.get("logit_bias") and limit_of(body) == 1 else None


def _schema(body: dict[str, Any], texts: list[str]) -> dict[str, Any] | None:
    """The schema that a reply must follow: that of the request, else one that a message shows."""
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        schema: dict[str, Any] = form["json_schema"]["schema"]
        return schema
    for line in (line for text in texts for line in text.splitlines() if line.startswith("{")):
        try:
            shown = json.loads(line)
        except ValueError:
            continue
        if "properties" in shown or "$ref" in shown:
            return dict(shown)
    return {"type": "object"} if form.get("type") == "json_object" else None


def fill(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Data that follows a JSON schema: the first choice everywhere, nothing that is not required.

    ``root`` is the schema in which references are looked up.
    """
    if "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return fill(target, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for group in ("anyOf", "oneOf", "allOf"):
        if group in schema:
            return fill(schema[group][0], root)
    return _of_type(schema, root)


def _of_type(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    named = schema.get("type", "object" if "properties" in schema else "string")
    kind = named[0] if isinstance(named, list) else named
    if kind == "object":
        properties = schema.get("properties", {})
        return {key: fill(properties.get(key, {}), root) for key in schema.get("required", properties)}
    if kind == "array":
        return [fill(schema.get("items", {}), root)] * max(schema.get("minItems", 1), 1)
    if kind in {"integer", "number"}:
        return min(max(1, schema.get("minimum", 1)), schema.get("maximum", 1))
    return {"boolean": True, "null": None}.get(kind, "text")
