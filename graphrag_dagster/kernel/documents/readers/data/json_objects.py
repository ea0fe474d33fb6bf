"""The objects of a JSON document, and MongoDB's typed values in JSON."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from graphrag_dagster.kernel.documents.column_roles import ColumnError, choose_columns, list_columns
from graphrag_dagster.kernel.documents.file_records import SourceFile, UnreadableError
from graphrag_dagster.kernel.documents.readers.conversations import is_message, is_of_model, message_text
from graphrag_dagster.kernel.documents.readers.data.stored_dates import iso_of_milliseconds

_INTEGER = re.compile(r"-?\d{1,30}")
_LOOKED_INTO, _DEEPEST = 20, 5


def decode_extended_json(value: Any) -> Any:
    """Return a value with the plain one for each that MongoDB writes with its type.

    >>> decode_extended_json({"_id": {"$oid": "64b0"}, "at": {"$date": {"$numberLong": "1617580800000"}}})
    {'_id': '64b0', 'at': '2021-04-05T00:00:00Z'}
    """
    if isinstance(value, list):
        return [decode_extended_json(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    decoded = {key: decode_extended_json(inner) for key, inner in value.items()}
    first = next(iter(decoded), "")
    if len(decoded) > 1 or not first.startswith("$"):
        return decoded
    inner = decoded[first]
    if first in ("$numberLong", "$numberInt") and _INTEGER.fullmatch(str(inner)):
        return int(inner)
    if first == "$date" and isinstance(inner, int):
        return iso_of_milliseconds(inner) or inner
    return inner


def items_of(content: object, source: SourceFile) -> tuple[list[Any], bool]:
    """Return the objects of a JSON document, and whether the document itself is the only one.

    Raises:
        UnreadableError: it has no list of objects, several, or none with a text.
    """
    if isinstance(content, list):
        if content and not any(isinstance(item, Mapping) for item in content):
            raise UnreadableError(_shape_problem("a list without objects"))
        return content, False
    if not isinstance(content, Mapping):
        raise UnreadableError(_shape_problem(f"a single {type(content).__name__}"))
    if _has_text(content, source):
        return [content], True
    lists = _lists_in(content)
    if len(lists) == 1:
        return lists[0], False
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
    if isinstance(text, list):
        return all(map(_is_part, text)) or all(is_message(item) and is_of_model(item) for item in text)
    return isinstance(text, str) or "current_node" in content or bool(message_text(text, Counter()))


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
