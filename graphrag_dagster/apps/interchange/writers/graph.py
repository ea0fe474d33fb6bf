"""A graph that is written: kinds of nodes and of edges, each with the rows that are of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from graphrag_dagster.apps.interchange.writers.rows import Rows

#: Columns that say which node or edge a row is; all others are its properties, whatever they are called.
ID, SOURCE, TARGET, RELATION = ":id", ":source", ":target", ":relation"
SAME, LABELS = ":same", ":labels"
RESERVED = (ID, SOURCE, TARGET, RELATION, SAME, LABELS)
STATED = "STATED"


@dataclass(frozen=True)
class Nodes:
    """The nodes of a kind.

    Attributes:
        kind: such as ``Entity``.
        rows: :data:`ID`, unique among the kind, and properties; there may be :data:`SAME`, the IRI that it
            has elsewhere, and :data:`LABELS`, a list of what it is labelled with.
    """

    kind: str
    rows: Rows

    @property
    def properties(self) -> Sequence[pa.Field]:
        """The columns that are properties."""
        return _properties(self.rows)


@dataclass(frozen=True)
class Edges:
    """The edges of a kind.

    Attributes:
        kind: such as ``PART_OF``; :data:`STATED` of statements, of which each has a relation of its own.
        source: kind of the nodes where they begin.
        target: kind of the nodes to which they lead.
        rows: :data:`SOURCE` and :data:`TARGET`, ids of nodes; of statements also :data:`ID`,
            :data:`RELATION`, which is never blank, and properties.
        named: whether the ids of statements are their own; else they only tell rows apart.
        directed: whether edges are that do not say, by a property of this name.
    """

    kind: str
    source: str
    target: str
    rows: Rows
    named: bool = True
    directed: bool = True

    @property
    def stated(self) -> bool:
        """Whether these are statements."""
        return self.kind == STATED

    @property
    def properties(self) -> Sequence[pa.Field]:
        """The columns that are properties."""
        return _properties(self.rows)


@dataclass(frozen=True)
class Graph:
    """A graph: its nodes, then its edges."""

    nodes: Sequence[Nodes]
    edges: Sequence[Edges]


def _properties(rows: Rows) -> Sequence[pa.Field]:
    return [one for one in rows.schema if one.name not in RESERVED]
