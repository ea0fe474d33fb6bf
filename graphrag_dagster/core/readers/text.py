"""Plain text, and what is plain text but has a form of its own: exports of chats, and captions."""

import json

from graphrag_dagster.core.files.decoding import Decoded, decode
from graphrag_dagster.core.files.records import Reading, Record, Source, UnreadableError


def read_text(data: bytes, source: Source) -> Reading:
    """Read a text file as it is: only line ends and a byte order mark are changed.

    An export of a chat, and captions of a film, are told by what they hold and read as what they are.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    return _of_a_form(decoded, source) or Reading((Record(decoded.text),), decoded.encoding, decoded.notes)


def _of_a_form(decoded: Decoded, source: Source) -> Reading | None:
    from graphrag_dagster.core.readers.captions import read_cues
    from graphrag_dagster.core.readers.chat_exports import read_export
    from graphrag_dagster.core.readers.chat_logs import read_chat_log

    head = decoded.text[:200].lstrip()
    if head.startswith("WEBVTT"):
        return read_cues(decoded)
    if head.startswith(("{", "[{")):
        try:
            return read_export(json.loads(decoded.text), decoded, source)
        except (ValueError, RecursionError, UnreadableError):
            return None
    return read_chat_log(decoded, source)
