"""Archives of XML parts (docx, pptx, odt, epub), and what they share: equations, charts, diagrams."""

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, NoReturn
from urllib.parse import unquote
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from graphrag_dagster.kernel.documents.file_records import (
    SourceFile,
    UnreadableError,
    error_line,
    note_of_counts,
    one_line,
)

#: Levels that readers, which call themselves, reach in every Python.
_MOST_LEVELS = 250
_MOST_PARTS = 20_000
_OFFICE = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_NAMESPACES = {
    "wordprocessingml/": "w", "drawingml/wordprocessingDrawing": "wp", "drawingml/chart": "c",
    "drawingml/diagram": "dgm", "drawingml/picture": "pic", "drawingml/": "a", "presentationml/": "p",
    "officeDocument/relationships": "r", "officeDocument/math": "m", "markup-compatibility/": "mc",
    "package/relationships": "rel",
}  # fmt: skip
_OTHERS = {
    "urn:schemas-microsoft-com:vml": "v",
    "urn:schemas-microsoft-com:office:office": "o",
    "http://schemas.microsoft.com/office/word/2010/wordprocessingShape": "wps",
    "http://schemas.microsoft.com/office/drawing/2014/chartex": "cx",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://www.w3.org/XML/1998/namespace": "xml",
    f"{_ODF}text:1.0": "text",
    f"{_ODF}table:1.0": "table",
    f"{_ODF}drawing:1.0": "draw",
    f"{_ODF}office:1.0": "office",
    f"{_ODF}presentation:1.0": "presentation",
    f"{_ODF}meta:1.0": "meta",
    f"{_ODF}svg-compatible:1.0": "svg",
}


_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_YEAR = re.compile(r"(?<=/)\d{4}/")


class Related(NamedTuple):
    """A part that another names: the last word of the kind of their relation, and its name or address."""

    kind: str
    target: str
    external: bool


