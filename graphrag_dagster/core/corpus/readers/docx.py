"""Word documents (docx)."""

import html
import io
import re
import zipfile

from graphrag_dagster.core.corpus.readers.html import parse, to_text
from graphrag_dagster.core.corpus.records import Reading, Record, Source, UnreadableError, one_line

#: A ZIP archive can hold far more than its own size; beyond this it is not unpacked.
MAX_UNPACKED_BYTES = 1_000_000_000

_PROPERTY = r"<(?:\w+:)?{name}\b[^>]*>(.*?)</(?:\w+:)?{name}>"


def read_docx(data: bytes, _source: Source) -> Reading:
    """Read a Word document: headings, paragraphs, lists, tables and notes; deleted text is left out.

    Raises:
        UnreadableError: damaged, protected by a password, or unpacking to more than a gigabyte.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableError("an old .doc file or protected by a password; save it as .docx without one")
    import mammoth

    properties = _properties(data)
    try:
        images = mammoth.images.img_element(lambda _image: {})
        markup = mammoth.convert_to_html(io.BytesIO(data), convert_image=images).value
    # The library lets whatever a damaged archive provokes pass through.
    except Exception as error:
        raise UnreadableError(f"not a readable Word document: {error}") from error
    text = to_text(parse(markup))
    title = properties.pop("title", None) or _heading(text)
    return Reading((Record(text, title=title, metadata=properties),))


def _properties(data: bytes) -> dict[str, str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > MAX_UNPACKED_BYTES:
                raise UnreadableError(f"unpacks to {unpacked:,} bytes, more than {MAX_UNPACKED_BYTES:,}")
            if "docProps/core.xml" not in archive.namelist():
                return {}
            xml = archive.read("docProps/core.xml").decode("utf-8", "replace")
    # zlib, zipfile and NotImplementedError for unknown compressions.
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError) as error:
        raise UnreadableError(f"not a readable Word document: {error}") from error
    wanted = {"title": "title", "author": "creator", "created": "created", "subject": "subject"}
    found = {role: re.search(_PROPERTY.format(name=name), xml, re.DOTALL) for role, name in wanted.items()}
    values = {role: one_line(html.unescape(match[1])) for role, match in found.items() if match}
    return {role: value for role, value in values.items() if value}


def _heading(text: str) -> str | None:
    first = re.search(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return one_line(first[1]) if first else None
