"""The nodes and edges of GraphML, as a parser of XML tells of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from graphrag_dagster.core.corpus.graphs.batches import ANY, Account
from graphrag_dagster.core.corpus.graphs.cells import to_json
from graphrag_dagster.core.files.records import RefusedError, UnreadableError, clean

BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

_MOST_LEVELS = 200
_LONGEST_TEXT = 10_000_000
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
class Element:
    """A node or an edge that is being read."""

    tag: str
    row: int
    told: Mapping[str, str]
    data: dict[str, object] = field(default_factory=dict)
    mended: str | None = None


class Reader:
    """What the parser tells of; finished nodes and edges are taken away in batches.

    ``directed``: whether edges are that do not say.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._path: list[str] = []
        self._rows = 0
        self._keys: dict[str, _Key] = {}
        self.directed = True
        self._declared: Mapping[str, str] = {}
        self._element: Element | None = None
        self._data: str | None = None
        self._text: list[str] | None = None
        self._length = 0
        #: Depth at which what is left out began, its row, reason and how it began; nodes and edges within.
        self._left_out: tuple[int, int, str, Mapping[str, str]] | None = None
        self._within = 0
        self.nodes: list[Element] = []
        self.edges: list[Element] = []

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
            self.directed = told.get("edgedefault") != "undirected"
        elif tag in ("node", "edge", "hyperedge", "graph"):
            self._begin(tag, told)

    def _begin(self, tag: str, told: Mapping[str, str]) -> None:
        self._rows += 1
        if self._element is None and tag in ("node", "edge"):
            self._element = Element(tag, self._rows, told)
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

    def _add(self, element: Element, key_id: str, text: str) -> None:
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
        self._account.malformed(ANY, row, reason, to_json(dict(told)))
        self._left_out = None


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
            return BOOLEANS[told.lower()], True
    except (ValueError, KeyError):
        return clean(text or ""), False
    return (clean(text) if text else None), True
