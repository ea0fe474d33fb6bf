"""A knowledge graph as arrays: by head and by tail, relations as numbers (spec_lego §1).

The arrays are of a graph in memory, or lie in files and are read where they are needed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.common.packed_arrays import Texts
from graphrag_dagster.kernel.graph.graph_labels import Vocabulary

#: What the paper leaves out of Freebase (appendix B.2, and the lists of its code).
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
    """Relations that are left out.

    Attributes:
        relations: by their whole name.
        prefixes: by what they begin with.
        parts: by what they contain.
    """

    relations: tuple[str, ...] = FREEBASE_RELATIONS
    prefixes: tuple[str, ...] = FREEBASE_PREFIXES
    parts: tuple[str, ...] = FREEBASE_PARTS

    def left_out(self, relation: pl.Expr) -> pl.Expr:
        """Whether a relation is left out."""
        found = relation.is_in(list(self.relations))
        for prefix in self.prefixes:
            found |= relation.str.starts_with(prefix)
        for part in self.parts:
            found |= relation.str.contains(part, literal=True)
        return found


Direction = Literal["auto", "out", "both"]
Followed = Literal["out", "both"]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

#: Share of the pairs of nodes with an edge back from which a graph has its inverse relations in it.
RECIPROCAL = 0.2
#: Changes with the arrays and files.
FORMAT = 1
_ABOUT = "about.json"


@dataclass(frozen=True, eq=False)
class PathStore:
    """A directed multigraph: nodes 0… in the order of their names, edges by head, relation and tail.

    Neither depends on the order in which triples come. A graph is the same as itself alone, so that what is
    made of it can be kept beside it.

    Attributes:
        entity_ids: id of each node [n].
        labels: different labels.
        label_of: place of each node's label [n].
        relations: different relations, in their order.
        heads: of each edge [m].
        edge_relations: of each edge [m].
        tails: of each edge [m].
        out_starts: where the edges of each head begin, and the last end [n + 1].
        in_starts: where the edges of each tail begin in ``in_edges`` [n + 1].
        in_edges: edges by tail, relation and head [m].
        left_out: triples that the prefilter left out.
        reciprocal: share of the pairs of a head and a tail with an edge back.
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
        """What paths are written with."""
        return Vocabulary(self.labels, self.relations)

    def followed(self, direction: Direction) -> Followed:
        """Return in which directions edges are followed: ``auto`` is both where few have one back."""
        if direction != "auto":
            return direction
        return "both" if self.reciprocal < RECIPROCAL else "out"

    def label(self, node: int) -> str:
        """Return the label of a node."""
        return self.labels[int(self.label_of[node])]

    def out_edges(self, node: int) -> Longs:
        """Return the edges of a head, by relation and tail."""
        return np.arange(self.out_starts[node], self.out_starts[node + 1], dtype=np.int64)

    def into_edges(self, node: int) -> Longs:
        """Return the edges of a tail, by relation and head."""
        return np.asarray(self.in_edges[self.in_starts[node] : self.in_starts[node + 1]])

    def degrees(self, direction: Followed) -> Longs:
        """Return how many edges can be followed from each node [n]; parallel ones count."""
        out = np.diff(self.out_starts)
        return out + np.diff(self.in_starts) if direction == "both" else out

    def between(self, nodes: Longs) -> Longs:
        """Return the edges with both ends among nodes, in order.

        Args:
            nodes: without repeats.
        """
        inside = np.zeros(self.nodes, dtype=np.bool_)
        inside[nodes] = True
        found = spans(self.out_starts, np.sort(nodes))
        return found[inside[self.tails[found]]]

    def write(self, folder: Path) -> None:
        """Write the arrays into a folder that is there; see :meth:`opened`."""
        for name, array in _arrays(self).items():
            np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
        about = {
            "format": FORMAT,
            "relations": self.relations,
            "left_out": self.left_out,
            "reciprocal": self.reciprocal,
        }
        (folder / _ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def opened(cls, folder: Path) -> "PathStore":
        """Return the graph that was written into a folder; its arrays are mapped, not read.

        Raises:
            WarehouseError: a file is missing, damaged or of another version.
        """
        try:
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise WarehouseError(f"{folder}: arrays of format {about['format']}, not {FORMAT}; delete it")
            mapped: dict[str, Any] = {
                name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in _ARRAYS
            }
        except (OSError, ValueError, KeyError) as error:
            raise WarehouseError(
                f"{folder}: the arrays of a graph cannot be read ({error}); delete it"
            ) from error
        texts: dict[str, Any] = {
            name: Texts(mapped.pop(f"{name}_block"), mapped.pop(f"{name}_starts"))
            for name in ("entity_ids", "labels")
        }
        return cls(
            **texts,
            **mapped,
            relations=tuple(about["relations"]),
            left_out=about["left_out"],
            reciprocal=about["reciprocal"],
        )


def store_of(entities: pl.DataFrame, triples: pl.DataFrame, prefilter: Prefilter | None = None) -> PathStore:
    """Return a graph as arrays.

    A label that is blank is the name. What is stated twice counts once; edges between the same nodes with
    different relations stay. Nodes without an edge stay, too.

    Args:
        entities: ``entity_id``, ``name`` and ``title`` of each node, as ``graph.entities``.
        triples: ``head_id``, ``relation`` and ``tail_id``, as ``graph.triples``.
        prefilter: relations that are left out; None: none.
    """
    nodes = entities.select(
        "entity_id",
        label=pl.when(pl.col("title").str.strip_chars() == "").then("name").otherwise("title"),
        name="name",
    ).sort("name", "entity_id")
    kept = triples.select("head_id", "relation", "tail_id")
    if prefilter is not None:
        kept = kept.filter(~prefilter.left_out(pl.col("relation")))
    relations = kept["relation"].unique().sort()
    labels = nodes["label"].unique().sort()
    numbers = nodes.select("entity_id").with_row_index("node")
    edges = (
        kept.join(numbers.rename({"entity_id": "head_id", "node": "head"}), on="head_id")
        .join(numbers.rename({"entity_id": "tail_id", "node": "tail"}), on="tail_id")
        .select("head", pl.col("relation").cast(pl.Enum(relations)).to_physical(), "tail")
        .unique()
        .sort("head", "relation", "tail")
    )
    named = nodes.select(pl.col("label").cast(pl.Enum(labels)).to_physical())["label"]
    return arranged(
        Texts.of(nodes["entity_id"]),
        Texts.of(labels),
        named.to_numpy().astype(np.int32),
        tuple(relations),
        tuple(edges[name].to_numpy().astype(np.int32) for name in ("head", "relation", "tail")),
        left_out=len(triples) - len(kept),
    )


def arranged(
    entity_ids: Texts,
    labels: Texts,
    label_of: Ints,
    relations: tuple[str, ...],
    edges: tuple[Ints, ...],
    left_out: int = 0,
) -> PathStore:
    """Return a graph whose edges are known by number.

    Args:
        entity_ids: see :class:`PathStore`, as the others.
        labels: different ones.
        label_of: place of each node's label [n].
        relations: different ones.
        edges: heads, relations and tails [m] each, sorted by these, none twice.
        left_out: triples that were left out.
    """
    heads, own, tails = edges
    count = len(label_of)
    by_tail = np.lexsort((heads, own, tails)).astype(np.int64)
    return PathStore(
        entity_ids,
        labels,
        label_of,
        relations,
        heads,
        own,
        tails,
        _starts(heads, count),
        _starts(tails, count),
        by_tail,
        left_out,
        _reciprocal(heads, tails, count),
    )


def spans(starts: Longs, rows: NDArray[np.integer]) -> Longs:
    """Return all places from ``starts[row]`` to ``starts[row + 1]``, row after row."""
    sizes = starts[rows + 1] - starts[rows]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    found: Longs = np.arange(total, dtype=np.int64) + np.repeat(starts[rows] - (ends - sizes), sizes)
    return found


def _starts(ends: Ints, count: int) -> Longs:
    found = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=count), out=found[1:])
    return found


def _reciprocal(heads: Ints, tails: Ints, count: int) -> float:
    """The share of different pairs (head, tail) with an edge back."""
    pairs = np.unique(heads.astype(np.int64) * count + tails)
    if not len(pairs):
        return 0.0
    back = np.unique(tails.astype(np.int64) * count + heads)
    return float(len(np.intersect1d(pairs, back, assume_unique=True)) / len(pairs))


def _arrays(store: PathStore) -> Mapping[str, NDArray[np.generic]]:
    found: dict[str, NDArray[np.generic]] = {}
    for one in fields(store):
        value = getattr(store, one.name)
        if isinstance(value, Texts):
            found |= {f"{one.name}_block": value.block, f"{one.name}_starts": value.starts}
        elif isinstance(value, np.ndarray):
            found[one.name] = value
    return found


_ARRAYS = (
    *("entity_ids_block", "entity_ids_starts", "labels_block", "labels_starts", "label_of", "heads"),
    *("edge_relations", "tails", "out_starts", "in_starts", "in_edges"),
)
