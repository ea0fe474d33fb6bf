"""Graphs in one piece of JSON, and JSON lines of nodes and relations, as libraries write them.

Known are node-link and adjacency data of NetworkX, D3, Sigma, vis.js and LangChain; Cytoscape's cyjs, CX and
CX2; the JSON Graph Format; what APOC, Neo4j's Browser and its HTTP interface give; and tables of pandas.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from graphrag_dagster.apps.interchange.graph_rows.graph_columns import propose_columns
from graphrag_dagster.apps.interchange.graph_rows.graph_elements import (
    EDGE,
    NODE,
    Declared,
    Element,
    batches_of,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ImportBatch, ReadAccount
from graphrag_dagster.apps.interchange.readers.neo4j_files import (
    ends_of,
    flatten,
    holds_served,
    is_served,
    node_of,
    numbered_element,
    relation_of,
    served_elements,
)
from graphrag_dagster.apps.interchange.readers.text_lines import parse_json, whole_text
from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.documents.file_records import UnreadableError, json_value

_EDGES = ("links", "edges", "rels", "relationships", "relations")
_IDS = ("id", "key", "@id", "identity", "elementId", "name", "label")
_LOOKED_AT = 200
_Value = Mapping[str, Any]


def json_graph_batches(
    stream: BinaryIO, graph: str, account: ReadAccount, limits: FileLimits
) -> Iterator[ImportBatch]:
    """Yield the nodes and edges of a file that is one piece of JSON, which is read whole.

    Rows are nodes and edges, counted from 1 as they come.

    Raises:
        RefusedError: not text.
        UnreadableError: no JSON, too large, or of no form that is known.
    """
    value = json_value(parse_json(whole_text(stream, limits)))
    told = value.get("graph") if isinstance(value, dict) else None
    if isinstance(told, dict) and told and not any(name in told for name in ("nodes", *_EDGES)):
        account.note("attributes of the whole graph were left out")
    elements = graph_elements(value)
    if elements is None:
        raise UnreadableError(NO_GRAPH)
    counted = (numbered_element(one, row) for row, one in enumerate(elements, start=1))
    yield from batches_of(counted, graph, account, Declared(directed=_directed(value)))


#: Why a JSON file is no graph.
NO_GRAPH = (
    "no graph that is known: JSON of graphs has nodes with edges, links or elements, or rows of Neo4j with "
    "labels and properties, or is a list of objects with the ends of relations; save a table as CSV or JSON "
    "lines"
)


def _directed(value: object) -> bool:
    told = value.get("directed", True) if isinstance(value, dict) else True
    return told if isinstance(told, bool) else True


def graph_elements(value: object) -> Iterable[Element] | None:
    """Return the nodes and edges of a graph in JSON, None where it is no graph that is known."""
    if isinstance(value, dict):
        return _elements_of_object(value)
    if not isinstance(value, list) or not value:
        return None
    if any(isinstance(one, dict) and ("CXVersion" in one or "numberVerification" in one) for one in value):
        return _elements_of_aspects(value)
    dicts = [one for one in value if isinstance(one, dict)]
    if len(dicts) == len(value) and all(isinstance(one.get("data"), dict) for one in dicts[:_LOOKED_AT]):
        return _elements_of_cytoscape(dicts)
    if all(isinstance(one, list) and len(one) in (2, 3) for one in value):
        return (_edge(one) for one in value)
    names = list(dict.fromkeys(name for one in dicts[:_LOOKED_AT] for name in one))
    of_server = any(holds_served(one) for one in value[:_LOOKED_AT])
    if not of_server and len(dicts) == len(value) and (record := propose_columns(names).record):
        return (_edge(one) if record == "relations" else _node(one) for one in dicts)
    several = (
        [found for one in dicts if (found := _elements_of_object(one)) is not None] if not of_server else []
    )
    if several:
        return (element for some in several for element in some)
    return served_elements(value, set()) if of_server else None


def _elements_of_object(value: _Value) -> Iterable[Element] | None:
    if isinstance(inner := value.get("elements"), dict | list):
        parts = [*inner.get("nodes", ()), *inner.get("edges", ())] if isinstance(inner, dict) else inner
        return _elements_of_cytoscape([one for one in parts if isinstance(one, dict)])
    for holder in ("graph", "graphs", "network"):
        held = value.get(holder)
        some = held if isinstance(held, list) else [held]
        found = [
            one for each in some if isinstance(each, dict) and (one := _elements_of_object(each)) is not None
        ]
        if found:
            return (element for one in found for element in one)
    edges = next((value[name] for name in _EDGES if isinstance(value.get(name), list | dict)), None)
    nodes = value.get("nodes", value.get("vertices"))
    if isinstance(nodes, list) and isinstance(value.get("adjacency"), list):
        return _elements_of_adjacency(nodes, value["adjacency"])
    if isinstance(nodes, list | dict) and edges is not None:
        return _elements_of_lists(_list_with_ids(nodes), _list_with_ids(edges))
    if (records := _pandas_rows(value)) is not None:
        return graph_elements(records)
    return served_elements(value, set()) if holds_served(value) else None


def _list_with_ids(told: object) -> list[Any]:
    """A list, or an object of objects by their ids, as a list of objects with ids."""
    if isinstance(told, dict):
        return [{"id": key, **one} if isinstance(one, dict) else {"id": key} for key, one in told.items()]
    return list(told) if isinstance(told, list) else []


def _pandas_rows(value: _Value) -> list[Any] | None:
    """The rows of a table that pandas wrote by columns, split, or with a schema."""
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        names = [str(name) for name in value["columns"]]
        return [dict(zip(names, row, strict=False)) for row in value["data"] if isinstance(row, list)]
    if isinstance(value.get("schema"), dict) and isinstance(value.get("data"), list):
        return list(value["data"])
    columns = list(value.values())
    if not columns or not all(isinstance(one, dict) and one for one in columns):
        return None
    if propose_columns(list(value)).record is None:
        return None
    places = dict.fromkeys(place for column in columns for place in column)
    return [{name: column.get(place) for name, column in value.items()} for place in places]


def _elements_of_lists(nodes: Sequence[Any], edges: Sequence[Any]) -> Iterator[Element]:
    named = any(isinstance(one, dict) and any(name in one for name in _IDS[:5]) for one in nodes)
    by_place = not named and any(isinstance(_end(one, 0), int) for one in edges if isinstance(one, dict))
    for place, one in enumerate(nodes):
        if isinstance(one, dict) and is_served(one) and ends_of(one) is None:
            yield node_of(one)
        else:
            node = _node(one)
            yield Element(NODE, 0, {**node.told, "id": place}, node.data) if by_place else node
    for one in edges:
        ends = ends_of(one) if isinstance(one, dict) else None
        yield _edge(one) if ends is None else relation_of(one, ends)


def _elements_of_adjacency(nodes: Sequence[Any], adjacency: Sequence[Any]) -> Iterator[Element]:
    for one in nodes:
        yield _node(one)
    for node, ends in zip(nodes, adjacency, strict=False):
        for end in ends if isinstance(ends, list) else ():
            held = dict(end) if isinstance(end, dict) else {"id": end}
            told = {"source": _id_of(node), "target": held.pop("id", None)}
            yield Element(EDGE, 0, told, held)


def _elements_of_cytoscape(parts: Sequence[_Value]) -> Iterator[Element]:
    for one in parts:
        held = one.get("data")
        data = held if isinstance(held, dict) else dict(one)
        yield _edge(data) if "source" in data and "target" in data else _node(data)


def _node(told: object) -> Element:
    if not isinstance(told, dict):
        return Element(NODE, 0, {"id": told})
    key = next((name for name in _IDS if told.get(name) is not None), None)
    data = flatten({name: held for name, held in told.items() if name != key or name in ("name", "label")})
    return Element(NODE, 0, {"id": told.get(key) if key else None}, data)


def _edge(told: object) -> Element:
    if isinstance(told, list):
        head, *label, tail = told if len(told) > 1 else [*told, None]
        if len(told) == 3 and isinstance(tail, int | float) and not isinstance(label[0], int | float):
            return Element(EDGE, 0, {"source": head, "target": label[0]}, {"weight": tail})
        return Element(EDGE, 0, {"source": head, "target": tail, "label": label[0] if label else None})
    if not isinstance(told, dict):
        return Element(EDGE, 0, {"label": told})
    ends = propose_columns(list(told))
    own = {name: _id_of(told[at]) for name, at in (("source", ends.head), ("target", ends.tail)) if at}
    if "id" in told:
        own["id"] = told["id"]
    if isinstance(told.get("undirected"), bool):
        own["directed"] = not told["undirected"]
    elif isinstance(told.get("directed"), bool):
        own["directed"] = told["directed"]
    taken = {ends.head, ends.tail, "id", "undirected", "directed"}
    data = flatten({name: held for name, held in told.items() if name not in taken})
    value = data.get("value")
    if "weight" not in data and isinstance(value, int | float) and not isinstance(value, bool):
        # As D3 has it.
        data["weight"] = data.pop("value")
    return Element(EDGE, 0, own, data)


def _end(told: _Value, place: int) -> object:
    ends = propose_columns(list(told))
    at = (ends.head, ends.tail)[place]
    return _id_of(told[at]) if at else None


def _id_of(told: object) -> object:
    if not isinstance(told, dict):
        return told
    return next((told[name] for name in _IDS if told.get(name) is not None), None)


def _elements_of_aspects(value: Sequence[Any]) -> Iterator[Element]:
    """Cytoscape's CX and CX2: aspects, of which those with the same name belong together."""
    aspects: dict[str, list[Any]] = {}
    for one in value:
        for name, held in one.items() if isinstance(one, dict) else ():
            aspects.setdefault(name, []).extend(held if isinstance(held, list) else [held])
    aliases = _aliases(aspects.get("attributeDeclarations", ()))
    for tag, own, called in ((NODE, "n", "name"), (EDGE, "i", "interaction")):
        attributes = _aspect_attributes(aspects.get(f"{tag}Attributes", ()))
        for one in aspects.get(f"{tag}s", ()):
            told = one if isinstance(one, dict) else {"id": one}
            key = told.get("@id", told.get("id"))
            held = told.get("v") if isinstance(told.get("v"), dict) else {}
            data = {aliases.get((f"{tag}s", name), name): cell for name, cell in (held or {}).items()}
            data |= attributes.get(str(key), {})
            if told.get(own) is not None:
                data.setdefault(called, told[own])
            ends = {} if tag == NODE else {"source": told.get("s"), "target": told.get("t")}
            yield Element(tag, 0, {"id": key, **ends}, data)


