"""What is wrong with settings, said so that it can be mended: line, key, allowed values."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from graphrag_dagster.core.printable import shortened
from graphrag_dagster.settings.credentials import CREDENTIAL, KEYS_STAND, looks_like_a_key, names_a_key
from graphrag_dagster.settings.yaml_file import Location

_MOST_SHOWN = 3
_LONGEST_FOUND = 80
_LONGEST_KEY = 40
_LONGEST_TOLD = 250
_MEANT = {
    "model_type": "should be a section, with keys below it",
    "dict_type": "should be a mapping, with keys below it",
    "list_type": "should be a list",
    "tuple_type": "should be a list",
    "string_type": "should be text; put it in quotes",
    "missing": "is needed here",
}


def told_of(
    details: Sequence[Mapping[str, Any]], root: type[BaseModel], lines: Mapping[Location, int]
) -> str:
    """Return the first problems as one line, each with its line in the file where that is known.

    Args:
        details: the errors of a pydantic ``ValidationError``.
        root: the model that was validated.
        lines: the line of every value in the file.
    """
    shown = [f"{_line(detail['loc'], lines)}{_problem(detail, root)}" for detail in details[:_MOST_SHOWN]]
    more = len(details) - len(shown)
    return "; ".join(shown) + (f"; and {more:,} more problems" if more else "")


def _problem(detail: Mapping[str, Any], root: type[BaseModel]) -> str:
    *above, last = location = tuple(part for part in detail["loc"] if part != "[key]") or ("settings",)
    key = ".".join(
        "…" if looks_like_a_key(str(part)) else shortened(str(part), _LONGEST_KEY) for part in location
    )
    if detail["type"] == CREDENTIAL:
        return f"{key} {detail['msg']}"
    if detail["type"] == "extra_forbidden" and "model" in location and names_a_key(str(last)):
        return f"{key} is not a setting; {KEYS_STAND}"
    if detail["type"] == "extra_forbidden":
        known = _allowed(root, above)
        near = get_close_matches(str(last)[:_LONGEST_FOUND], known, 1)
        meant = f"; did you mean {near[0]}?" if near else ";"
        return f"{key} is not a setting{meant} allowed here: {', '.join(known)}"
    found = _found(location, detail["input"])
    if detail["type"] == "literal_error":
        is_that = f"{key} is {found}" if found else f"{key} is something else"
        return f"{is_that}; allowed: {detail['ctx']['expected']}"
    message = _MEANT.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    told = shortened(message.replace("Input should", "should"), _LONGEST_TOLD)
    return f"{key}: {told}" + (f" (found {found})" if found else "")


def _line(location: Location, lines: Mapping[Location, int]) -> str:
    for depth in range(len(location), 0, -1):
        if line := lines.get(location[:depth]):
            return f"line {line}: "
    return ""


def _found(location: Location, value: object) -> str:
    """A value as it is shown; empty where it may be a credential or tells nothing."""
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return ""
    hidden = location[0] == "model" or names_a_key(str(location[-1]))
    if isinstance(value, str) and (hidden or looks_like_a_key(value)):
        return ""
    return shortened(repr(value), _LONGEST_FOUND)


def _allowed(root: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys of the section at a place, which may lie inside of mappings and lists."""
    here: Any = root
    for part in location:
        model = _model_in(here)
        fields = model.model_fields if model else {}
        # A key of a mapping, or a place in a list: what it holds is what the annotation holds.
        here = fields[part].annotation if isinstance(part, str) and part in fields else here
    found = _model_in(here)
    return sorted(found.model_fields) if found else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if issubclass(annotation, BaseModel) else None
    found = (_model_in(inner) for inner in get_args(annotation))
    return next((model for model in found if model), None)
