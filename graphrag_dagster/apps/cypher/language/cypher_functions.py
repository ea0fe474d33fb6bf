"""Functions that a query may call, and how each graph engine calls them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Dialect = Literal["embedded", "neo4j"]

_SAME = (
    *(
        "abs",
        "avg",
        "ceil",
        "coalesce",
        "collect",
        "count",
        "floor",
        "left",
        "length",
        "log10",
        "ltrim",
        "max",
    ),
    *("min", "nodes", "properties", "replace", "reverse", "right", "rtrim", "sign", "size", "sqrt", "sum"),
    *("toLower", "toUpper", "trim"),
)
#: More characters than a text has.
_ALL = 1_000_000_000
#: Functions of many rows, which can leave out values that came before.
_AGGREGATES = frozenset({"avg", "collect", "count", "max", "min", "sum"})
#: How the embedded engine has a function of openCypher, by its name and number of arguments.
_EMBEDDED: Mapping[tuple[str, int], str] = MappingProxyType(
    {
        ("head", 1): "list_extract({0}, 1)",
        ("keys", 1): "keys({0})",
        ("labels", 1): "[label({0})]",
        ("last", 1): "list_extract({0}, -1)",
        ("log", 1): "ln({0})",
        ("relationships", 1): "rels({0})",
        ("round", 1): "round({0}, 0)",
        ("round", 2): "round({0}, {1})",
        ("split", 2): "string_split({0}, {1})",
        ("substring", 2): f"substring({{0}}, {{1}} + 1, {_ALL})",
        ("substring", 3): "substring({0}, {1} + 1, {2})",
        ("tofloat", 1): "CAST({0} AS DOUBLE)",
        ("tointeger", 1): "CAST({0} AS INT64)",
        ("tostring", 1): "CAST({0} AS STRING)",
        ("type", 1): "label({0})",
    }
)
_NEO4J = (
    *("head", "keys", "labels", "last", "log", "relationships", "round", "split"),
    *("substring", "toFloat", "toInteger", "toString", "type"),
)
_NAMED = {name.lower(): name for name in (*_SAME, *_NEO4J)}

#: Names of the functions, for errors and prompts.
FUNCTIONS = tuple(sorted(_NAMED.values(), key=str.lower))


def function_call(name: str, arguments: list[str], dialect: Dialect, *, distinct: bool = False) -> str | None:
    """Return the call of a function; None where there is none of that name and number of arguments."""
    known = _NAMED.get(name.lower())
    if known is None or (distinct and known not in _AGGREGATES):
        return None
    if dialect == "embedded":
        if known in _AGGREGATES and arguments[0] == "null":
            # It does not find the type of a null that stands for itself.
            arguments = ["CAST(null AS INT64)"]
        elif (known, arguments[0]) in {("split", "null"), ("head", "[]"), ("last", "[]")}:
            return "null"
    if distinct:
        arguments = [f"DISTINCT {arguments[0]}", *arguments[1:]]
    own = _EMBEDDED.get((known.lower(), len(arguments))) if dialect == "embedded" else None
    if own:
        return own.format(*arguments)
    if dialect == "embedded" and known not in _SAME:
        return None
    return f"{known}({', '.join(arguments)})"
