"""A part of a graph, and the steps that can be made in it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.arrays import Followed, Ints, Longs, PathStore
from graphrag_dagster.kernel.graph.verbalised import Rows, Verbalised


@dataclass(frozen=True, slots=True)
class Steps:
    """What can be followed from each node of a subgraph, by relation, then node that is reached.

    Attributes:
        starts: where the steps of each node begin, and the last end [nodes + 1]; nodes by their place in the
            subgraph.
        ends: place of the node that is reached [k].
        relations: of the edge [k].
        inverse: whether it is followed against its direction [k].
        edges: of the store [k].
    """

    starts: Longs
    ends: Longs
    relations: Ints
    inverse: NDArray[np.bool_]
    edges: Longs


@dataclass(frozen=True)
class Subgraph:
    """Some edges of a graph with their ends, and the seeds, which stay even without an edge.

    Attributes:
        store: the graph.
        nodes: of the store, in order.
        edges: of the store, in order.
        seeds: of the question, among the nodes.
    """

    store: PathStore
    nodes: Longs
    edges: Longs
    seeds: tuple[int, ...]

    @classmethod
    def of_nodes(cls, store: PathStore, nodes: Longs, seeds: tuple[int, ...]) -> "Subgraph":
        """Return some nodes and the seeds with all edges among them."""
        kept = np.union1d(nodes, np.asarray(seeds, dtype=np.int64)).astype(np.int64)
        return cls(store, kept, store.between(kept), seeds)

    @classmethod
    def of_edges(cls, store: PathStore, edges: Longs, seeds: tuple[int, ...]) -> "Subgraph":
        """Return some edges with their ends, and the seeds."""
        kept = np.unique(edges).astype(np.int64)
        ends = np.concatenate([store.heads[kept], store.tails[kept], np.asarray(seeds, dtype=np.int32)])
        return cls(store, np.unique(ends).astype(np.int64), kept, seeds)

    def places(self, nodes: NDArray[np.integer]) -> Longs:
        """Return where nodes of the store, which are in the subgraph, stand in ``nodes``."""
        return np.searchsorted(self.nodes, nodes).astype(np.int64)

    def steps(self, followed: Followed) -> Steps:
        """Return the steps along edges, with ``both`` also against their direction."""
        store = self.store
        heads, tails = self.places(store.heads[self.edges]), self.places(store.tails[self.edges])
        relations = np.asarray(store.edge_relations[self.edges])
        inverse = np.zeros(len(heads), dtype=np.bool_)
        begins, ends, edges = heads, tails, self.edges
        if followed == "both":
            begins, ends = np.concatenate([heads, tails]), np.concatenate([tails, heads])
            relations, edges = np.tile(relations, 2), np.tile(edges, 2)
            inverse = np.concatenate([inverse, ~inverse])
        order = np.lexsort((inverse, ends, relations, begins))
        starts = np.zeros(len(self.nodes) + 1, dtype=np.int64)
        np.cumsum(np.bincount(begins, minlength=len(self.nodes)), out=starts[1:])
        return Steps(starts, ends[order], relations[order], inverse[order], edges[order])

    @cached_property
    def components(self) -> int:
        """Number of weakly connected components; a seed without an edge is one."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        heads, tails = self.places(self.store.heads[self.edges]), self.places(self.store.tails[self.edges])
        size = len(self.nodes)
        linked = coo_array((np.ones(len(heads), dtype=np.int8), (heads, tails)), shape=(size, size))
        return int(connected_components(linked, directed=False, return_labels=False))

    def triples(self, edges: Longs | None = None) -> Verbalised:
        """Return edges of the store, by default those of the subgraph, as texts in their direction."""
        store, vocabulary = self.store, self.store.vocabulary
        chosen = self.edges if edges is None else edges
        relations = vocabulary.relation_pieces(
            store.edge_relations[chosen], np.zeros(len(chosen), dtype=np.bool_)
        )
        rows = (store.label_of[store.heads[chosen]], relations, store.label_of[store.tails[chosen]])
        return Verbalised(vocabulary, np.stack(rows, axis=1).astype(np.int32))

    def relation_types(self) -> Verbalised:
        """Return the different relations of the edges as texts, in their order."""
        found = np.unique(self.store.edge_relations[self.edges])
        pieces: Rows = self.store.vocabulary.relation_pieces(found, np.zeros(len(found), dtype=np.bool_))
        return Verbalised(self.store.vocabulary, pieces[:, None])

    def node_labels(self) -> Verbalised:
        """Return the different labels of the nodes as texts, in their order."""
        found = np.unique(self.store.label_of[self.nodes]).astype(np.int32)
        return Verbalised(self.store.vocabulary, found[:, None])
