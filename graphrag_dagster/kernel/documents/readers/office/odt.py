"""Documents and presentations in the open document format (odt, odp)."""

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    SourceFile,
    UnreadableError,
    clean,
    note_of_counts,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.office.xml_packages import (
    Package,
    first_heading,
    holding,
    number_in,
    row,
)

#: Not shown: deleted text, declarations, and what repeats what the text says.
_NOT_SHOWN = frozenset(
    {
        "text:tracked-changes",
        "text:sequence-decls",
        "text:variable-decls",
        "text:user-field-decls",
        "office:forms",
    }
    | {
        "text:table-of-content-source",
        "text:alphabetical-index-source",
        "presentation:settings",
        "text:soft-page-break",
    }
    | {"text:page-number", "text:page-count", "office:binary-data", "text:ruby-text", "text:note-citation"}
)
_MOST_REPEATED = 50


def read_odt(data: bytes, source: SourceFile) -> Reading:
    """Read a document of LibreOffice: headings, paragraphs, lists, tables, frames, notes and comments.

    Raises:
        UnreadableError: damaged, protected by a password, or unpacking to more than ``files.max_bytes``.
    """
    package = Package(data, source, "open document")
    if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise UnreadableError("protected by a password; save it without one")
    writing = _OdtText()
    root = package.xml("content.xml")
    body = next((one for one in root.iter("office:body")), root)
    text = clean("\n\n".join(filter(None, [*writing.blocks(body), *writing.notes])))
    properties = package.properties("meta.xml", _PROPERTIES)
    title = properties.pop("title", None) or first_heading(text)
    record = FileRecord(text, title=title, metadata=properties)
    return Reading(
        (record,),
        None,
        note_of_counts("not in the text", writing.missing),
        note_of_counts("without text", writing.unsaid),
    )


_PROPERTIES = {
    "dc:title": "title",
    "meta:initial-creator": "author",
    "dc:creator": "author",
    "dc:subject": "subject",
    "meta:creation-date": "created",
}


class _OdtText:
    """A text on its way: ``notes`` to stand at its end, and counts of what is not in it."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.missing: Counter[str] = Counter()
        self.unsaid: Counter[str] = Counter()
        self._asides: list[str] = []

    def blocks(self, element: Element, level: int = 0) -> Iterator[str]:
        for one in element:
            tag = one.tag
            if tag == "text:h":
                mark = "#" * number_in(one.get("text:outline-level"), 6, 1)
                yield f"{mark} {' '.join(self._line(one).split())}"
            elif tag == "text:p":
                yield self._line(one)
            elif tag == "text:list":
                yield "\n".join(self._items(one, level))
            elif tag == "table:table":
                yield self._table(one)
            elif tag == "office:annotation":
                self._comment(one)
            elif tag not in _NOT_SHOWN:
                self._look_at(one)
                yield from self.blocks(one, level)
            yield from self._taken()

    def _taken(self) -> list[str]:
        asides, self._asides = self._asides, []
        return asides

    def _look_at(self, element: Element) -> None:
        if element.tag in ("draw:object", "draw:object-ole", "draw:plugin", "draw:applet"):
            self.missing[f"embedded {element.tag.partition(':')[2]}"] += 1
        elif element.tag == "draw:image":
            self.unsaid["picture"] += 1

    def _items(self, element: Element, level: int) -> Iterator[str]:
        for item in element:
            inner = [block for block in self.blocks(item, level + 1) if block]
            for place, block in enumerate(inner):
                nested = block.lstrip().startswith("- ") and place > 0
                yield block if nested else f"{'  ' * level}- {' '.join(block.split())}"

    def _table(self, table: Element) -> str:
        rows = []
        for line in _rows(table):
            cells: list[str] = []
            for cell in line:
                if cell.tag in ("table:table-cell", "table:covered-table-cell"):
                    cells += [" ".join(self.blocks(cell))] * number_in(
                        cell.get("table:number-columns-repeated"), _MOST_REPEATED, 1
                    )
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                rows += [row(cells)] * number_in(line.get("table:number-rows-repeated"), _MOST_REPEATED, 1)
        return "\n".join(rows)

    def _line(self, element: Element) -> str:
        parts: list[str] = []
        self._inline(element, parts)
        return "\n".join(" ".join(line.split()) for line in "".join(parts).split("\n")).strip()

    def _inline(self, element: Element, parts: list[str]) -> None:
        parts.append((element.text or "").replace("\n", " "))
        for one in element:
            if one.tag in ("text:s", "text:tab"):
                parts.append(" ")
            elif one.tag == "text:line-break":
                parts.append("\n")
            elif one.tag == "text:note":
                self._note(one, parts)
            elif one.tag == "office:annotation":
                self._comment(one)
            elif one.tag.startswith(("draw:", "table:")):
                self._look_at(one)
                before, self._asides = self._asides, []
                self._asides = [*before, *list(self.blocks(holding(one)))]
            elif one.tag == "text:ruby":
                base, said = (
                    next((self._line(x) for x in one if x.tag == name), "")
                    for name in ("text:ruby-base", "text:ruby-text")
                )
                parts.append(f"{base}({said})" if said else base)
            elif one.tag not in _NOT_SHOWN:
                self._inline(one, parts)
            parts.append((one.tail or "").replace("\n", " "))

    def _note(self, note: Element, parts: list[str]) -> None:
        mark = " ".join("".join(one.itertext()) for one in note if one.tag == "text:note-citation").strip()
        parts.append(f"[{mark}]")
        body = " ".join(block for one in note if one.tag == "text:note-body" for block in self.blocks(one))
        self.notes.append(f"[{mark}] {body}")

    def _comment(self, comment: Element) -> None:
        author = next((one_line(one.text) for one in comment.iter("dc:creator")), None)
        text = " ".join(self.blocks(comment))
        self.notes.append(f"Comment{f' by {author}' if author else ''}: {text}" if text else "")


def _rows(table: Element) -> Iterator[Element]:
    """The rows of a table, but none of a table in one of its cells."""
    for one in table:
        if one.tag == "table:table-row":
            yield one
        elif one.tag in ("table:table-header-rows", "table:table-rows", "table:table-row-group"):
            yield from _rows(one)
