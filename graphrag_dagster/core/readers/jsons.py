"""JSON documents and JSON lines."""

import json
from collections.abc import Mapping

from graphrag_dagster.core.files.columns import ColumnError, choose, listed
from graphrag_dagster.core.files.decoding import decode
from graphrag_dagster.core.files.records import Places, Reading, Source, UnreadableError, lines_of
from graphrag_dagster.core.readers.rows import Row, columns_of, reading_of_rows


def read_json(data: bytes, source: Source) -> Reading:
    """Read a list of objects, an object that holds exactly one such list, or one object with a text.

    Raises:
        RefusedError: not text.
        UnreadableError: not JSON, another shape, or no column for the text.
    """
    decoded = decode(data)
    if not decoded.text.strip():
        return Reading((), decoded.encoding, decoded.notes)
    try:
        content = json.loads(decoded.text)
    except RecursionError as error:
        raise UnreadableError("JSON that is nested too deeply") from error
    except ValueError as error:
        # What Python says of long numbers ends in advice to programmers.
        raise UnreadableError(f"not valid JSON: {str(error).split(';')[0]}") from error
    items, single = _items(content, source)
    rows = [(number, item) for number, item in enumerate(items) if isinstance(item, Mapping)]
    notes = list(decoded.notes)
    others = Places()
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            others.add(number)
    if others:
        notes.append(f"{len(others)} items of the list are not objects and were left out: {others}")
    if single:
        notes.extend(_other_lists(items[0]))
    return reading_of_rows(rows, columns_of(rows), source, encoding=decoded.encoding, notes=notes)


def read_jsonl(data: bytes, source: Source) -> Reading:
    """Read one document per line; ``row`` counts the lines that hold anything. Broken lines are noted.

    Raises:
        RefusedError: not text.
        UnreadableError: no line is a JSON object, or no column for the text.
    """
    decoded = decode(data)
    rows: list[Row] = []
    broken = Places()
    number = -1
    for line_number, line in enumerate(lines_of(decoded.text), start=1):
        if not line.strip():
            continue
        number += 1
        content = _object(line)
        if content is None:
            broken.add(line_number)
        else:
            rows.append((number, content))
    notes = list(decoded.notes)
    if broken:
        notes.append(f"{len(broken)} lines are not JSON objects and were left out: lines {broken}")
    if not rows:
        if broken:
            raise UnreadableError(f"no line is a JSON object: lines {broken}")
        return Reading((), decoded.encoding, tuple(notes))
    return reading_of_rows(rows, columns_of(rows), source, encoding=decoded.encoding, notes=notes)


def _object(line: str) -> dict[str, object] | None:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _items(content: object, source: Source) -> tuple[list[object], bool]:
    """The objects of a JSON document, and whether the document itself is the only one."""
    if isinstance(content, list):
        if content and not any(isinstance(item, Mapping) for item in content):
            raise UnreadableError(_shape_problem("a list without objects"))
        return content, False
    if not isinstance(content, Mapping):
        raise UnreadableError(_shape_problem(f"a single {type(content).__name__}"))
    if _has_text(content, source):
        return [content], True
    lists = [key for key, value in content.items() if _is_list_of_objects(value)]
    if len(lists) == 1:
        return list(content[lists[0]]), False
    keys = listed(list(content)) or "none"
    found = f"with {len(lists)} lists of objects" if lists else "without a list of objects"
    raise UnreadableError(_shape_problem(f"an object {found} and without a text; its keys are {keys}"))


def _has_text(content: Mapping[str, object], source: Source) -> bool:
    try:
        text = content[choose(source.columns, [str(key) for key in content], source.path).text]
    except ColumnError:
        return False
    return isinstance(text, str) or (isinstance(text, list) and all(isinstance(item, str) for item in text))


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _other_lists(content: object) -> list[str]:
    keys = (
        [key for key, value in content.items() if _is_list_of_objects(value)]
        if isinstance(content, Mapping)
        else []
    )
    return [f"the object has a text itself; its lists {listed(keys)} are metadata"] if keys else []


def _shape_problem(found: str) -> str:
    return (
        f"{found}; documents are read from a list of objects, an object that holds exactly one such list, or "
        "an object with a text, whose name tables in corpus.yaml can set"
    )
