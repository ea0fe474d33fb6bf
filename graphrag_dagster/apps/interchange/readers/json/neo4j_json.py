"""Nodes and relations in JSON as Neo4j gives them: APOC's lines, rows of its Browser and HTTP interface."""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from graphrag_dagster.apps.interchange.readers.batches import ANY, Account, Batch
from graphrag_dagster.apps.interchange.readers.elements import EDGE, NODE, Element, batches_of
from graphrag_dagster.apps.interchange.readers.json.json_lines import parsed
from graphrag_dagster.apps.interchange.readers.tabular.cells import apart, one_line
from graphrag_dagster.apps.interchange.readers.tabular.lines import lines_of
from graphrag_dagster.kernel.documents.files.records import UnreadableError, plain

#: Objects within a node or edge that hold its attributes.
_HOLDERS = ("attributes", "properties", "metadata", "data", "v")
#: How rows of a server name the ends of a relation, and what a node there is named by.
_ENDS = (
    ("startNodeElementId", "endNodeElementId", "elementId"),
    ("startNode", "endNode", "id"),
    ("start", "end", "identity"),
)
_DEEPEST, _DEEPEST_LOOK = 40, 12
_LOOKED_AT = 200
_Value = Mapping[str, Any]


def served_line_batches(stream: BinaryIO, graph: str, account: Account) -> Iterator[Batch]:
    """Yield nodes and relations of JSON lines as APOC exports them; rows are lines.

    Raises:
        RefusedError: not text.
        UnreadableError: a line is too long.
    """
    seen: set[str] = set()

    def elements() -> Iterator[Element]:
        for block in lines_of(stream):
            for number, line in enumerate(block.lines, start=block.first):
                if not line or line.isspace():
                    continue
                try:
                    told = plain(parsed(line))
                except UnreadableError as error:
                    account.malformed(ANY, number, str(error), line)
                    continue
                found = [one for one in served(told, seen) if one is not None]
                if not found:
                    account.malformed(ANY, number, "neither a node nor a relationship", line)
                for one in found[:1]:
                    yield numbered(one, number)

    yield from batches_of(elements(), graph, account)


def is_served(value: object) -> bool:
    """Whether a value is a node or a relation as Neo4j writes them."""
    return isinstance(value, dict) and (is_node(value) or ends_of(value) is not None)


def is_node(value: _Value) -> bool:
    """Whether a value is a node."""
    return isinstance(value.get("labels"), list) and any(
        value.get(name) is not None for name in ("id", "identity", "elementId")
    )


def ends_of(value: _Value) -> tuple[object, object] | None:
    """The ids of the ends of a relation, None where it is none."""
    if not isinstance(value.get("properties", {}), dict) or not (value.get("type") or value.get("label")):
        return None
    for head, tail, _ in _ENDS:
        one, other = value.get(head), value.get(tail)
        if one is not None and other is not None:
            return _id_of(one), _id_of(other)
    return None


def _id_of(told: object) -> object:
    if not isinstance(told, dict):
        return told
    return next((told[n] for n in ("elementId", "id", "identity") if told.get(n) is not None), None)


def holds_served(value: object, level: int = 0) -> bool:
    """Whether a value holds nodes or relations as Neo4j writes them, looking at the first of many."""
    if level > _DEEPEST_LOOK:
        return False
    if isinstance(value, list):
        return any(holds_served(one, level + 1) for one in value[:_LOOKED_AT])
    if not isinstance(value, dict):
        return False
    if is_node(value) or (ends_of(value) is not None and "properties" in value):
        return True
    return any(holds_served(one, level + 1) for one in value.values())


def served(value: object, seen: set[str], level: int = 0) -> Iterator[Element]:
    """The nodes and relations within rows of a server, and ends of relations that are told there alone."""
    if level > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from served(one, seen, level + 1)
    elif isinstance(value, dict):
        if (ends := ends_of(value)) is not None and not _is_path(value):
            yield relation_of(value, ends)
            for name in ("start", "end"):
                end = value.get(name)
                if isinstance(end, dict) and is_node(end) and str(_id_of(end)) not in seen:
                    seen.add(str(_id_of(end)))
                    yield node_of(end)
        elif is_node(value):
            seen.add(str(_id_of(value)))
            yield node_of(value)
        else:
            for one in value.values():
                yield from served(one, seen, level + 1)


def _is_path(value: _Value) -> bool:
    return "segments" in value


def node_of(value: _Value) -> Element:
    """Return a node."""
    data = flat({"properties": value.get("properties") or {}})
    labels = value.get("labels") if isinstance(value.get("labels"), list) else []
    return Element(NODE, 0, {"id": _id_of(value), "labels": labels}, data)


def relation_of(value: _Value, ends: tuple[object, object]) -> Element:
    """Return a relation between two ids."""
    data = flat({"properties": value.get("properties") or {}})
    kind = (
        value.get("label") if value.get("type") == "relationship" else value.get("type", value.get("label"))
    )
    told = {"id": _id_of(value), "source": ends[0], "target": ends[1]}
    return Element(EDGE, 0, told, {"relation": one_line(kind), **data})


def flat(told: Mapping[str, Any]) -> dict[str, object]:
    """The attributes of an element, and those that it holds in an object."""
    found: dict[str, object] = {}
    for name, held in told.items():
        inner = held.items() if name in _HOLDERS and isinstance(held, dict) else ((name, held),)
        for key, value in inner:
            found.setdefault(str(key), apart(str(key), value))
    return found


def numbered(element: Element, row: int) -> Element:
    """Return an element with its number among those of its file."""
    element.row = row
    return element
