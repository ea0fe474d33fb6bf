"""Graphs in XML of any size, element by element: GraphML and GEXF."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO
from xml.parsers import expat

from graphrag_dagster.apps.interchange.graph_rows.cell_values import LONGEST_TEXT, parse_cell, to_json
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GUESSED, GraphColumns
from graphrag_dagster.apps.interchange.graph_rows.graph_elements import (
    EDGE,
    NODE,
    Declared,
    Element,
    batches_of,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ANY, ROWS, ImportBatch, ReadAccount
from graphrag_dagster.kernel.documents.file_records import RefusedError, UnreadableError, clean, json_value

_PIECE, _MOST_CHARACTERS = 1 << 18, 1 << 25
_MOST_LEVELS = 200


class XmlReader(Declared, ABC):
    """What the parser tells of; finished nodes and edges are taken away in batches.

    A reader of a format says what its elements mean by :meth:`begin` and :meth:`end`.
    """

    #: The outermost element, and what the format is called.
    root = format = ""

    def __init__(self, account: ReadAccount) -> None:
        super().__init__()
        self.account = account
        self.elements: list[Element] = []
        #: Characters of the texts of these.
        self.size = 0
        self.path: list[str] = []
        self._text: list[str] | None = None
        self._length = 0

    @abstractmethod
    def begin(self, tag: str, told: Mapping[str, str]) -> None:
        """An element begins; it is the last of ``path``."""

    @abstractmethod
    def end(self, tag: str) -> None:
        """An element ends; it is the last of ``path``."""

    def begin_text(self) -> None:
        """Take the text that follows."""
        self._text, self._length = [], 0

    def taken_text(self) -> tuple[str | None, bool]:
        """Return the text since it was begun, None where it was not, and whether it was too long and cut."""
        text = None if self._text is None else "".join(self._text)
        self._text = None
        return text, self._length > LONGEST_TEXT

    def parser(self) -> expat.XMLParserType:
        """Return a parser that tells this reader."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse
        parser.ExternalEntityRefHandler = _refuse
        parser.SkippedEntityHandler = _refuse
        return parser

    def _start(self, name: str, told: Mapping[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if not self.path and tag != self.root:
            raise UnreadableError(f"not {self.format}: its outermost element is {name[:60]}")
        self.path.append(tag)
        if len(self.path) > _MOST_LEVELS:
            raise UnreadableError(f"elements are nested more than {_MOST_LEVELS} levels deep")
        self.begin(tag, told)

    def _end(self, _: str) -> None:
        self.end(self.path[-1])
        self.path.pop()

    def _characters(self, text: str) -> None:
        if self._text is None:
            return
        if self._length <= LONGEST_TEXT:
            self._text.append(text[: LONGEST_TEXT - self._length])
        self._length += len(text)
        self.size += min(len(text), LONGEST_TEXT)


def xml_batches(
    stream: BinaryIO, reader: XmlReader, graph: str, account: ReadAccount, given: GraphColumns = GUESSED
) -> Iterator[ImportBatch]:
    """Yield the nodes as entities and the edges as relations; rows are nodes and edges, counted from 1.

    Of ``given`` those columns count that are attributes of the file.

    Raises:
        RefusedError: it declares entities.
        UnreadableError: not of the reader's format, or broken XML.
    """
    parser = reader.parser()
    while True:
        piece = stream.read(_PIECE)
        try:
            parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            raise UnreadableError(f"broken XML: {error}; write the file again, or mend it there") from error
        except (LookupError, ValueError) as error:
            raise UnreadableError(f"XML in an encoding that cannot be read: {error}") from error
        if not piece or len(reader.elements) > ROWS // 2 or reader.size > _MOST_CHARACTERS:
            elements, reader.elements, reader.size = reader.elements, [], 0
            yield from batches_of(elements, graph, account, reader, given)
        if not piece:
            return


def _refuse(*_: object) -> int:
    raise RefusedError(
        "it declares or uses entities of XML, which may be made to fill the memory or to read other files; "
        "remove its DOCTYPE"
    )


def typed(kind: str, text: str | None) -> tuple[object, bool]:
    """Return a text as the type that was declared, and whether it is of that."""
    told = (text or "").strip()
    try:
        if kind in ("int", "long", "integer", "short") and told:
            return int(told), True
        if kind in ("float", "double") and told:
            number = float(told)
            # JSON has no infinity.
            return (number, True) if abs(number) <= 1.8e308 and number == number else (told, True)
        if kind == "boolean" and told:
            return {"true": True, "1": True, "false": False, "0": False}[told.lower()], True
    except (ValueError, KeyError):
        return clean(text or ""), False
    return (clean(text) if text else None), True


#: Elements of the drawings of yEd that hold what is written on a node or edge.
_WRITTEN = ("NodeLabel", "EdgeLabel")
_GROUP = "group"


def graphml_batches(
    stream: BinaryIO, graph: str, account: ReadAccount, given: GraphColumns = GUESSED
) -> Iterator[ImportBatch]:
    """Yield nodes and edges: :func:`.xml_elements.xml_batches`, which says how it fails.

    Nodes within a node, as yEd's groups have them, are nodes with the id of it as attribute ``group``.
    """
    return xml_batches(stream, _GraphMLReader(account), graph, account, given)


@dataclass(frozen=True, slots=True)
class _Key:
    """An attribute that a file declares."""

    name: str
    kind: str
    of: str
    default: str | None = None
    many: bool = False


class _GraphMLReader(XmlReader):
    root, format = "graphml", "GraphML"

    def __init__(self, account: ReadAccount) -> None:
        super().__init__(account)
        self._rows = 0
        self._keys: dict[str, _Key] = {}
        self._declared: Mapping[str, str] = {}
        self._default: str | None = None
        #: Nodes and edges that are being read, one within the other.
        self._open: list[Element] = []
        self._data: str | None = None
        #: Depth at which what is left out began, its row, what it is and how it began.
        self._left_out: tuple[int, int, str, Mapping[str, str]] | None = None

    def names(self, of: str) -> list[str]:
        """Return the attributes that nodes or edges may have."""
        return list(dict.fromkeys(key.name for key in self._keys.values() if key.of in (of, "all", "")))

    def defaults(self, of: str) -> dict[str, object]:
        """Return what an attribute of nodes or edges is where nothing is told."""
        with_default = (key for key in self._keys.values() if key.of in (of, "all", ""))
        return {key.name: typed(key.kind, key.default)[0] for key in with_default if key.default is not None}

    def begin(self, tag: str, told: Mapping[str, str]) -> None:
        """An element begins."""
        if self._left_out:
            return
        if self._data is not None:
            if tag in _WRITTEN:
                self.begin_text()
        elif tag == "data" or (tag == "default" and self._declared):
            self._data = told.get("key", "")
            self.begin_text()
        elif tag == "key":
            self._declared, self._default = told, None
        elif tag == "graph" and not self._open:
            self.directed = told.get("edgedefault") != "undirected"
        elif tag in ("node", "edge", "hyperedge"):
            self._begin(tag, told)

    def _begin(self, tag: str, told: Mapping[str, str]) -> None:
        self._rows += 1
        around = self._open[-1] if self._open else None
        if tag == "hyperedge" or (around and around.tag == "edge"):
            inside = f" inside {around.tag} {str(around.told.get('id', ''))[:60]!r}" if around else ""
            self._left_out = (len(self.path), self._rows, f"a {tag}{inside}", told)
            return
        element = Element(tag, self._rows, told)
        if around and tag == "node":
            element.data[_GROUP] = around.told.get("id")
        self._open.append(element)

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._left_out:
            if self._left_out[0] == len(self.path):
                self._leave_out(*self._left_out[1:])
        elif tag in ("data", "default") and self._data is not None:
            text, cut = self.taken_text()
            self._told(tag, self._data, text or "", cut=cut)
            self._data = None
        elif tag == "key":
            self._declare(self._declared, self._default)
            self._declared = {}
        elif tag in _WRITTEN and self._data is not None:
            text, _ = self.taken_text()
            if self._open and text and text.strip():
                self._open[-1].data.setdefault("label", text.strip())
            self.begin_text()
        elif self._open and tag == self._open[-1].tag:
            self.elements.append(self._open.pop())

    def _declare(self, told: Mapping[str, str], default: str | None) -> None:
        name = told.get("attr.name") or told.get("yfiles.type") or told.get("id", "")
        kind, of = told.get("attr.type", "string").lower(), told.get("for", "all")
        key = _Key(clean(name), kind, of, default, "attr.list" in told)
        self._keys[told.get("id", "")] = key

    def _told(self, tag: str, key_id: str, text: str, *, cut: bool) -> None:
        if tag == "default":
            self._default = text
        elif not self._open:
            self.account.note("attributes of the whole graph were left out")
        else:
            self._add(self._open[-1], key_id, text, cut=cut)

    def _add(self, element: Element, key_id: str, text: str, *, cut: bool) -> None:
        key = self._keys.get(key_id)
        if key is None:
            element.mended = f"its attribute {key_id[:60]!r} is declared nowhere"
            key = _Key(clean(key_id), "string", "all")
        value, fits = _listed(text) if key.many else typed(key.kind, text)
        if not fits:
            element.mended = f"{key.name} is declared as {key.kind}, which {text[:60]!r} is not"
        if cut:
            element.mended = f"{key.name[:60]} was cut after {LONGEST_TEXT:,} characters"
        name, place = key.name, 2
        while name in element.data:
            name, place = f"{key.name}_{place}", place + 1
        element.data[name] = parse_cell(key.name, value)

    def _leave_out(self, row: int, what: str, told: Mapping[str, str]) -> None:
        reason = f"{what}; only nodes and edges between two of them are read"
        self.account.malformed(ANY, row, reason, to_json(dict(told)))
        self._left_out = None


def _listed(text: str) -> tuple[object, bool]:
    """A list as APOC writes it, in JSON."""
    try:
        return json_value(json.loads(text)), True
    except (ValueError, RecursionError, UnreadableError):
        return clean(text), False


#: Types of edges that lead one way; others lead both.
_DIRECTED = "directed"
#: What stands at a node or edge itself and is an attribute; the rest is its id, ends and type.
_AT_ITSELF = ("weight", "kind", "start", "end", "timestamp", "timestamps", "intervals")


def gexf_batches(
    stream: BinaryIO, graph: str, account: ReadAccount, given: GraphColumns = GUESSED
) -> Iterator[ImportBatch]:
    """Yield nodes and edges: :func:`.xml_elements.xml_batches`, which says how it fails.

    Nodes within a node are nodes with the id of it as attribute ``group``. Places, sizes and colours are
    left out.
    """
    return xml_batches(stream, _GexfReader(account), graph, account, given)


class _GexfReader(XmlReader):
    root, format = "gexf", "GEXF"

    def __init__(self, account: ReadAccount) -> None:
        super().__init__(account)
        self._rows = 0
        self._class = ""
        #: Name and type of each attribute by class and id, and what it is where nothing is told.
        self._attributes: dict[tuple[str, str], tuple[str, str]] = {}
        self._defaults: dict[tuple[str, str], object] = {}
        self._attribute: tuple[str, str] = ("", "")
        self._open: list[Element] = []

    def names(self, of: str) -> list[str]:
        """Return the attributes that nodes or edges may have."""
        return list(dict.fromkeys(name for (kind, _), (name, _) in self._attributes.items() if kind == of))

    def defaults(self, of: str) -> dict[str, object]:
        """Return what an attribute of nodes or edges is where nothing is told."""
        return {self._attributes[at][0]: held for at, held in self._defaults.items() if at[0] == of}

    def begin(self, tag: str, told: Mapping[str, str]) -> None:
        """An element begins."""
        if tag == "graph":
            self.directed = told.get("defaultedgetype", "undirected") == _DIRECTED
        elif tag == "attributes":
            self._class = told.get("class", NODE)
        elif tag == "attribute":
            self._attribute = self._class, told.get("id", "")
            named = clean(told.get("title") or told.get("id", ""))
            self._attributes[self._attribute] = named, told.get("type", "string").lower()
        elif tag == "default":
            self.begin_text()
        elif tag in (NODE, EDGE):
            self._begin(tag, told)
        elif tag == "attvalue" and self._open:
            self._add(self._open[-1], told)

    def _begin(self, tag: str, told: Mapping[str, str]) -> None:
        self._rows += 1
        data: dict[str, object] = {name: clean(told[name]) for name in _AT_ITSELF if name in told}
        group = told.get("pid") or (self._open[-1].told.get("id") if self._open and tag == NODE else None)
        if group and group != "0":
            data["group"] = group
        own: dict[str, object] = {n: told[n] for n in ("id", "source", "target", "label") if n in told}
        if tag == EDGE and not told.get("label") and "kind" in data:
            own["label"] = data.pop("kind")
        if tag == EDGE and "type" in told:
            own["directed"] = told["type"] == _DIRECTED
        self._open.append(Element(tag, self._rows, own, data))

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag == "default":
            text, _ = self.taken_text()
            kind = self._attributes.get(self._attribute, ("", "string"))[1]
            self._defaults[self._attribute] = typed(kind, text)[0]
        elif self._open and tag == self._open[-1].tag:
            self.elements.append(self._open.pop())

    def _add(self, element: Element, told: Mapping[str, str]) -> None:
        key_id, text = told.get("for", told.get("id", "")), told.get("value", "")
        name, kind = self._attributes.get((element.tag, key_id), ("", ""))
        if not name:
            element.mended = f"its attribute {key_id[:60]!r} is declared nowhere"
            name, kind = clean(key_id), "string"
        if len(text) > LONGEST_TEXT:
            element.mended = f"{name[:60]} was cut after {LONGEST_TEXT:,} characters"
        value, fits = typed(kind, text[:LONGEST_TEXT])
        self.size += len(text)
        if not fits:
            element.mended = f"{name} is declared as {kind}, which {text[:60]!r} is not"
        if kind.startswith("list") and isinstance(value, str):
            value = [part.strip() for part in value.strip("[]").split("|" if "|" in value else ",")]
        wanted, place = name, 2
        while name in element.data:
            name, place = f"{wanted}_{place}", place + 1
        element.data[name] = parse_cell(wanted, value)
