"""The nodes and relations of a graph server, which answer the queries of importing and writing back."""

import re
from dataclasses import dataclass, field
from typing import Any

Answer = tuple[tuple[str, ...], list[tuple[Any, ...]]]

_NAME = r"`((?:[^`]|``)*)`"
_LOOKING = re.compile(
    rf"MATCH \(n(?::{_NAME})?\) WHERE (?:elementId\(n\)|n\.{_NAME}) IS NOT NULL RETURN "
    rf"toString\(.*?\) AS key, elementId\(n\) AS element, labels\(n\) AS labels, n\.{_NAME} AS stamp, "
    rf"(n\.{_NAME} IS NOT NULL(?: OR n\.{_NAME} IS NOT NULL)*) AS taken"
)
_STAMPED = re.compile(rf"MATCH \(n\) WHERE n\.{_NAME} STARTS WITH \$of RETURN elementId\(n\) AS element")


@dataclass
class ServedNode:
    labels: list[str]
    properties: dict[str, Any]


@dataclass
class ServedGraph:
    """Nodes by element id, and relations as the usual query for them gives these.

    A query of another form is an error of the test, as is a value in its text.
    """

    nodes: dict[str, ServedNode]
    relations: list[tuple[Any, ...]]
    _pending: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def run(self, query: str, given: dict[str, Any]) -> Answer:
        if "type(r)" in query:
            return ("key", "head", "tail", "label", "properties"), self.relations
        if "properties(n) AS properties" in query:
            rows = [(key, one.labels, dict(one.properties)) for key, one in self.nodes.items()]
            return ("key", "labels", "properties"), rows
        if looking := _LOOKING.fullmatch(query):
            return self._looked(*looking.groups()[:4])
        if stamped := _STAMPED.fullmatch(query):
            of, name = given["of"], stamped[1]
            found = [
                (key,) for key, one in self.nodes.items() if str(one.properties.get(name)).startswith(of)
            ]
            return ("element",), found
        if "SET n += row.properties" in query:
            return self._written(given["rows"])
        raise AssertionError(f"a query that no server was told of: {query}")

    def _looked(self, label: str | None, key: str | None, stamp: str, taken: str) -> Answer:
        names = re.findall(_NAME, taken)
        rows = []
        for element, node in self.nodes.items():
            held = node.properties.get(key) if key else element
            if held is not None and (label is None or label in node.labels):
                ours = any(node.properties.get(name) is not None for name in names)
                rows.append((str(held), element, node.labels, node.properties.get(stamp), ours))
        return ("key", "element", "labels", "stamp", "taken"), rows

    def _written(self, rows: list[dict[str, Any]]) -> Answer:
        self._pending = [(row["element"], row["properties"]) for row in rows if row["element"] in self.nodes]
        return ("nodes",), [(len(self._pending),)]

    def commit(self) -> None:
        for element, properties in self._pending:
            held = {**self.nodes[element].properties, **properties}
            self.nodes[element].properties = {
                name: value for name, value in held.items() if value is not None
            }
        self._pending = []
