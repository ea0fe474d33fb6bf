"""Word documents (docx)."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    SourceFile,
    UnreadableError,
    clean,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.office.docx_styles import Styles
from graphrag_dagster.kernel.documents.readers.office.xml_packages import (
    OfficeText,
    Package,
    choose_alternative,
    drawing_line,
    equation,
    first_heading,
    holding,
    number_in,
    row,
    texts,
)
from graphrag_dagster.kernel.documents.readers.office.xml_packages import child as child_of

#: Said of a text, or struck out of it.
_NOT_SHOWN = frozenset(
    {
        "w:del",
        "w:moveFrom",
        "w:instrText",
        "w:delText",
        "w:delInstrText",
        "w:fldData",
        "w:softHyphen",
        "w:pgNum",
    }
    | {"w:lastRenderedPageBreak", "w:annotationRef", "w:footnoteRef", "w:endnoteRef", "w:separator"}
    | {"w:continuationSeparator", "w:proofErr", "w:bookmarkStart", "w:bookmarkEnd", "w:commentReference"}
)
_SIGNS = {"w:tab": " ", "w:ptab": " ", "w:cr": "\n", "w:br": "\n", "w:noBreakHyphen": "\u2011"}
_PAGE_FIELDS = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES"})
#: Fields that show nothing of their own.
_MUTE_FIELDS = _PAGE_FIELDS | {"XE", "TC", "TA", "RD", "SET", "ASK", "PRIVATE", "ADVANCE"}
_HEX = re.compile(r"[0-9A-Fa-f]{1,4}")
_NO_WORDS = re.compile(r"^\W*(?:page|seite|p|pp|s)?\W*(?:of|von|de|sur|/)?\W*$", re.IGNORECASE)


def read_docx(data: bytes, source: SourceFile) -> Reading:
    """Read a Word document: headings, paragraphs, lists, tables, equations, text boxes, charts and diagrams
    where they stand; then headers and footers, notes and comments. Deleted text is left out, and what cannot
    be read is noted.

    Raises:
        UnreadableError: damaged, protected by a password, or unpacking to more than ``files.max_bytes``.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableError("an old .doc file or protected by a password; save it as .docx without one")
    package = Package(data, source, "Word document")
    word = _Word(package)
    text = word.text()
    properties = word.properties()
    title = properties.pop("title", None) or first_heading(text)
    return Reading((FileRecord(text, title=title, metadata=properties),), None, *word.told())