def _aspect_attributes(told: Iterable[Any]) -> dict[str, dict[str, object]]:
    """Attributes of CX by the id of their owner."""
    found: dict[str, dict[str, object]] = {}
    for one in told:
        if isinstance(one, dict):
            owners = one.get("po")
            for owner in owners if isinstance(owners, list) else [owners]:
                found.setdefault(str(owner), {})[str(one.get("n"))] = one.get("v")
    return found


def _aliases(declared: Iterable[Any]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for one in declared:
        for kind, names in one.items() if isinstance(one, dict) else ():
            for name, how in names.items() if isinstance(names, dict) else ():
                if isinstance(how, dict) and how.get("a") is not None:
                    found[kind, str(how["a"])] = name
    return found


def first_value(text: str, *, whole: bool) -> object:
    """Return the JSON of a file, or of the beginning of one what its first objects show.

    Raises:
        UnreadableError: no JSON.
    """
    if whole:
        return parse_json(text)
    names = [name for name in ("elements", "adjacency", *_EDGES) if f'"{name}"' in text]
    if names and '"nodes"' in text:
        return {"nodes": [], "adjacency": [], names[0]: []}
    start = text.lstrip()
    if start.startswith("["):
        try:
            return [json.JSONDecoder().raw_decode(start[1:].lstrip())[0]]
        except (ValueError, RecursionError) as error:
            raise UnreadableError(NO_GRAPH) from error
    raise UnreadableError(NO_GRAPH)
