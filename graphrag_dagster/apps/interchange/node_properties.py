"""Queries that set properties of ours on the nodes of a graph server, and remove them again.

Names are quoted, and all else is a parameter: no value becomes part of a query.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.apps.interchange.exporting.neo4j_writer import quote_identifier

#: What is written of a node, without the prefix; and what says which state of a corpus it is of.
VALUES = ("community", "communities", "context_of", "summary")
STAMP = "written"
#: Of rows of ``element``, the id of a node, and ``properties``; null takes one away.
WRITING = (
    "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.element "
    "SET n += row.properties RETURN count(n) AS nodes"
)


@dataclass(frozen=True, slots=True)
class NodeProperties:
    """The properties of ours, by the prefix that tells them from others."""

    prefix: str

    @property
    def names(self) -> frozenset[str]:
        """All of them, as they are on a node."""
        return frozenset(self.prefix + name for name in (*VALUES, STAMP))

    def of(self, values: Mapping[str, Any], stamp: str | None) -> dict[str, Any]:
        """Return the properties of a node; what there is no value of is null, which takes it away."""
        given = {self.prefix + name: values.get(name) for name in VALUES}
        return {**given, self.prefix + STAMP: stamp}

    def nothing(self) -> dict[str, Any]:
        """Return what takes all of them away."""
        return self.of({}, None)

    def lookup_query(self, label: str | None, key: str | None) -> str:
        """Return the query for the nodes with their ``key``, ``element``, ``labels``, ``stamp``, and whether
        one of our names is ``taken``.

        Args:
            label: of the nodes; None: any.
            key: property that holds the key; None: the element id.
        """
        node = f"(n:{quote_identifier(label)})" if label else "(n)"
        held = f"n.{quote_identifier(key)}" if key else "elementId(n)"
        ours = " OR ".join(f"n.{quote_identifier(self.prefix + name)} IS NOT NULL" for name in VALUES)
        return (
            f"MATCH {node} WHERE {held} IS NOT NULL RETURN toString({held}) AS key, elementId(n) AS element, "
            f"labels(n) AS labels, n.{quote_identifier(self.prefix + STAMP)} AS stamp, {ours} AS taken"
        )

    def stamp_query(self) -> str:
        """Return the query for the ``element`` ids of nodes whose stamp begins with ``$of``."""
        stamp = f"n.{quote_identifier(self.prefix + STAMP)}"
        return f"MATCH (n) WHERE {stamp} STARTS WITH $of RETURN elementId(n) AS element"
