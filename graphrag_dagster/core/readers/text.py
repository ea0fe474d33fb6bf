"""Plain text."""

from graphrag_dagster.core.files.decoding import decode
from graphrag_dagster.core.files.records import Reading, Record, Source


def read_text(data: bytes, _source: Source) -> Reading:
    """Read a text file as it is: only line ends and a byte order mark are changed.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    return Reading((Record(decoded.text),), decoded.encoding, decoded.notes)
