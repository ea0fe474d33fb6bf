"""Types in TypeScript of what the page asks for, made of the service's OpenAPI document."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings

_HEAD = """\
/**
 * What the service answers, made of its OpenAPI document by `make docs`.
 * Offsets of characters count code points, not UTF-16 units.
 */
"""
_REFERENCE = "#/components/schemas/"
_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
#: Routes that the page uses beside those of its own tag.
_ALSO = (("/corpora", "get"), ("/corpora/{corpus}/ask", "post"))

Schema = Mapping[str, Any]


def api_types() -> str:
    """Every type that the page sends or is answered with, by name."""
    document = make_app(ServiceSettings()).openapi()
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    used = list(_operations(document))
    sent = _closed(schemas, (one.get("requestBody", {}) for one in used))
    answered = _closed(schemas, (one["responses"] for one in used))
    names = sorted({*sent, *answered})
    return _HEAD + "".join(_declared(name, schemas[name], optional=name not in answered) for name in names)


def _operations(document: Schema) -> Iterator[Schema]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "explorer" in operation.get("tags", ()) or (path, method) in _ALSO:
                yield operation


def _closed(schemas: Mapping[str, Schema], roots: Iterable[object]) -> set[str]:
    """The names that are referred to, directly or by others."""
    found: set[str] = set()
    waiting = [name for root in roots for name in _referred(root)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _referred(schemas[name])
    return found


def _referred(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inside in value.items():
            if key == "$ref":
                yield str(inside).removeprefix(_REFERENCE)
            else:
                yield from _referred(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _referred(inside)


def _declared(name: str, schema: Schema, *, optional: bool) -> str:
    comment = _comment(schema.get("description", ""), "")
    if "properties" not in schema:
        return f"\n{comment}export type {name} = {_type(schema)};\n"
    required = schema.get("required", [])
    lines = [f"\n{comment}export interface {name} {{\n"]
    for key, inside in schema["properties"].items():
        # What has a default may be left out of what is sent; in what is answered it is always there.
        mark = "?" if optional and key not in required else ""
        lines.append(f"{_comment(inside.get('description', ''), '  ')}  {key}{mark}: {_type(inside)};\n")
    if schema.get("additionalProperties") is True:
        lines.append("  [key: string]: unknown;\n")
    return "".join((*lines, "}\n"))


def _comment(text: str, indent: str) -> str:
    lines = text.replace("*/", "* /").splitlines()
    if not lines:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return "".join(
        (f"{indent}/**\n", *(f"{indent} * {line}".rstrip() + "\n" for line in lines), f"{indent} */\n")
    )


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REFERENCE)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(_type(one) for one in schema[key]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    kind = schema.get("type")
    if kind == "array":
        return _array(schema)
    if kind == "object":
        values = schema.get("additionalProperties", True)
        return f"Record<string, {_type(values) if isinstance(values, Mapping) else 'unknown'}>"
    return _SCALARS[kind] if kind else "unknown"


def _array(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    inside = _type(schema.get("items", {}))
    return f"({inside})[]" if " | " in inside else f"{inside}[]"
