"""JSON objects, one a line, of files of any size."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.readers.batches import Account
from graphrag_dagster.apps.interchange.readers.rows import Rows
from graphrag_dagster.apps.interchange.readers.tabular.cells import Column
from graphrag_dagster.apps.interchange.readers.tabular.lines import REPLACED, Lines, beginning_of, lines_of
from graphrag_dagster.kernel.documents.files.records import REPLACEMENT, UnreadableError, plain

_LOOKED_AT = 100


def json_objects(text: str) -> list[dict[str, object]]:
    """Return the objects among the first lines."""
    some = (_object(line) for line in text.split("\n", _LOOKED_AT)[:_LOOKED_AT] if line.lstrip()[:1] == "{")
    return [found for found in some if isinstance(found, dict)]


def json_names(stream: BinaryIO) -> list[str]:
    """Return the names that the first objects have.

    Raises:
        RefusedError: not text.
        UnreadableError: none of the first lines is an object.
    """
    text, _ = beginning_of(stream)
    some = [_object(line) for line in text.split("\n")[:_LOOKED_AT] if line.strip()]
    names = list(dict.fromkeys(name for found in some if isinstance(found, dict) for name in found))
    if not names:
        raise UnreadableError("none of the first lines is a JSON object")
    return names


def json_rows(stream: BinaryIO, record: str, account: Account) -> Iterator[Rows]:
    """Yield the objects of at most 50,000 lines at a time; a line that is none is malformed.

    Raises:
        RefusedError: not text.
        UnreadableError: a line is too long.
    """
    for block in lines_of(stream):
        numbers: list[int] = []
        found: list[dict[str, object]] = []
        repaired: dict[int, str] = {}
        for number, line in enumerate(block.lines, start=block.first):
            if not line or line.isspace():
                continue
            told = _object(line)
            if isinstance(told, str):
                account.malformed(record, number, told, line)
                continue
            numbers.append(number)
            found.append(told)
            if block.damaged and REPLACEMENT in line:
                repaired[number] = REPLACED
        names = dict.fromkeys(name for row in found for name in row)
        columns = {name: _column([row.get(name) for row in found]) for name in names}
        yield Rows(pl.Series(numbers, dtype=pl.Int64), columns, partial(_raw, block, numbers), repaired)


def _raw(block: Lines, numbers: Sequence[int], place: int) -> str:
    return block.lines[numbers[place] - block.first]


def _column(cells: list[object]) -> Column:
    kinds = set(map(type, cells)) - {type(None)}
    return pl.Series(cells, dtype=pl.String) if kinds == {str} else cells


def _object(line: str) -> dict[str, object] | str:
    """Return the object, or why it is none."""
    try:
        found = parsed(line)
        # Escapes may stand for what no text may hold.
        found = plain(found) if "\\u" in line or "Infinity" in line or "NaN" in line else found
    except UnreadableError as error:
        return str(error)
    return found if isinstance(found, dict) else "no JSON object"


def parsed(text: str) -> object:
    """Return the value of JSON.

    Raises:
        UnreadableError: not JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise UnreadableError("JSON that is nested too deeply") from error
    except ValueError as error:
        raise UnreadableError(f"not valid JSON: {str(error).split(';')[0]}") from error
