"""The objects of a JSON document, whatever its shape, and the typed values of databases in JSON."""

from collections.abc import Callable, Mapping
from typing import Any

from graphrag_dagster.kernel.documents.column_roles import ColumnError, choose_columns, list_columns
from graphrag_dagster.kernel.documents.file_records import SourceFile, UnreadableError
from graphrag_dagster.kernel.documents.readers.conversations import is_message, is_of_model
from graphrag_dagster.kernel.documents.readers.data.stored_dates import iso_date

_DYNAMO = frozenset({"S", "N", "BOOL", "NULL", "L", "M", "SS", "NS", "BS", "B"})


def decode_extended_json(value: Any) -> Any:
    """Return a value with the plain one for each that is written with its type, and an Elasticsearch hit as
    what it was made of.

    >>> decode_extended_json({"_id": {"$oid": "64b0"}, "at": {"$date": {"$numberLong": "1617580800000"}}})
    {'_id': '64b0', 'at': '2021-04-05T00:00:00Z'}
    """
    if isinstance(value, list):
        return [decode_extended_json(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    first = next(iter(value), "")
    if first.startswith("$") and (read := _TYPES.get(first)) and len(value) <= 2:
        return read(value)
    source = value.get("_source")
    if isinstance(source, Mapping) and "_id" in value:
        return {"_id": value["_id"], **decode_extended_json(source)}
    item = value.get("Item")
    if len(value) == 1 and isinstance(item, Mapping) and item and all(map(_is_typed, item.values())):
        return {key: _strip_types(inner) for key, inner in item.items()}
    return {key: decode_extended_json(inner) for key, inner in value.items()}


def _date(value: Mapping[str, Any]) -> Any:
    written = decode_extended_json(value["$date"])
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


def _only_value(value: Mapping[str, Any]) -> Any:
    return decode_extended_json(next(iter(value.values())))


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
    "$ref": lambda value: {key.lstrip("$"): decode_extended_json(inner) for key, inner in value.items()},
    **dict.fromkeys(
        ("$oid", "$uuid", "$symbol", "$numberDecimal", "$code", "$dbPointer", "$regex"), _only_value
    ),
}


def _is_typed(value: object) -> bool:
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _DYNAMO


def _strip_types(value: Any) -> Any:
    if not _is_typed(value):
        return value
    ((kind, inner),) = value.items()
    if kind == "M" and isinstance(inner, Mapping):
        return {key: _strip_types(one) for key, one in inner.items()}
    if kind == "L" and isinstance(inner, list):
        return [_strip_types(one) for one in inner]
    if kind == "NULL":
        return None
    return _number(float if "." in str(inner) else int)({"": inner}) if kind == "N" else inner


_LOOKED_INTO, _DEEPEST = 20, 5


def items_of(content: object, source: SourceFile) -> tuple[list[Any], bool]:
    """Return the objects of a JSON document, and whether the document itself is the only one.

    Raises:
        UnreadableError: it has no list of objects, several, or none with a text.
    """
    if isinstance(content, list):
        if table := table_of(content, source):
            return table, False
        if content and not any(isinstance(item, Mapping) for item in content):
            raise UnreadableError(_shape_problem("a list without objects"))
        return content, False
    if not isinstance(content, Mapping):
        raise UnreadableError(_shape_problem(f"a single {type(content).__name__}"))
    if turned := _transpose(content, source):
        return turned, False
    if _has_text(content, source):
        return [content], True
    lists = _lists_in(content)
    if len(lists) == 1:
        return lists[0], False
    if not lists and (by_id := _objects_by_id(content, source)):
        return by_id, False
    keys = list_columns(list(content)) or "none"
    found = f"with {len(lists)} lists of objects" if lists else "without a list of objects"
    raise UnreadableError(_shape_problem(f"an object {found} and without a text; its keys are {keys}"))


def _lists_in(content: Mapping[str, Any], depth: int = 0) -> list[list[Any]]:
    """The lists of objects of an object; where it has none, those of the objects in it."""
    found = [list(value) for value in content.values() if _is_list_of_objects(value)]
    if found or depth >= _DEEPEST:
        return found
    inner = [value for value in content.values() if isinstance(value, Mapping)][:_LOOKED_INTO]
    return [one for value in inner for one in _lists_in(value, depth + 1)]


def _objects_by_id(content: Mapping[str, Any], source: SourceFile) -> list[Any] | None:
    values = list(content.values())
    objects = [value for value in values if isinstance(value, Mapping)]
    if len(objects) < len(values) and (len(objects) < 2 or names_text(list(content), source)):
        return None
    if not objects or not any(_has_text(value, source) for value in objects[:_LOOKED_INTO]):
        return None
    return [
        value if not isinstance(value, Mapping) else {"id": key, **value} for key, value in content.items()
    ]


def _transpose(content: Mapping[str, Any], source: SourceFile) -> list[Any] | None:
    """The rows of a table that is kept as its columns."""
    names, data = content.get("columns"), content.get("data")
    if isinstance(names, list) and isinstance(data, list):
        return table_of([names, *data], source)
    values = list(content.values())
    if len(values) < 2 or not names_text(list(content), source):
        return None
    if all(isinstance(value, list) and len(value) == len(values[0]) > 1 for value in values):
        return [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]
    if all(isinstance(value, Mapping) and value.keys() == values[0].keys() for value in values):
        return [{name: value[row] for name, value in content.items()} for row in values[0]]
    return None


def table_of(content: list[Any], source: SourceFile) -> list[Any] | None:
    """Return the rows of a list of lists, the first of which names the columns; None for another list."""
    if len(content) < 2 or not all(isinstance(row, list) for row in content):
        return None
    names = content[0]
    if not names or not all(isinstance(name, str) for name in names) or not names_text(names, source):
        return None
    return [dict(zip(names, row, strict=False)) for row in content[1:]]


def names_text(names: list[str], source: SourceFile) -> bool:
    """Return whether one of the columns is known to hold the text."""
    try:
        return bool(choose_columns(source.columns, names, source.path).text)
    except ColumnError:
        return False


def _has_text(content: Mapping[str, Any], source: SourceFile) -> bool:
    try:
        text = content[choose_columns(source.columns, [str(key) for key in content], source.path).text]
    except (ColumnError, KeyError):
        return False
    if isinstance(text, str):
        return True
    if isinstance(text, Mapping):
        return "current_node" in content or _is_rich(text)
    if not isinstance(text, list):
        return False
    return all(isinstance(item, str) for item in text) or _is_speech(text) or all(map(_is_part, text))


def _is_rich(text: Mapping[str, Any]) -> bool:
    """Whether an object is a text with its form: the root of a tree, or words beside something."""
    return isinstance(text.get("type"), str) or any(
        key in text for key in ("ops", "blocks", "root", "text", "value")
    )


def _is_speech(items: list[Any]) -> bool:
    return all(is_message(item) and is_of_model(item) for item in items)


def _is_part(item: object) -> bool:
    return isinstance(item, str) or (isinstance(item, Mapping) and isinstance(item.get("type"), str))


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def other_lists(content: Mapping[str, Any], source: SourceFile) -> list[str]:
    """Return a note on lists of objects that stand beside the text of an object."""
    text = choose_columns(source.columns, [str(key) for key in content], source.path).text
    keys = [key for key, value in content.items() if key != text and _is_list_of_objects(value)]
    return [f"the object has a text itself; its lists {list_columns(keys)} are metadata"] if keys else []


def _shape_problem(found: str) -> str:
    return (
        f"{found}; documents are read from a list of objects, an object that holds exactly one such list, or "
        "an object with a text, whose name tables in corpus.yaml can set"
    )


def is_spoken(value: object) -> bool:
    """Return whether a value is a list of what people say."""
    return isinstance(value, list) and bool(value) and all(map(is_message, value))
