"""GraphML of any size, element by element."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO
from xml.parsers import expat

import polars as pl

from graphrag_dagster.core.corpus.graphs.batches import ROWS, Account, Batch
from graphrag_dagster.core.corpus.graphs.cells import Column, one_line, to_json
from graphrag_dagster.core.corpus.graphs.columns import (
    GUESSED,
    GraphColumns,
    entity_columns,
    relation_columns,
)
from graphrag_dagster.core.corpus.graphs.rows import Rows, entities, relations
from graphrag_dagster.core.files.records import RefusedError, UnreadableError, clean

_PIECE = 1 << 18
_MOST_LEVELS = 200
_LONGEST_TEXT = 10_000_000
#: Names that no attribute of a file is given.
_ID, _SOURCE, _TARGET, _DIRECTED = "<id>", "<source>", "<target>", "directed"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
#: Elements of the drawings of yEd that hold what is written on a node or edge.
_WRITTEN = ("NodeLabel", "EdgeLabel")


@dataclass(frozen=True, slots=True)
class _Key:
    """An attribute that a file declares."""

    name: str
    kind: str
    of: str
    default: str | None = None


@dataclass(slots=True)
class _Element:
    """A node or an edge that is being read."""

    tag: str
    row: int
    told: Mapping[str, str]
    data: dict[str, object] = field(default_factory=dict)
    mended: str | None = None


class _Reader:
    """What the parser tells of; finished nodes and edges are taken away in batches."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._path: list[str] = []
        self._rows = 0
        self._keys: dict[str, _Key] = {}
        self._directed = True
        self._declared: Mapping[str, str] = {}
        self._element: _Element | None = None
        self._data: str | None = None
        self._text: list[str] | None = None
        self._length = 0
        #: Depth at which what is left out began, its row, reason and how it began; nodes and edges within.
        self._left_out: tuple[int, int, str, Mapping[str, str]] | None = None
        self._within = 0
        self.nodes: list[_Element] = []
        self.edges: list[_Element] = []

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

    def names(self, of: str) -> list[str]:
        """Return the attributes that nodes or edges may have."""
        return list(dict.fromkeys(key.name for key in self._keys.values() if key.of in (of, "all", "")))

    def defaults(self, of: str) -> dict[str, object]:
        """Return what an attribute of nodes or edges is where nothing is told."""
        with_default = (key for key in self._keys.values() if key.of in (of, "all", ""))
        return {key.name: _value(key.kind, key.default)[0] for key in with_default if key.default is not None}

    def _start(self, name: str, told: Mapping[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if not self._path and tag != "graphml":
            raise UnreadableError(f"not GraphML: its outermost element is {name[:60]}")
        self._path.append(tag)
        if len(self._path) > _MOST_LEVELS:
            raise UnreadableError(f"elements are nested more than {_MOST_LEVELS} levels deep")
        if self._left_out:
            self._within += tag in ("node", "edge")
        elif self._data is not None:
            if tag in _WRITTEN:
                self._begin_text()
        elif tag == "data" or (tag == "default" and self._declared):
            self._data = told.get("key", "")
            self._begin_text()
        elif tag == "key":
            self._declared = told
        elif tag == "graph" and self._element is None:
            self._directed = told.get("edgedefault") != "undirected"
        elif tag in ("node", "edge", "hyperedge", "graph"):
            self._begin(tag, told)

    def _begin(self, tag: str, told: Mapping[str, str]) -> None:
        self._rows += 1
        if self._element is None and tag in ("node", "edge"):
            self._element = _Element(tag, self._rows, told)
            return
        inside = f" inside {self._element.tag} {self._element.told.get('id', '')!r}" if self._element else ""
        self._left_out = (len(self._path), self._rows, f"a {tag}{inside}", told)
        self._within = 0

    def _begin_text(self) -> None:
        self._text, self._length = [], 0

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._left_out:
            self._text.append(text)
            self._length += len(text)
            if self._length > _LONGEST_TEXT:
                raise UnreadableError(f"an attribute has more than {_LONGEST_TEXT:,} characters")

    def _end(self, _: str) -> None:
        tag = self._path[-1]
        if self._left_out:
            if self._left_out[0] == len(self._path):
                self._leave_out(*self._left_out[1:])
        elif tag in ("data", "default") and self._data is not None:
            self._told(tag, self._data, "".join(self._text or ()))
            self._data = self._text = None
        elif tag == "key":
            declared = self._declared
            self._declare(declared, self._keys.pop("", _Key("", "", "")).default)
            self._declared = {}
        elif tag in _WRITTEN and self._text is not None:
            self._written("".join(self._text))
        elif self._element and tag == self._element.tag:
            (self.nodes if tag == "node" else self.edges).append(self._element)
            self._element = None
        self._path.pop()

    def _declare(self, told: Mapping[str, str], default: str | None) -> None:
        name = told.get("attr.name") or told.get("yfiles.type") or told.get("id", "")
        key = _Key(clean(name), told.get("attr.type", "string").lower(), told.get("for", "all"), default)
        self._keys[told.get("id", "")] = key

    def _told(self, tag: str, key_id: str, text: str) -> None:
        if tag == "default":
            self._keys[""] = _Key("", "", "", text)
        elif self._element is None:
            self._account.note("attributes of the whole graph were left out")
        else:
            self._add(self._element, key_id, text)

    def _add(self, element: _Element, key_id: str, text: str) -> None:
        key = self._keys.get(key_id)
        if key is None:
            element.mended = f"its attribute {key_id[:60]!r} is declared nowhere"
            key = _Key(clean(key_id), "string", "all")
        value, fits = _value(key.kind, text)
        if not fits:
            element.mended = f"{key.name} is declared as {key.kind}, which {text[:60]!r} is not"
        name, place = key.name, 2
        while name in element.data:
            name, place = f"{key.name}_{place}", place + 1
        element.data[name] = value

    def _written(self, text: str) -> None:
        if self._element and text.strip():
            self._element.data.setdefault("label", text.strip())
        self._text = []

    def _leave_out(self, row: int, what: str, told: Mapping[str, str]) -> None:
        holds = f" with {self._within} nodes and edges" if self._within else ""
        reason = f"{what}{holds}; only nodes and edges of the graph itself are read"
        self._account.malformed("rows", row, reason, to_json(dict(told)))
        self._left_out = None

    @property
    def directed(self) -> bool:
        """Whether edges are directed that do not say."""
        return self._directed


def _refuse(*_: object) -> int:
    raise RefusedError(
        "it declares or uses entities of XML, which may be made to fill the memory or to read other files; "
        "remove its DOCTYPE"
    )


def _value(kind: str, text: str | None) -> tuple[object, bool]:
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
            return _BOOLEANS[told.lower()], True
    except (ValueError, KeyError):
        return clean(text or ""), False
    return (clean(text) if text else None), True


def graphml_batches(
    stream: BinaryIO, graph: str, account: Account, given: GraphColumns = GUESSED
) -> Iterator[Batch]:
    """Yield the nodes as entities and the edges as relations; rows are nodes and edges, counted from 1.

    Of ``given`` those columns count that are attributes of the file.

    Raises:
        RefusedError: it declares entities.
        UnreadableError: no GraphML, or broken XML.
    """
    reader = _Reader(account)
    parser = reader.parser()
    while True:
        piece = stream.read(_PIECE)
        try:
            parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            raise UnreadableError(f"broken XML: {error}; write the file again, or mend it there") from error
        except (LookupError, ValueError) as error:
            raise UnreadableError(f"XML in an encoding that cannot be read: {error}") from error
        if not piece or max(len(reader.nodes), len(reader.edges)) > ROWS // 2:
            nodes, edges = reader.nodes, reader.edges
            reader.nodes, reader.edges = [], []
            if nodes:
                yield from _entities(nodes, reader, given, graph, account)
            if edges:
                yield from _relations(edges, reader, given, graph, account)
            yield from account.pending()
        if not piece:
            return


def _rows(elements: list[_Element], own: Mapping[str, Column], defaults: Mapping[str, object]) -> Rows:
    names = dict.fromkeys([*defaults, *(name for element in elements for name in element.data)])
    columns = {name: [e.data.get(name, defaults.get(name)) for e in elements] for name in names}
    numbers = pl.Series([element.row for element in elements], dtype=pl.Int64)

    def raw(place: int) -> str:
        return to_json({**elements[place].told, **elements[place].data})

    mended = {element.row: element.mended for element in elements if element.mended}
    return Rows(numbers, {**own, **columns}, raw, mended)


def _entities(
    nodes: list[_Element], reader: _Reader, given: GraphColumns, graph: str, account: Account
) -> Iterator[Batch]:
    for node in nodes:
        # As Neo4j writes them.
        if "labels" in node.told:
            node.data.setdefault("labels", node.told["labels"])
    rows = _rows(nodes, {_ID: [node.told.get("id") for node in nodes]}, reader.defaults("node"))
    names = [*reader.names("node"), *rows.columns]
    known = replace(_known(given, names), key=_ID, head=None, tail=None)
    columns = entity_columns(names, _with_units(known, names))
    if columns.type in ("labels", "label"):
        rows = replace(rows, columns={**rows.columns, "<type>": _first_labels(rows, columns.type)})
        columns = replace(columns, type="<type>")
    yield from entities(rows, columns, graph, account)


def _first_labels(rows: Rows, name: str) -> list[str | None]:
    """The first of several labels, ``:Person:Actor``."""
    texts = (one_line(cell) for cell in rows.cells(name))
    return [
        text.removeprefix(":").partition(":")[0] if text and text.startswith(":") else text for text in texts
    ]


def _relations(
    edges: list[_Element], reader: _Reader, given: GraphColumns, graph: str, account: Account
) -> Iterator[Batch]:
    for edge in edges:
        if "label" in edge.told:
            edge.data.setdefault("label", edge.told["label"])
        if _DIRECTED in edge.data:
            edge.data[f"{_DIRECTED}_2"] = edge.data.pop(_DIRECTED)
    own: dict[str, Column] = {
        _ID: [edge.told.get("id") for edge in edges],
        _SOURCE: [edge.told.get("source") for edge in edges],
        _TARGET: [edge.told.get("target") for edge in edges],
        _DIRECTED: [_BOOLEANS.get(edge.told.get(_DIRECTED, "").lower(), reader.directed) for edge in edges],
    }
    rows = _rows(edges, own, reader.defaults("edge"))
    names = [name for name in [*reader.names("edge"), *rows.columns] if name != _DIRECTED]
    known = replace(_known(given, names), key=_ID, head=_SOURCE, tail=_TARGET)
    yield from relations(rows, relation_columns(names, _with_units(known, names)), graph, account)


def _known(given: GraphColumns, names: list[str]) -> GraphColumns:
    return GraphColumns(**{role: name for role, name in given.as_mapping().items() if name in names})


def _with_units(known: GraphColumns, names: list[str]) -> GraphColumns:
    """What GraphRAG, LightRAG and nano-graphrag write beside descriptions are the ids of text units."""
    told = known.text_units is None and "source_id" in names and "description" in names
    return replace(known, text_units="source_id") if told else known