class Package:
    """The parts of an archive.

    Names of elements and attributes are ``prefix:name`` with the usual prefixes of their namespaces, whatever
    the file calls them; those of other namespaces have none.
    """

    def __init__(self, data: bytes, source: SourceFile, what: str) -> None:
        """Open it.

        Raises:
            UnreadableError: no archive, damaged, or unpacking to more than ``files.max_bytes``.
        """
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise UnreadableError(f"not a readable {what}: {error_line(error)}") from error
        entries = self._archive.infolist()
        unpacked = sum(entry.file_size for entry in entries)
        if unpacked > source.limits.max_bytes:
            raise UnreadableError(
                source.limits.over_limit_reason("max_bytes", "bytes when unpacked", unpacked)
            )
        self.names: Mapping[str, zipfile.ZipInfo] = MappingProxyType(
            {entry.filename: entry for entry in entries[:_MOST_PARTS]}
        )
        self._what = what

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def read(self, name: str) -> bytes:
        """Return the bytes of a part.

        Raises:
            UnreadableError: it is missing, damaged, or protected by a password.
        """
        if name not in self.names:
            raise UnreadableError(f"not a readable {self._what}: it has no {name}")
        entry = self.names[name]
        if entry.flag_bits & 1:
            raise UnreadableError("protected by a password; save it without one")
        try:
            return self._archive.read(entry)
        except MemoryError:
            raise
        # The library lets whatever a damaged archive provokes pass through.
        except Exception as error:
            raise UnreadableError(f"not a readable {self._what}: {name}: {error_line(error)}") from error

    def xml(self, name: str) -> Element:
        """Return the root of a part.

        Raises:
            UnreadableError: it is missing, damaged, no XML, or XML that declares entities.
        """
        try:
            return parse_xml(self.read(name))
        except expat.ExpatError as error:
            raise UnreadableError(f"not a readable {self._what}: {name}: {error_line(error)}") from error

    def related(self, part: str = "") -> Mapping[str, Related]:
        """Return what a part, or the package itself, refers to, by id; nothing where that cannot be read."""
        folder, _, name = part.rpartition("/")
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        if place not in self:
            return {}
        try:
            root = self.xml(place)
        except UnreadableError:
            return {}
        found = {}
        for element in root.iter("rel:Relationship"):
            target, external = element.get("Target", ""), element.get("TargetMode") == "External"
            if not external:
                target = resolve_path(folder, target)
            kind = element.get("Type", "").rpartition("/")[2]
            found[element.get("Id", "")] = Related(kind, target, external)
        return found

    def properties(self, part: str, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return what a part says of the document, the first of each role, in the order of the part.

        Args:
            part: its name; nothing is said where it cannot be read.
            wanted: name of an element → role.
        """
        found: dict[str, str] = {}
        try:
            root = self.xml(part)
        except UnreadableError:
            return found
        for element in root.iter():
            value = one_line(element.text)
            if value and element.tag in wanted:
                found.setdefault(wanted[element.tag], value)
        return found


_CORE = {"dc:title": "title", "dc:creator": "author", "dcterms:created": "created", "dc:subject": "subject"}


class OfficeText:
    """A document or presentation of Office on its way to text.

    ``missing`` counts what is not in the text though it should be, ``unsaid`` what has no words.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self.missing: Counter[str] = Counter()
        self.unsaid: Counter[str] = Counter()

    def main(self, usual: str) -> str:
        """Return the name of the part with the document itself."""
        related = self.package.related().values()
        named = next((one.target for one in related if one.kind == "officeDocument"), "")
        return named if named in self.package else usual

    def properties(self) -> dict[str, str]:
        """Return title, author, created and subject as the package says them, where it does."""
        found = self.package.properties("docProps/core.xml", _CORE)
        return {role: found[role] for role in _CORE.values() if role in found}

    def part(self, name: str) -> Element | None:
        """Return a part; None where it is damaged, which is counted."""
        try:
            root = self.package.xml(name)
        except UnreadableError:
            self.missing[f"damaged part {name.rpartition('/')[2]}"] += 1
            return None
        self.count_equations(root)
        return root

    def count_equations(self, root: Element) -> None:
        """Count the equations of a part, whose words are read without their form."""
        self.unsaid["form of an equation"] += sum(1 for _ in root.iter("m:oMath"))

    def graphic(self, named: Element, related: Mapping[str, Related]) -> list[str]:
        """Return what the chart or diagram says that an element names."""
        is_diagram = named.tag == "dgm:relIds"
        found = related.get(named.get("r:dm" if is_diagram else "r:id", ""))
        root = self.part(found.target) if found and found.target in self.package else None
        if root is None:
            self.missing["diagram" if is_diagram else "chart"] += 1
            return []
        return diagram(root) if is_diagram else chart(root)

    def told(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return notes of what is not in the text, and remarks."""
        return note_of_counts("not in the text", self.missing), note_of_counts("without text", self.unsaid)


def resolve_path(folder: str, target: str) -> str:
    """Return the name of a part that another in that folder calls so."""
    target = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def parse_xml(data: bytes) -> Element:
    """Parse XML without entities of its own; names as those of :class:`Package`.

    Raises:
        ExpatError: not well formed.
        UnreadableError: it declares entities, or is nested more than 250 levels deep.
    """
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    builder = TreeBuilder()
    names: dict[str, str] = {}
    level = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal level
        level += 1
        if level > _MOST_LEVELS:
            raise UnreadableError(f"XML nested more than {_MOST_LEVELS} levels deep")
        builder.start(
            _qualified_name(tag, names),
            {_qualified_name(name, names): value for name, value in attributes.items()},
        )

    def end(tag: str) -> None:
        nonlocal level
        level -= 1
        builder.end(_qualified_name(tag, names))

    def refuse(*_: object) -> NoReturn:
        raise UnreadableError("its XML declares entities, which can expand without bound")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    parser.Parse(data, True)
    return builder.close()


def _qualified_name(full: str, known: dict[str, str]) -> str:
    if full not in known:
        namespace, _, name = full.rpartition("}")
        known[full] = f"{prefix}:{name}" if (prefix := _prefix(namespace)) else name
    return known[full]


def _prefix(namespace: str) -> str | None:
    if namespace in _OTHERS:
        return _OTHERS[namespace]
    for root in (_OFFICE, _STRICT):
        if namespace.startswith(root):
            rest = _YEAR.sub("", namespace.removeprefix(root))
            return next((prefix for start, prefix in _NAMESPACES.items() if rest.startswith(start)), None)
    return None


def texts(element: Element, *names: str) -> Iterator[str]:
    """Yield the texts of the elements of these names below one, in their order."""
    for found in element.iter():
        if found.tag in names and found.text:
            yield found.text


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first child of a name, and of that the next, or None."""
    for name in path:
        element = next((one for one in element if one.tag == name), None) if element is not None else None
    return element


def children(element: Element, name: str) -> Iterator[Element]:
    """Yield the children of a name."""
    return (one for one in element if one.tag == name)


def first_heading(text: str) -> str | None:
    """Return the words of the first heading of a text, or None."""
    first = _HEADING.search(text)
    return one_line(first[1]) if first else None


def holding(element: Element) -> Element:
    """Return an element that has that one as its only child."""
    holder = Element("holder")
    holder.append(element)
    return holder


def number_in(text: str | None, most: int, otherwise: int) -> int:
    """Return the number that an attribute says, at most so much; ``otherwise`` where it says none."""
    return min(int(text), most) if text and text.isdecimal() and len(text) < 6 else otherwise


def row(cells: Iterable[str]) -> str:
    """Return a row of a table, each cell on one line."""
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"


def equation(element: Element) -> str:
    """Return the words and signs of an equation of Office in their order, without its form: ``a+b c``."""
    return " ".join(" ".join(texts(element, "m:t", "w:t")).split())


def chart(root: Element) -> list[str]:
    """Return the titles of a chart, and its series as a table: a row per category."""
    titles = [
        "".join(texts(title, "a:t", "c:v", "cx:v")).strip()
        for title in root.iter()
        if title.tag in ("c:title", "cx:title")
    ]
    series = list(root.iter("c:ser"))
    if not series:
        loose = [" ".join(one.split()) for one in texts(root, "cx:pt", "cx:v")]
        return [*filter(None, titles), *(["; ".join(loose)] if loose else [])]
    named = [
        "".join(texts(found, "c:v")) if (found := child(one, "c:tx")) is not None else "" for one in series
    ]
    categories: dict[str, str] = {}
    values: list[dict[str, str]] = []
    for one in series:
        for name in ("c:cat", "c:xVal"):
            for place, text in _points(one, name).items():
                categories.setdefault(place, text)
        values.append(_points(one, "c:val") | _points(one, "c:yVal"))
    places = list(categories | {place: "" for column in values for place in column})
    rows = [
        row(["", *named]),
        *(row([categories.get(p, ""), *(column.get(p, "") for column in values)]) for p in places),
    ]
    return [*filter(None, titles), "\n".join(rows)]


def _points(series: Element, name: str) -> dict[str, str]:
    """Values by place; where categories have several levels, the first of them."""
    found = child(series, name)
    if found is None:
        return {}
    points: dict[str, str] = {}
    for point in found.iter("c:pt"):
        points.setdefault(point.get("idx", ""), "".join(texts(point, "c:v")))
    return points


def diagram(root: Element) -> list[str]:
    """Return what stands in the shapes of a diagram (SmartArt) as a list."""
    items = [" ".join(" ".join(drawing_paragraphs(point)).split()) for point in root.iter("dgm:pt")]
    return ["\n".join(f"- {item}" for item in items if item)] if any(items) else []


def drawing_paragraphs(element: Element) -> list[str]:
    """Return the paragraphs of drawn text."""
    return [text for paragraph in element.iter("a:p") if (text := drawing_line(paragraph))]


def drawing_line(paragraph: Element) -> str:
    """Return the text of one paragraph of drawn text; equations in it on one line."""
    parts: list[str] = []
    _collect(paragraph, parts)
    return "\n".join(" ".join(line.split()) for line in "".join(parts).split("\n")).strip()


def _collect(element: Element, parts: list[str]) -> None:
    for one in element:
        if one.tag == "a:t":
            parts.append(one.text or "")
        elif one.tag == "a:br":
            parts.append("\n")
        elif one.tag == "a:tab":
            parts.append(" ")
        elif one.tag in ("m:oMath", "m:oMathPara"):
            parts.append(equation(one))
        elif one.tag == "mc:AlternateContent":
            _collect(choose_alternative(one), parts)
        else:
            _collect(one, parts)


def choose_alternative(alternate: Element) -> Element:
    """Return that of the alternatives of a place which says something; the newest where several do."""
    options = [one for one in alternate if one.tag in ("mc:Choice", "mc:Fallback")]
    said = [one for one in options if any(text.strip() for text in texts(one, "w:t", "a:t", "m:t"))]
    return [*said, *(one for one in options if len(one)), alternate][0]
