"""A knowledge graph as arrays, indexed by head and by tail, with numbered relations.

The arrays are in memory, or memory-mapped from files.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.common.array_files import load_array
from graphrag_dagster.kernel.common.packed_arrays import Texts, expand_ranges
from graphrag_dagster.kernel.graph.graph_labels import Vocabulary

#: Relations of Freebase that the paper excludes (appendix B.2, and the lists in its code).
FREEBASE_RELATIONS = ("type.object.type", "type.object.name")
FREEBASE_PREFIXES = ("type.type.", "common.", "freebase.")
FREEBASE_PARTS = (
    *("sameAs", "sameas", "music.release", "authority.musicbrainz", "22-rdf-syntax-ns#type", "book.isbn"),
    *("common.licensed_object", "tv.tv_series_episode", "type.namespace", "type.content", "type.permission"),
    *("type.object.key", "type.object.permission", "type.type.instance", "topic_equivalent_webpage"),
    "dataworld.freeq",
)


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Relations to exclude.

    Attributes:
        relations: full names.
        prefixes: prefixes of names.
        parts: substrings of names.
    """

    relations: tuple[str, ...] = FREEBASE_RELATIONS
    prefixes: tuple[str, ...] = FREEBASE_PREFIXES
    parts: tuple[str, ...] = FREEBASE_PARTS

    def left_out(self, relation: pl.Expr) -> pl.Expr:
        """Return an expression for whether a relation is excluded."""
        excluded = relation.is_in(list(self.relations))
        for prefix in self.prefixes:
            excluded |= relation.str.starts_with(prefix)
        for part in self.parts:
            excluded |= relation.str.contains(part, literal=True)
        return excluded


Direction = Literal["auto", "out", "both"]
Followed = Literal["out", "both"]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

#: Least share of node pairs with an edge back in graphs that already contain inverse relations.
RECIPROCAL = 0.2
#: Version of the arrays and files, which is in the name of their folder.
FORMAT = 1
_ABOUT = "about.json"
_TEXTS = ("entity_ids", "labels")
_ARRAYS = ("label_of", "heads", "edge_relations", "tails", "out_starts", "in_starts", "in_edges")


