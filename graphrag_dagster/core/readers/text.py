"""Plain text, and what is plain text but has a form of its own: exports of chats, and captions."""

import re

from graphrag_dagster.core.files.decoding import Decoded, decode
from graphrag_dagster.core.files.records import Reading, Record, Source
from graphrag_dagster.core.readers.chat_logs import read_chat_log

_JSON = re.compile(r"\s*+(?:\{|\[\s*+\{)\s*+\"")


def read_text(data: bytes, source: Source) -> Reading:
    """Read a text file as it is: only line ends and a byte order mark are changed.

    An export of a chat, and captions of a film, are told by what they hold and read as what they are.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    return _of_a_form(decoded, source) or Reading((Record(decoded.text),), decoded.encoding, decoded.notes)


def _of_a_form(decoded: Decoded, source: Source) -> Reading | None:
    if decoded.text.startswith("WEBVTT"):
        from graphrag_dagster.core.readers.captions import read_cues

        return read_cues(decoded)
    if _JSON.match(decoded.text):
        from graphrag_dagster.core.readers.jsons import read_conversations

        return read_conversations(decoded, source)
    return read_chat_log(decoded, source)
