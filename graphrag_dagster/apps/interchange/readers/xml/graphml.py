"""GraphML of any size: that of NetworkX, igraph, Gephi, yEd, Cytoscape, APOC, TinkerPop and LightRAG."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from graphrag_dagster.apps.interchange.readers.batches import ANY, Account, Batch
from graphrag_dagster.apps.interchange.readers.elements import Element
from graphrag_dagster.apps.interchange.readers.tabular.cells import LONGEST_TEXT, apart, to_json
from graphrag_dagster.apps.interchange.readers.tabular.columns import GUESSED, GraphColumns
from graphrag_dagster.apps.interchange.readers.xml.xml_elements import XmlReader, typed, xml_batches
from graphrag_dagster.kernel.documents.files.records import UnreadableError, clean, plain

#: Elements of the drawings of yEd that hold what is written on a node or edge.
_WRITTEN = ("NodeLabel", "EdgeLabel")
_GROUP = "group"


def graphml_batches(
    stream: BinaryIO, graph: str, account: Account, given: GraphColumns = GUESSED
) -> Iterator[Batch]:
    """Yield nodes and edges: :func:`.xml_elements.xml_batches`, which says how it fails.

    Nodes within a node, as yEd's groups have them, are nodes with the id of it as attribute ``group``.
    """
    return xml_batches(stream, _Reader(account), graph, account, given)


@dataclass(frozen=True, slots=True)
class _Key:
    """An attribute that a file declares."""

    name: str
    kind: str
    of: str
    default: str | None = None
    many: bool = False


class _Reader(XmlReader):
    root, format = "graphml", "GraphML"

    def __init__(self, account: Account) -> None:
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
        element.data[name] = apart(key.name, value)

    def _leave_out(self, row: int, what: str, told: Mapping[str, str]) -> None:
        reason = f"{what}; only nodes and edges between two of them are read"
        self.account.malformed(ANY, row, reason, to_json(dict(told)))
        self._left_out = None


def _listed(text: str) -> tuple[object, bool]:
    """A list as APOC writes it, in JSON."""
    try:
        return plain(json.loads(text)), True
    except (ValueError, RecursionError, UnreadableError):
        return clean(text), False
