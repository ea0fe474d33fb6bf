"""Presentations (pptx)."""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    SourceFile,
    UnreadableError,
    clean,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.office.xml_packages import (
    OfficeText,
    Package,
    Related,
    child,
    children,
    choose_alternative,
    drawing_line,
    drawing_paragraphs,
    equation,
    number_in,
    row,
    texts,
)

#: What a layout puts on every slide.
_OF_EVERY_SLIDE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_TITLES = frozenset({"title", "ctrTitle"})


def read_pptx(data: bytes, source: SourceFile) -> Reading:
    """Read a presentation, slide after slide: its title as a heading, texts, tables, charts and diagrams,
    then the speaker's notes and comments. Slides that are hidden are read; what cannot be read is noted.

    Raises:
        UnreadableError: damaged, protected by a password, or unpacking to more than ``files.max_bytes``.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableError("an old .ppt file or protected by a password; save it as .pptx without one")
    package = Package(data, source, "presentation")
    show = _Show(package)
    blocks = [block for slide in show.slides() for block in show.of_slide(slide)]
    text = clean("\n\n".join(filter(None, blocks)))
    properties = show.properties()
    title = properties.pop("title", None)
    if title is None or title.casefold() in ("powerpoint presentation", "presentation", "untitled"):
        title = next((block.lstrip("# ") for block in blocks if block.startswith("# ")), None)
    return Reading((FileRecord(text, title=title, metadata=properties),), None, *show.told())


class _Show(OfficeText):
    """A presentation on its way to text."""

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self._related: Mapping[str, Related] = {}

    def slides(self) -> list[str]:
        """Return the names of the slides in the order in which they are shown."""
        main = self.main("ppt/presentation.xml")
        related = self.package.related(main)
        named = [
            related[key].target
            for one in self.package.xml(main).iter("p:sldId")
            if (key := one.get("r:id", "")) in related
        ]
        found = [name for name in dict.fromkeys(named) if name in self.package]
        self.missing["slide that is missing"] += len(set(named)) - len(found)
        return found

    def of_slide(self, name: str) -> Iterator[str]:
        """Yield what a slide says."""
        root = self.part(name)
        if root is None:
            return
        self._related = self.package.related(name)
        related = list(self._related.values())
        yield from self._shapes(root)
        for one in related:
            if one.kind == "notesSlide" and (notes := self.part(one.target)) is not None:
                said = "\n\n".join(self._shapes(notes))
                yield f"Notes: {said}" if said else ""
            elif one.kind == "comments" and (comments := self.part(one.target)) is not None:
                for comment in comments.iter():
                    if comment.tag.rpartition(":")[2] in ("cm", "comment"):
                        text = " ".join([*texts(comment, "p:text"), *drawing_paragraphs(comment)])
                        yield f"Comment: {text}" if text else ""

    def _shapes(self, element: Element) -> Iterator[str]:
        for one in element:
            tag = one.tag
            if tag == "mc:AlternateContent":
                yield from self._shapes(choose_alternative(one))
            elif tag == "p:sp":
                yield from self._shape(one)
            elif tag == "p:graphicFrame":
                yield from self._frame(one)
            elif tag == "p:pic":
                yield from self._picture(one)
            elif tag == "a:p":
                yield drawing_line(one)
            elif tag == "p:oleObj":
                self.missing[f"embedded object {one.get('progId', 'of an unknown kind')[:40]}"] += 1
            elif tag in ("m:oMath", "m:oMathPara"):
                yield equation(one)
            else:
                yield from self._shapes(one)

    def _shape(self, shape: Element) -> Iterator[str]:
        place = child(shape, "p:nvSpPr", "p:nvPr", "p:ph")
        kind = place.get("type", "") if place is not None else ""
        if kind in _OF_EVERY_SLIDE:
            return
        body = child(shape, "p:txBody")
        lines = [] if body is None else [(_level(one), drawing_line(one)) for one in children(body, "a:p")]
        lines = [(level, text) for level, text in lines if text]
        if kind in _TITLES and lines:
            yield f"# {' '.join(' '.join(text.split()) for _, text in lines)}"
        elif kind in ("", "body", "obj") and place is not None and len(lines) > 1:
            yield "\n".join(f"{'  ' * level}- {' '.join(text.split())}" for level, text in lines)
        else:
            yield from (text for _, text in lines)

    def _frame(self, frame: Element) -> Iterator[str]:
        for table in frame.iter("a:tbl"):
            rows = (
                row(" ".join(drawing_paragraphs(cell)) for cell in children(line, "a:tc"))
                for line in children(table, "a:tr")
            )
            yield "\n".join(rows)
        for one in frame.iter():
            if one.tag in ("c:chart", "cx:chart", "dgm:relIds"):
                yield from self.graphic(one, self._related)
            elif one.tag == "p:oleObj" and one.get("progId"):
                self.missing[f"embedded object {one.get('progId', '')[:40]}"] += 1

    def _picture(self, picture: Element) -> Iterator[str]:
        named = child(picture, "p:nvPicPr", "p:cNvPr")
        described = one_line(named.get("descr")) if named is not None else None
        if described:
            yield described
        else:
            self.unsaid["picture"] += 1


def _level(paragraph: Element) -> int:
    properties = child(paragraph, "a:pPr")
    return number_in(properties.get("lvl"), 8, 0) if properties is not None else 0
