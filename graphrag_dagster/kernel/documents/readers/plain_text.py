"""Plain text, and markup that is read as it stands."""

import re

from graphrag_dagster.kernel.documents.file_records import FileRecord, Reading, SourceFile, one_line
from graphrag_dagster.kernel.documents.readers.captions import read_cues
from graphrag_dagster.kernel.documents.readers.whatsapp import read_chat_log
from graphrag_dagster.kernel.documents.text_decoding import decode

#: The title of an Org or AsciiDoc file, or of one in reStructuredText, which has a line of signs below it.
_TITLE = re.compile(
    r"^(?:(?:#\+title:|=+)[ \t]+(?P<marked>[^=\s].*)|[ \t]*(?P<ruled>\w.*)\n([!-/:-@\[-`{-~])\3{2,}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)


def read_text(data: bytes, source: SourceFile) -> Reading:
    """Read a text file as it is: only line ends and a byte order mark are changed.

    A chat of WhatsApp and captions are told by what they hold and read as what they are.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    if decoded.text.startswith("WEBVTT"):
        return read_cues(decoded)
    chat = read_chat_log(decoded, source)
    return chat or Reading((FileRecord(decoded.text),), decoded.encoding, decoded.notes)


def read_markup(data: bytes, _source: SourceFile) -> Reading:
    """Read a file in reStructuredText, Org or AsciiDoc as it is, with its title.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    title = _TITLE.search(decoded.text)
    record = FileRecord(decoded.text, title=one_line(title["marked"] or title["ruled"]) if title else None)
    return Reading((record,), decoded.encoding, decoded.notes)
