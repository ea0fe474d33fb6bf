"""Database values in JSON: MongoDB's extended JSON, DynamoDB's typed values."""

from collections.abc import Callable, Mapping
from typing import Any

from graphrag_dagster.kernel.documents.readers.data.dates import iso_date

_DYNAMO = frozenset({"S", "N", "BOOL", "NULL", "L", "M", "SS", "NS", "BS", "B"})


def understood(value: Any) -> Any:
    """Return a value with the plain one for each that is written with its type, and an Elasticsearch hit as
    what it was made of.

    >>> understood({"_id": {"$oid": "64b0"}, "at": {"$date": {"$numberLong": "1617580800000"}}})
    {'_id': '64b0', 'at': '2021-04-05T00:00:00Z'}
    """
    if isinstance(value, list):
        return [understood(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    first = next(iter(value), "")
    if first.startswith("$") and (read := _TYPES.get(first)) and len(value) <= 2:
        return read(value)
    source = value.get("_source")
    if isinstance(source, Mapping) and "_id" in value:
        return {"_id": value["_id"], **understood(source)}
    item = value.get("Item")
    if len(value) == 1 and isinstance(item, Mapping) and item and all(map(_is_typed, item.values())):
        return {key: _untyped(inner) for key, inner in item.items()}
    return {key: understood(inner) for key, inner in value.items()}


def _date(value: Mapping[str, Any]) -> Any:
    written = understood(value["$date"])
    if isinstance(written, str):
        return written
    # Always thousandths of a second, also where so few would be none.
    return iso_date(f"/Date({written})/", "") or written


def _number(read: Callable[[str], Any]) -> Callable[[Mapping[str, Any]], Any]:
    def number(value: Mapping[str, Any]) -> Any:
        written = next(iter(value.values()))
        try:
            return read(str(written)[:400])
        except ValueError:
            return written

    return number


def _only(value: Mapping[str, Any]) -> Any:
    return understood(next(iter(value.values())))


def _binary(value: Mapping[str, Any]) -> str:
    found = next(iter(value.values()))
    found = found.get("base64", "") if isinstance(found, Mapping) else found
    return f"{len(str(found)) * 3 // 4} bytes"


def _timestamp(value: Mapping[str, Any]) -> Any:
    found = value["$timestamp"]
    seconds = found.get("t") if isinstance(found, Mapping) else None
    return iso_date(seconds, "") or found


def _expression(value: Mapping[str, Any]) -> Any:
    found = next(iter(value.values()))
    return f"/{found.get('pattern')}/{found.get('options') or ''}" if isinstance(found, Mapping) else found


_TYPES: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "$date": _date,
    "$numberLong": _number(int),
    "$numberInt": _number(int),
    "$numberDouble": _number(float),
    "$binary": _binary,
    "$timestamp": _timestamp,
    "$regularExpression": _expression,
    "$undefined": lambda _: None,
    "$ref": lambda value: {key.lstrip("$"): understood(inner) for key, inner in value.items()},
    **dict.fromkeys(("$oid", "$uuid", "$symbol", "$numberDecimal", "$code", "$dbPointer", "$regex"), _only),
}


def _is_typed(value: object) -> bool:
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _DYNAMO


def _untyped(value: Any) -> Any:
    if not _is_typed(value):
        return value
    ((kind, inner),) = value.items()
    if kind == "M" and isinstance(inner, Mapping):
        return {key: _untyped(one) for key, one in inner.items()}
    if kind == "L" and isinstance(inner, list):
        return [_untyped(one) for one in inner]
    if kind == "NULL":
        return None
    return _number(float if "." in str(inner) else int)({"": inner}) if kind == "N" else inner
