"""The page on the HTTP API, made of the service's OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings

_HEAD = """\
# HTTP API

Made of the OpenAPI document of the service by `make docs`; a running one serves it at `/openapi.json`.
[Serving](serving.md) says how to start it, who may ask, and what its limits are.
"""
_REFERENCE = "#/components/schemas/"

Schema = Mapping[str, Any]


def http_reference() -> str:
    """Every route with its parameters, body and answers, and the objects they are made of."""
    document = make_app(ServiceSettings()).openapi()
    parts = [_HEAD, "## Routes\n"]
    for path, methods in document["paths"].items():
        parts += ["\n".join(_route(path, method, operation)) for method, operation in methods.items()]
    parts.append("## Objects\n")
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    parts += ["\n".join(_object(name, schemas[name])) for name in sorted(schemas)]
    return "\n".join(parts)


def _route(path: str, method: str, operation: Schema) -> Iterator[str]:
    yield f"### {method.upper()} {path}\n"
    yield _prose(operation.get("description") or operation.get("summary", "")) + "\n"
    if parameters := operation.get("parameters"):
        yield "| parameter | in | type | meaning |\n| --- | --- | --- | --- |"
        for one in parameters:
            needed = "" if one.get("required") else " or nothing"
            told = _cell(one.get("description") or one["schema"].get("description", ""))
            yield f"| `{one['name']}` | {one['in']} | {_type(one['schema'])}{needed} | {told} |"
        yield ""
    if body := operation.get("requestBody"):
        yield f"Body: {_content(body)}\n"
    answers = {code: _content(one) or one["description"] for code, one in operation["responses"].items()}
    failing = [code for code in answers if code >= "400"]
    good = [f"{code}: {told}" for code, told in answers.items() if code < "400"]
    yield "; ".join(["Answers: " + ", ".join(good), *_failures(failing, answers)]) + ".\n"


def _failures(codes: list[str], answers: Mapping[str, str]) -> Iterator[str]:
    for told in dict.fromkeys(answers[code] for code in codes):
        yield f"{', '.join(code for code in codes if answers[code] == told)}: {told}"


def _content(holder: Schema) -> str:
    return " or ".join(
        f"{_type(one['schema'])} as `{kind}`" if one.get("schema") else f"`{kind}`"
        for kind, one in holder.get("content", {}).items()
    )


def _object(name: str, schema: Schema) -> Iterator[str]:
    yield f"### {name}\n"
    if told := _prose(schema.get("description", "")):
        yield told + "\n"
    if properties := schema.get("properties"):
        yield "| field | type | meaning |\n| --- | --- | --- |"
        for field, one in properties.items():
            default = f"; default `{one['default']}`" if one.get("default") not in (None, "", [], {}) else ""
            yield f"| `{field}` | {_type(one)} | {_cell(one.get('description', ''))}{default} |"
        yield ""


def _type(schema: Schema) -> str:
    if reference := schema.get("$ref"):
        name = str(reference).removeprefix(_REFERENCE)
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(one) for one in choices))
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return ", ".join(f"`{value}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(of := schema.get("additionalProperties"), Mapping):
        return f"mapping to {_type(of)}"
    return str(schema.get("type", "anything"))


def _prose(text: str) -> str:
    return " ".join(text.split()).replace("``", "`").replace("<", "&lt;")


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|")
