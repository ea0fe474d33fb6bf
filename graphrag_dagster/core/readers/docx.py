"""Word documents (docx)."""

import html
import io
import re
import zipfile

from graphrag_dagster.core.files.records import Reading, Record, Source, UnreadableError, error_line, one_line
from graphrag_dagster.core.readers.html import parse, to_text

_OPENING = r"<(?:\w+:)?+{name}\b[^<>]*+>"
_CLOSING = r"</(?:\w+:)?+{name}>"
_MOST_PROPERTIES = 1_000_000


def read_docx(data: bytes, source: Source) -> Reading:
    """Read a Word document: headings, paragraphs, lists, tables and notes; deleted text is left out.

    Raises:
        UnreadableError: damaged, protected by a password, or unpacking to more than ``files.max_bytes``.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableError("an old .doc file or protected by a password; save it as .docx without one")
    import mammoth

    try:
        properties = _properties(data, source)
        markup = mammoth.convert_to_html(
            io.BytesIO(data),
            convert_image=mammoth.images.img_element(lambda _image: {}),
            include_embedded_style_map=False,
        ).value
    except (UnreadableError, MemoryError):
        raise
    # The library lets whatever a damaged archive provokes pass through.
    except Exception as error:
        raise UnreadableError(f"not a readable Word document: {error_line(error)}") from error
    text, remarks = to_text(parse(markup))
    title = properties.pop("title", None) or _heading(text)
    return Reading((Record(text, title=title, metadata=properties),), remarks=remarks)


def _properties(data: bytes, source: Source) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > source.limits.max_bytes:
            raise UnreadableError(source.limits.beyond("max_bytes", "bytes when unpacked", unpacked))
        if "docProps/core.xml" not in archive.namelist():
            return {}
        with archive.open("docProps/core.xml") as stream:
            xml = stream.read(_MOST_PROPERTIES).decode("utf-8", "replace")
    wanted = {"title": "title", "author": "creator", "created": "created", "subject": "subject"}
    found = {role: one_line(html.unescape(_element(xml, name))) for role, name in wanted.items()}
    return {role: value for role, value in found.items() if value}


def _element(xml: str, name: str) -> str:
    """What stands in the first element of that name, or an empty text."""
    opening = re.search(_OPENING.format(name=name), xml)
    closing = re.compile(_CLOSING.format(name=name)).search(xml, opening.end()) if opening else None
    return xml[opening.end() : closing.start()] if opening and closing else ""


def _heading(text: str) -> str | None:
    first = re.search(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return one_line(first[1]) if first else None