@dataclass(frozen=True, eq=False)
class PathStore:
    """A directed multigraph: nodes 0… sorted by name, edges sorted by head, relation and tail.

    It is independent of the order of the triples. Graphs are compared by identity, so that derived data can
    be cached with them.

    Attributes:
        entity_ids: id of each node [n].
        labels: distinct labels.
        label_of: index of each node's label [n].
        relations: distinct relations, sorted.
        heads: head of each edge [m].
        edge_relations: relation of each edge [m].
        tails: tail of each edge [m].
        out_starts: offsets of each head's edges, and the total [n + 1].
        in_starts: offsets of each tail's edges in ``in_edges``, and the total [n + 1].
        in_edges: edges sorted by tail, relation and head [m].
        left_out: number of triples that the prefilter excluded.
        reciprocal: share of (head, tail) pairs with an edge back.
    """

    entity_ids: Texts
    labels: Texts
    label_of: Ints
    relations: tuple[str, ...]
    heads: Ints
    edge_relations: Ints
    tails: Ints
    out_starts: Longs
    in_starts: Longs
    in_edges: Longs
    left_out: int = 0
    reciprocal: float = 0.0

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.label_of)

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.heads)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of paths."""
        return Vocabulary(self.labels, self.relations)

    def resolve_direction(self, direction: Direction) -> Followed:
        """Return the directions in which edges are followed; ``auto`` means both if few edges have one
        back.
        """
        if direction != "auto":
            return direction
        return "both" if self.reciprocal < RECIPROCAL else "out"

    def label(self, node: int) -> str:
        """Return the label of a node."""
        return self.labels[int(self.label_of[node])]

    def out_edges(self, node: int) -> Longs:
        """Return the edges of a head, sorted by relation and tail."""
        return np.arange(self.out_starts[node], self.out_starts[node + 1], dtype=np.int64)

    def into_edges(self, node: int) -> Longs:
        """Return the edges of a tail, sorted by relation and head."""
        return np.asarray(self.in_edges[self.in_starts[node] : self.in_starts[node + 1]])

    def degrees(self, direction: Followed) -> Longs:
        """Return the number of edges that can be followed from each node [n], including parallel ones."""
        out = np.diff(self.out_starts)
        return out + np.diff(self.in_starts) if direction == "both" else out

    def between(self, nodes: Longs) -> Longs:
        """Return the edges with both ends among nodes, in order.

        Args:
            nodes: distinct nodes.
        """
        inside = np.zeros(self.nodes, dtype=np.bool_)
        inside[nodes] = True
        outgoing = expand_ranges(self.out_starts, np.sort(nodes))
        return outgoing[inside[self.tails[outgoing]]]

    def write(self, folder: Path) -> None:
        """Write the arrays into an existing folder; see :meth:`open`."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        for name in _TEXTS:
            texts: Texts = getattr(self, name)
            arrays |= {f"{name}_block": texts.block, f"{name}_starts": texts.starts}
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
        about = {"relations": self.relations, "left_out": self.left_out, "reciprocal": self.reciprocal}
        (folder / _ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> "PathStore":
        """Open the graph stored in a folder; its arrays are memory-mapped.

        Raises:
            WarehouseError: a file is missing or damaged.
        """

        def mapped(name: str) -> NDArray[Any]:
            return load_array(folder / f"{name}.npy", "r")

        try:
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            arrays: dict[str, Any] = {name: mapped(name) for name in _ARRAYS}
            arrays |= {name: Texts(mapped(f"{name}_block"), mapped(f"{name}_starts")) for name in _TEXTS}
            return cls(**arrays, **{**about, "relations": tuple(about["relations"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WarehouseError(
                f"{folder}: the arrays of a graph cannot be read ({error}); delete it"
            ) from error


def store_of(entities: pl.DataFrame, triples: pl.DataFrame, prefilter: Prefilter | None = None) -> PathStore:
    """Build the arrays of a graph.

    A blank label is replaced by the name. Duplicate triples count once; edges between the same nodes with
    different relations are kept, and so are isolated nodes.

    Args:
        entities: ``entity_id``, ``name`` and ``title`` of each node, as ``graph.entities``.
        triples: ``head_id``, ``relation`` and ``tail_id``, as ``graph.triples``.
        prefilter: relations to exclude; default: none.
    """
    nodes = entities.select(
        "entity_id",
        label=pl.when(pl.col("title").str.strip_chars() == "").then("name").otherwise("title"),
        name="name",
    ).sort("name", "entity_id")
    remaining = triples.select("head_id", "relation", "tail_id")
    if prefilter is not None:
        remaining = remaining.filter(~prefilter.left_out(pl.col("relation")))
    relations = remaining["relation"].unique().sort()
    labels = nodes["label"].unique().sort()
    numbers = nodes.select("entity_id").with_row_index("node")
    edges = (
        remaining.join(numbers.rename({"entity_id": "head_id", "node": "head"}), on="head_id")
        .join(numbers.rename({"entity_id": "tail_id", "node": "tail"}), on="tail_id")
        .select("head", pl.col("relation").cast(pl.Enum(relations)).to_physical(), "tail")
        .unique()
        .sort("head", "relation", "tail")
    )
    label_of = nodes.select(pl.col("label").cast(pl.Enum(labels)).to_physical())["label"]
    return build_path_store(
        Texts.of(nodes["entity_id"]),
        Texts.of(labels),
        label_of.to_numpy().astype(np.int32),
        tuple(relations),
        tuple(edges[name].to_numpy().astype(np.int32) for name in ("head", "relation", "tail")),
        left_out=len(triples) - len(remaining),
    )


def build_path_store(
    entity_ids: Texts,
    labels: Texts,
    label_of: Ints,
    relations: tuple[str, ...],
    edges: tuple[Ints, ...],
    left_out: int = 0,
) -> PathStore:
    """Build a graph from numbered edges.

    Args:
        entity_ids: see :class:`PathStore`, also for the others.
        labels: distinct labels.
        label_of: index of each node's label [n].
        relations: distinct relations.
        edges: heads, relations and tails [m] each, sorted by these, without duplicates.
        left_out: number of excluded triples.
    """
    heads, edge_relations, tails = edges
    count = len(label_of)
    by_tail = np.lexsort((heads, edge_relations, tails)).astype(np.int64)
    return PathStore(
        entity_ids,
        labels,
        label_of,
        relations,
        heads,
        edge_relations,
        tails,
        _starts(heads, count),
        _starts(tails, count),
        by_tail,
        left_out,
        _reciprocal(heads, tails, count),
    )


def _starts(ends: Ints, count: int) -> Longs:
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=count), out=offsets[1:])
    return offsets


def _reciprocal(heads: Ints, tails: Ints, count: int) -> float:
    """Return the share of distinct pairs (head, tail) with an edge back."""
    pairs = np.unique(heads.astype(np.int64) * count + tails)
    if not len(pairs):
        return 0.0
    back = np.unique(tails.astype(np.int64) * count + heads)
    return float(len(np.intersect1d(pairs, back, assume_unique=True)) / len(pairs))
