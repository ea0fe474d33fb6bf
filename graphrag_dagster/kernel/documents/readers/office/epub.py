"""Electronic books (epub)."""

import re
from collections import Counter
from collections.abc import Iterator

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    RefusedError,
    SourceFile,
    UnreadableError,
    note_of_counts,
)
from graphrag_dagster.kernel.documents.readers.html import parse, to_text
from graphrag_dagster.kernel.documents.readers.office.xml_packages import (
    Package,
    resolve_path,
)
from graphrag_dagster.kernel.documents.text_decoding import UNDECODED, decode

_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_PROPERTIES = {"dc:title": "title", "dc:creator": "author", "dc:date": "date", "dc:publisher": "publisher"}
_LOCKED = "META-INF/encryption.xml"


def read_epub(data: bytes, source: SourceFile) -> Reading:
    """Read a book, chapter after chapter in the order of reading; its contents page is left out.

    Raises:
        UnreadableError: damaged, protected, or unpacking to more than ``files.max_bytes``.
    """
    package = Package(data, source, "book")
    missing: Counter[str] = Counter()
    contents = _contents(package)
    properties = package.properties(contents, _PROPERTIES)
    chapters = list(_chapters(package, contents, missing))
    if not any(chapters) and _LOCKED in package:
        raise UnreadableError("protected against copying; only a book without protection can be read")
    text = "\n\n".join(filter(None, chapters))
    title = properties.pop("title", None)
    record = FileRecord(text, title=title, date=properties.pop("date", None), metadata=properties)
    return Reading((record,), None, note_of_counts("not in the text", missing))


def _contents(package: Package) -> str:
    if "META-INF/container.xml" in package:
        for element in package.xml("META-INF/container.xml").iter():
            if element.tag == "rootfile" and (path := element.get("full-path", "")) in package:
                return path
    found = next((name for name in package.names if name.endswith(".opf")), None)
    if found is None:
        raise UnreadableError("not a readable book: it names no contents (.opf)")
    return found


def _chapters(package: Package, contents: str, missing: Counter[str]) -> Iterator[str]:
    root, folder = package.xml(contents), contents.rpartition("/")[0]
    items = {one.get("id", ""): one for one in root.iter("item")}
    order = [items[key] for one in root.iter("itemref") if (key := one.get("idref", "")) in items]
    pages = order or [one for one in items.values() if one.get("media-type") in _PAGES]
    for item in pages:
        name = resolve_path(folder, item.get("href", ""))
        if "nav" in item.get("properties", "").split():
            continue
        try:
            decoded = decode(_without_declaration(package.read(name)), "utf-8")
            missing[UNDECODED] += decoded.replaced
            yield to_text(parse(decoded.text)).text
        except (UnreadableError, RefusedError):
            missing["damaged or protected chapter"] += 1


def _without_declaration(data: bytes) -> bytes:
    """Leave out what the parser of HTML would take for text."""
    return re.sub(rb"\A\s*<\?xml[^>]*\?>", b"", data)
