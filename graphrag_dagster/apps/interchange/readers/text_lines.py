"""Lines of text files of any size, and JSON objects, one a line."""

import codecs
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import Column
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ROWS, ReadAccount
from graphrag_dagster.apps.interchange.graph_rows.table_rows import GraphTableRows
from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.documents.file_records import REPLACEMENT, UnreadableError, json_value
from graphrag_dagster.kernel.documents.text_decoding import decode

_SAMPLE_BYTES = 1 << 20
_BLOCK = 1 << 21
_LONGEST_LINE = 10_000_000
#: Why a row was mended.
REPLACED = "characters that are no text were replaced by \ufffd"
_REPLACEMENT_BYTES = REPLACEMENT.encode()


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines without their ends, the first of which has the number ``first``.

    ``damaged``: some bytes were no text and were replaced by U+FFFD. ``last``: the file ends here.
    """

    first: int
    lines: list[str]
    damaged: bool
    last: bool


def sample_of(stream: BinaryIO) -> tuple[str, str]:
    """Return the text of the first megabyte, and the encoding; the stream is then at its beginning.

    Raises:
        RefusedError: not text.
    """
    sample = stream.read(_SAMPLE_BYTES)
    whole = len(sample) < _SAMPLE_BYTES
    stream.seek(0)
    if not whole and b"\x00" not in sample and b"\n" in sample:
        # Not to halve a character of several bytes.
        sample = sample[: sample.rfind(b"\n") + 1]
    decoded = decode(sample)
    return decoded.text, decoded.encoding


def whole_text(stream: BinaryIO, limits: FileLimits) -> str:
    """Return the text of a file that is read as a whole.

    Raises:
        RefusedError: not text.
        UnreadableError: too large.
    """
    data = stream.read(limits.max_bytes + 1)
    if len(data) > limits.max_bytes:
        raise UnreadableError(limits.over_limit_reason("max_bytes", "bytes"))
    return decode(data).text


def blocks(stream: BinaryIO, encoding: str | None = None) -> Iterator[tuple[str, bool]]:
    r"""Yield the text in pieces, line ends as ``\n``, and of each whether bytes in it had to be replaced.

    Args:
        stream: the file, at its beginning.
        encoding: of its text; None for the one that its beginning shows.

    Raises:
        RefusedError: not text.
    """
    encoding = encoding or sample_of(stream)[1]
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    ends = io.IncrementalNewlineDecoder(None, translate=True)
    while True:
        data = stream.read(_BLOCK)
        decoded = decoder.decode(data, final=not data)
        text = ends.decode(decoded, final=not data)
        # Where the file itself has U+FFFD, nothing of it was replaced.
        replaced = text.count(REPLACEMENT) > data.count(_REPLACEMENT_BYTES)
        damaged = replaced or "\x00" in text
        if text:
            yield text.replace("\x00", REPLACEMENT), damaged
        if not data:
            return


def lines_of(stream: BinaryIO) -> Iterator[Lines]:
    """Yield all lines, at most 50,000 at a time.

    Raises:
        RefusedError: not text.
        UnreadableError: a line has more than 10 million characters.
    """
    number, rest, torn = 1, "", False
    for text, damaged in blocks(stream):
        *lines, rest = (rest + text).split("\n")
        if len(rest) > _LONGEST_LINE:
            raise UnreadableError(
                f"line {number + len(lines):,} has more than {_LONGEST_LINE:,} characters; break the file "
                "into lines, one row each"
            )
        for start in range(0, len(lines), ROWS):
            some = lines[start : start + ROWS]
            yield Lines(number, some, damaged or torn, False)
            number += len(some)
        torn = damaged
    yield Lines(number, [rest] if rest else [], torn, True)


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
    text, _ = sample_of(stream)
    some = [_object(line) for line in text.split("\n")[:_LOOKED_AT] if line.strip()]
    names = list(dict.fromkeys(name for found in some if isinstance(found, dict) for name in found))
    if not names:
        raise UnreadableError("none of the first lines is a JSON object")
    return names


def json_rows(stream: BinaryIO, record: str, account: ReadAccount) -> Iterator[GraphTableRows]:
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
        yield GraphTableRows(
            pl.Series(numbers, dtype=pl.Int64), columns, partial(_raw, block, numbers), repaired
        )


def _raw(block: Lines, numbers: Sequence[int], place: int) -> str:
    return block.lines[numbers[place] - block.first]


def _column(cells: list[object]) -> Column:
    kinds = set(map(type, cells)) - {type(None)}
    return pl.Series(cells, dtype=pl.String) if kinds == {str} else cells


def _object(line: str) -> dict[str, object] | str:
    """Return the object, or why it is none."""
    try:
        found = parse_json(line)
        # Escapes may stand for what no text may hold.
        found = json_value(found) if "\\u" in line or "Infinity" in line or "NaN" in line else found
    except UnreadableError as error:
        return str(error)
    return found if isinstance(found, dict) else "no JSON object"


def parse_json(text: str) -> object:
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
