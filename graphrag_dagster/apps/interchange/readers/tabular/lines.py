"""The lines of a text file of any size: its beginning decides the encoding."""

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from graphrag_dagster.apps.interchange.readers.batches import ROWS
from graphrag_dagster.kernel.documents.files.decoding import decode
from graphrag_dagster.kernel.documents.files.records import REPLACEMENT, UnreadableError

_BEGINNING = 1 << 20
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


def beginning_of(stream: BinaryIO) -> tuple[str, str]:
    """Return the text of the first megabyte, and the encoding; the stream is then at its beginning.

    Raises:
        RefusedError: not text.
    """
    sample = stream.read(_BEGINNING)
    whole = len(sample) < _BEGINNING
    stream.seek(0)
    if not whole and b"\x00" not in sample and b"\n" in sample:
        # Not to halve a character of several bytes.
        sample = sample[: sample.rfind(b"\n") + 1]
    decoded = decode(sample)
    return decoded.text, decoded.encoding


def blocks(stream: BinaryIO) -> Iterator[tuple[str, bool]]:
    r"""Yield the text in pieces, line ends as ``\n``, and of each whether bytes in it had to be replaced.

    Raises:
        RefusedError: not text.
    """
    _, encoding = beginning_of(stream)
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
