"""GEXF of any size, as Gephi, Sigma and NetworkX write it."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from graphrag_dagster.apps.interchange.readers.batches import Account, Batch
from graphrag_dagster.apps.interchange.readers.elements import EDGE, NODE, Element
from graphrag_dagster.apps.interchange.readers.tabular.cells import LONGEST_TEXT, apart
from graphrag_dagster.apps.interchange.readers.tabular.columns import GUESSED, GraphColumns
from graphrag_dagster.apps.interchange.readers.xml.xml_elements import XmlReader, typed, xml_batches
from graphrag_dagster.kernel.documents.files.records import clean

#: Types of edges that lead one way; others lead both.
_DIRECTED = "directed"
#: What stands at a node or edge itself and is an attribute; the rest is its id, ends and type.
_AT_ITSELF = ("weight", "kind", "start", "end", "timestamp", "timestamps", "intervals")


def gexf_batches(
    stream: BinaryIO, graph: str, account: Account, given: GraphColumns = GUESSED
) -> Iterator[Batch]:
    """Yield nodes and edges: :func:`.xml_elements.xml_batches`, which says how it fails.

    Nodes within a node are nodes with the id of it as attribute ``group``. Places, sizes and colours are
    left out.
    """
    return xml_batches(stream, _Reader(account), graph, account, given)


class _Reader(XmlReader):
    root, format = "gexf", "GEXF"

    def __init__(self, account: Account) -> None:
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
        element.data[name] = apart(wanted, value)