class _Word(OfficeText):
    """A document on its way to text."""

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self._main = self.main("word/document.xml")
        self._related = package.related(self._main)
        self._part_related = self._related
        self._styles = Styles(self._optional("styles"), self._optional("numbering"))
        # Damaged styles take no words away.
        self.missing.clear()
        self._fields: list[str] = []
        self._asides: list[str] = []

    def text(self) -> str:
        """Return the whole text."""
        root = self.package.xml(self._main)
        self.count_equations(root)
        blocks = [*self._blocks(root), *self._headers_and_footers("\n".join(texts(root, "w:t")))]
        blocks += self._numbered_notes("footnotes", "w:footnote")
        blocks += self._numbered_notes("endnotes", "w:endnote")
        blocks += self._comments()
        return clean(_join_blocks(blocks))

    def _optional(self, kind: str) -> Element | None:
        """The part of that kind, where it is there and whole."""
        name = next((one.target for one in self._related.values() if one.kind == kind), f"word/{kind}.xml")
        return self.part(name) if name in self.package else None

    def _blocks(self, element: Element) -> Iterator[str]:
        for child in element:
            tag = child.tag
            if tag == "w:p":
                yield from self._paragraph(child)
            elif tag == "w:tbl":
                yield from self._table(child)
            elif tag == "w:altChunk":
                self.missing["embedded document"] += 1
            elif tag == "mc:AlternateContent":
                yield from self._blocks(choose_alternative(child))
            elif tag in ("m:oMath", "m:oMathPara"):
                yield equation(child)
            elif tag in ("w:r", "w:t", "w:hyperlink", "w:fldSimple"):
                yield from filter(None, [self._inline_of(child), *self._take_set_aside()])
            elif tag not in _NOT_SHOWN and not tag.endswith("Pr"):
                yield from self._blocks(child)

    def _paragraph(self, paragraph: Element) -> Iterator[str]:
        text = self._inline_of(paragraph)
        if text:
            yield self._styles.with_mark(paragraph, text)
        yield from self._take_set_aside()

    def _set_aside(self, element: Element) -> None:
        before, self._asides = self._asides, []
        blocks = list(self._blocks(element))
        self._asides = [*before, *blocks]

    def _take_set_aside(self) -> list[str]:
        asides, self._asides = self._asides, []
        return asides

    def _inline_of(self, element: Element) -> str:
        parts: list[str] = []
        self._inline(element, parts)
        lines = ("".join(parts)).split("\n")
        return "\n".join(" ".join(line.split()) for line in lines).strip()

    def _inline(self, element: Element, parts: list[str]) -> None:
        for child in element:
            tag = child.tag
            if tag in ("w:t", "a:t", "m:t"):
                parts.append("" if self._is_page_number() else child.text or "")
            elif tag in _SIGNS:
                parts.append(" " if child.get("w:type") in ("page", "column") else _SIGNS[tag])
            elif tag == "w:sym":
                parts.append(self._symbol(child))
            elif tag == "w:fldChar":
                self._field(child)
            elif tag == "w:instrText" and self._fields:
                self._fields[-1] += child.text or ""
            elif tag in ("w:footnoteReference", "w:endnoteReference"):
                parts.append(f"[{child.get('w:id', '')}]")
            elif tag in _NOT_SHOWN or tag.endswith("Pr"):
                continue
            else:
                self._nested(child, parts)

    def _nested(self, child: Element, parts: list[str]) -> None:
        tag = child.tag
        if tag == "mc:AlternateContent":
            self._inline(choose_alternative(child), parts)
        elif tag in ("m:oMath", "m:oMathPara"):
            parts.append(equation(child))
        elif tag in ("w:drawing", "w:pict", "w:object"):
            self._drawing(child)
        elif tag == "w:ruby":
            parts.append("".join(text for base in child.iter("w:rubyBase") for text in texts(base, "w:t")))
            parts += [f"({text})" for reading in child.iter("w:rt") for text in texts(reading, "w:t")]
        elif tag == "w:fldSimple":
            self._fields.append(child.get("w:instr", ""))
            self._inline(child, parts)
            self._fields.pop()
        elif tag in ("w:p", "w:tbl", "w:altChunk"):
            self._set_aside(holding(child))
        elif (
            tag == "w:r"
            and (vanished := child_of(child, "w:rPr", "w:vanish")) is not None
            and vanished.get("w:val") not in ("0", "false")
        ):
            self.unsaid["hidden run"] += bool(list(texts(child, "w:t")))
        else:
            self._inline(child, parts)

    def _is_page_number(self) -> bool:
        """Whether what stands here is the number of a page."""
        return any(_name_of(field) in _PAGE_FIELDS for field in self._fields)

    def _field(self, mark: Element) -> None:
        kind = mark.get("w:fldCharType")
        if kind == "begin":
            self._fields.append("")
        elif kind == "separate" and self._fields:
            self._fields[-1] += "\x00"
        elif kind == "end" and self._fields:
            instruction = self._fields.pop()
            name = _name_of(instruction)
            if "\x00" not in instruction and name and name not in _MUTE_FIELDS:
                self.missing[f"field {name[:20]} without a result"] += 1

    def _symbol(self, symbol: Element) -> str:
        code = int(symbol.get("w:char", ""), 16) if _HEX.fullmatch(symbol.get("w:char", "")) else 0
        # From here on fonts have signs of their own.
        if 0 < code < 0xF000:
            return chr(code)
        self.missing[f"sign of the font {symbol.get('w:font', 'that is not named')[:30]}"] += 1
        return ""

    def _drawing(self, drawing: Element) -> None:
        """Put what stands in a drawing after the paragraph it is anchored in."""
        said = len(self._asides)
        self._add_drawing(drawing)
        described = [
            text for one in drawing.iter() if one.tag in ("wp:docPr", "v:shape", "pic:cNvPr")
            if (text := one_line(one.get("descr") or one.get("alt") or one.get("title")))
        ]  # fmt: skip
        self._asides += dict.fromkeys(described)
        pictures = sum(one.tag in ("pic:pic", "v:imagedata") for one in drawing.iter())
        if len(self._asides) == said and pictures and drawing.tag != "w:object":
            self.unsaid["picture"] += pictures

    def _add_drawing(self, element: Element) -> None:
        for child in element:
            tag = child.tag
            if tag == "mc:AlternateContent":
                self._add_drawing(choose_alternative(child))
            elif tag == "w:txbxContent":
                self._set_aside(child)
            elif tag == "a:p":
                self._asides += filter(None, [drawing_line(child)])
            elif tag in ("c:chart", "dgm:relIds", "cx:chart"):
                self._asides += self.graphic(child, self._part_related)
            elif tag == "v:textpath":
                self._asides += filter(None, [one_line(child.get("string"))])
            elif tag == "o:OLEObject":
                self.missing[f"embedded object {child.get('ProgID', 'of an unknown kind')[:40]}"] += 1
            elif tag not in _NOT_SHOWN:
                self._add_drawing(child)

    def _table(self, table: Element) -> Iterator[str]:
        rows = []
        for line in _below(table, "w:tr"):
            cells = [""] * _columns(child_of(line, "w:trPr", "w:gridBefore"), 0)
            for cell in _below(line, "w:tc"):
                cells.append(" ".join(self._blocks(cell)))
                cells += [""] * (_columns(child_of(cell, "w:tcPr", "w:gridSpan"), 1) - 1)
            rows.append(row(cells))
        if any(one.strip("| ") for one in rows):
            yield "\n".join(rows)

    def _headers_and_footers(self, body: str) -> Iterator[str]:
        """Text of headers and footers, once, except page numbers and what the text itself says."""
        found: dict[str, None] = {}
        said = " ".join(body.split())
        for kind in ("header", "footer"):
            for part in sorted({one.target for one in self._related.values() if one.kind == kind}):
                root = self.part(part) if part in self.package else None
                if root is None:
                    continue
                self._part_related = self.package.related(part)
                found.update(dict.fromkeys(self._blocks(root)))
                self._part_related = self._related
        yield from (
            text for text in found if not _NO_WORDS.match(text) and " ".join(text.split()) not in said
        )

    def _numbered_notes(self, kind: str, tag: str) -> Iterator[str]:
        root = self._optional(kind)
        if root is None:
            return
        self._part_related = self.package.related(f"word/{kind}.xml")
        for note in root.iter(tag):
            if note.get("w:type") in (None, "normal") and (text := " ".join(self._blocks(note))):
                yield f"[{note.get('w:id', '')}] {text}"
        self._part_related = self._related

    def _comments(self) -> Iterator[str]:
        root = self._optional("comments")
        for comment in root.iter("w:comment") if root is not None else ():
            if text := " ".join(self._blocks(comment)):
                author = one_line(comment.get("w:author"))
                yield f"Comment{f' by {author}' if author else ''}: {text}"


def _join_blocks(blocks: list[str]) -> str:
    """Blocks with an empty line between, but for items of a list."""
    parts: list[str] = []
    item = False
    for block in filter(None, blocks):
        was, item = item, bool(_ITEM.match(block))
        parts += ["\n" if was and item else "\n\n", block]
    return "".join(parts[1:])


_ITEM = re.compile(r"^ *(?:-|\w{1,8}\.) ")


def _name_of(instruction: str) -> str:
    words = instruction.replace("\x00", " ").split(maxsplit=1)
    return words[0].upper() if words else ""


def _columns(told: Element | None, otherwise: int) -> int:
    """How many columns something takes, at most 50."""
    return number_in(told.get("w:val"), 50, otherwise) if told is not None else otherwise


def _below(element: Element, name: str) -> Iterator[Element]:
    """Yield the elements of a name, whatever they are wrapped in, but none inside another."""
    for child in element:
        if child.tag == name:
            yield child
        elif child.tag == "mc:AlternateContent":
            yield from _below(choose_alternative(child), name)
        elif child.tag not in _NOT_SHOWN and not child.tag.endswith("Pr"):
            yield from _below(child, name)
