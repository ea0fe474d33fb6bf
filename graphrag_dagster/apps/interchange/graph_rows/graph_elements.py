"""From nodes and edges, however a file writes them, to entities and relations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import Column, one_line, to_json
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import (
    GUESSED,
    GraphColumns,
    entity_columns,
    fold_name,
    relation_columns,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ROWS, ImportBatch, ReadAccount
from graphrag_dagster.apps.interchange.graph_rows.table_rows import GraphTableRows, entities, relations

NODE: Final = "node"
EDGE: Final = "edge"
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
#: Names that no attribute of a file is given.
_ID, _SOURCE, _TARGET, _TYPE, _DIRECTED = "<id>", "<source>", "<target>", "<type>", "directed"
#: What stands at a node or edge itself that may be its title or label, where no attribute has that name.
_LABEL_KEYS = ("label", "labels", "type")
_LABELS = ("labels", "label")


@dataclass(slots=True)
class Element:
    """A node or an edge.

    Args:
        tag: ``node`` or ``edge``.
        row: its number among those of the file.
        told: what stands at it itself: ``id``, ``source``, ``target``, ``label``, ``labels``, ``directed``.
        data: its attributes.
        mended: why it was mended in reading.
    """

    tag: str
    row: int
    told: Mapping[str, object]
    data: dict[str, object] = field(default_factory=dict)
    mended: str | None = None


class Declared:
    """What a file says of all its nodes or edges: nothing, but perhaps whether edges are directed."""

    def __init__(self, *, directed: bool = True) -> None:
        self.directed = directed

    def names(self, of: str) -> Sequence[str]:  # noqa: ARG002 - of neither is anything declared.
        """Return the attributes that nodes or edges may have beside those that are seen."""
        return ()

    def defaults(self, of: str) -> Mapping[str, object]:  # noqa: ARG002 - of neither is anything declared.
        """Return what attributes are where nothing is told."""
        return {}


UNDECLARED = Declared()


def batches_of(
    elements: Iterable[Element],
    graph: str,
    account: ReadAccount,
    declared: Declared = UNDECLARED,
    given: GraphColumns = GUESSED,
) -> Iterator[ImportBatch]:
    """Yield nodes as entities and edges as relations, and what was put into quarantine of them.

    Of ``given`` those columns count that are attributes.
    """
    rest = iter(elements)
    while some := list(islice(rest, ROWS)):
        nodes = [one for one in some if one.tag == NODE]
        edges = [one for one in some if one.tag == EDGE]
        if nodes:
            yield from _entities(nodes, declared, given, graph, account)
        if edges:
            yield from _relations(edges, declared, given, graph, account)
        yield from account.pending()
    yield from account.pending()


def _rows(
    elements: list[Element], own: Mapping[str, Column], defaults: Mapping[str, object]
) -> GraphTableRows:
    names = dict.fromkeys([*defaults, *(name for element in elements for name in element.data)])
    columns = {name: [e.data.get(name, defaults.get(name)) for e in elements] for name in names}
    numbers = pl.Series([element.row for element in elements], dtype=pl.Int64)

    def raw(place: int) -> str:
        return to_json({**elements[place].told, **elements[place].data})

    mended = {element.row: element.mended for element in elements if element.mended}
    return GraphTableRows(numbers, {**own, **columns}, raw, mended)


def _with_label(element: Element) -> None:
    for name in _LABEL_KEYS:
        if element.told.get(name) not in (None, "", []):
            element.data.setdefault(name, element.told[name])


def _entities(
    nodes: list[Element], declared: Declared, given: GraphColumns, graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
    for node in nodes:
        _with_label(node)
    rows = _rows(nodes, {_ID: [node.told.get("id") for node in nodes]}, declared.defaults(NODE))
    names = [*declared.names(NODE), *rows.columns]
    known = replace(_known_columns(given, names), key=_ID, head=None, tail=None)
    columns = entity_columns(names, _with_units(known, names))
    if columns.type is not None and fold_name(columns.type) in _LABELS:
        rows, columns = _type_from_labels(rows, columns, columns.type)
    yield from entities(rows, columns, graph, account)


def _type_from_labels(
    rows: GraphTableRows, columns: GraphColumns, name: str
) -> tuple[GraphTableRows, GraphColumns]:
    """The type is the first of several labels, which are among the attributes."""
    labels = [_labels(cell) for cell in rows.cells(name)]
    held: dict[str, Column] = {**rows.columns, _TYPE: [some[0] if some else None for some in labels]}
    held[name] = [some if len(some) > 1 else None for some in labels]
    return replace(rows, columns=held), replace(columns, type=_TYPE)


def _labels(cell: object) -> list[str]:
    """Labels of a list, or of a text such as ``:Person:Actor``."""
    if isinstance(cell, str):
        cell = cell[1:].split(":") if cell.startswith(":") else [cell]
    parts = (one_line(one) for one in (cell if isinstance(cell, list | tuple) else [cell]))
    return [part for part in parts if part]


def _relations(
    edges: list[Element], declared: Declared, given: GraphColumns, graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
    for edge in edges:
        _with_label(edge)
        if _DIRECTED in edge.data:
            edge.data[f"{_DIRECTED}_2"] = edge.data.pop(_DIRECTED)
    own: dict[str, Column] = {
        _ID: [edge.told.get("id") for edge in edges],
        _SOURCE: [edge.told.get("source") for edge in edges],
        _TARGET: [edge.told.get("target") for edge in edges],
        _DIRECTED: [_directed(edge.told.get(_DIRECTED), default=declared.directed) for edge in edges],
    }
    rows = _rows(edges, own, declared.defaults(EDGE))
    names = [name for name in [*declared.names(EDGE), *rows.columns] if name != _DIRECTED]
    known = replace(_known_columns(given, names), key=_ID, head=_SOURCE, tail=_TARGET)
    yield from relations(rows, relation_columns(names, _with_units(known, names)), graph, account)


def _directed(told: object, *, default: bool) -> bool:
    return told if isinstance(told, bool) else BOOLEANS.get(str(told or "").lower(), default)


def _known_columns(given: GraphColumns, names: list[str]) -> GraphColumns:
    return GraphColumns(**{role: name for role, name in given.as_mapping().items() if name in names})


def _with_units(known: GraphColumns, names: list[str]) -> GraphColumns:
    """What GraphRAG, LightRAG and nano-graphrag write beside descriptions are the ids of text units."""
    told = known.text_units is None and "source_id" in names and "description" in names
    return replace(known, text_units="source_id") if told else known
