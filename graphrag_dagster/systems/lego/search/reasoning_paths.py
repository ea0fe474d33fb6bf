"""Subgraphs, reasoning paths in them, and the query and outcome of each module."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.graph.adjacency_arrays import Followed, Ints, Longs, PathStore
from graphrag_dagster.kernel.graph.graph_labels import NO_PIECE, Rows, VerbalizedRows
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.systems.lego.tasks import PathAnswer


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

    def triples(self, edges: Longs | None = None) -> VerbalizedRows:
        """Return edges of the store, by default those of the subgraph, as texts in their direction."""
        store, vocabulary = self.store, self.store.vocabulary
        chosen = self.edges if edges is None else edges
        relations = vocabulary.relation_pieces(
            store.edge_relations[chosen], np.zeros(len(chosen), dtype=np.bool_)
        )
        rows = (store.label_of[store.heads[chosen]], relations, store.label_of[store.tails[chosen]])
        return VerbalizedRows(vocabulary, np.stack(rows, axis=1).astype(np.int32))

    def relation_types(self) -> VerbalizedRows:
        """Return the different relations of the edges as texts, in their order."""
        found = np.unique(self.store.edge_relations[self.edges])
        pieces: Rows = self.store.vocabulary.relation_pieces(found, np.zeros(len(found), dtype=np.bool_))
        return VerbalizedRows(self.store.vocabulary, pieces[:, None])

    def node_labels(self) -> VerbalizedRows:
        """Return the different labels of the nodes as texts, in their order."""
        found = np.unique(self.store.label_of[self.nodes]).astype(np.int32)
        return VerbalizedRows(self.store.vocabulary, found[:, None])


@dataclass(frozen=True, slots=True)
class ModuleUse:
    """What a module asked of models, and what went wrong.

    Attributes:
        usage: of a chat model.
        scored: texts that a scorer compared with the question.
        scored_tokens: tokens of these, 0 where the scorer reads none.
        empty: selections of which nothing was left: no candidate fitted, or the reply named none.
        problems: why replies were of no use.
    """

    usage: Usage = field(default_factory=Usage)
    scored: int = 0
    scored_tokens: int = 0
    empty: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: "ModuleUse") -> "ModuleUse":
        return ModuleUse(
            self.usage + other.usage,
            self.scored + other.scored,
            self.scored_tokens + other.scored_tokens,
            self.empty + other.empty,
            self.problems + other.problems,
        )


#: No node or edge: behind the last of a path that is shorter than others.
NONE = -1


@dataclass(frozen=True)
class Paths:
    """Paths from seeds, the best first; each is of one edge or more.

    Attributes:
        store: the graph.
        nodes: of the store [n, longest + 1]; :data:`NONE` behind the last of a path.
        edges: of the store [n, longest]; likewise.
        inverse: whether an edge is followed against its direction [n, longest].
        scores: by which they are ordered, unless a selector has ordered them [n]; zeros where nothing scored
            them.
    """

    store: PathStore
    nodes: Longs
    edges: Longs
    inverse: NDArray[np.bool_]
    scores: Scores

    def __len__(self) -> int:
        return len(self.nodes)

    @classmethod
    def none(cls, store: PathStore) -> "Paths":
        """Return no paths."""
        nodes, edges = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 1), dtype=np.int64)
        return cls(store, nodes, edges, np.zeros((0, 1), dtype=np.bool_), np.zeros(0))

    @classmethod
    def concatenate(cls, parts: "list[Paths]") -> "Paths":
        """Return paths of one graph, one part behind the other; at least one part."""
        longest = max(part.edges.shape[1] for part in parts)
        padded = [part.padded(longest) for part in parts]
        return cls(
            parts[0].store,
            np.concatenate([one.nodes for one in padded]),
            np.concatenate([one.edges for one in padded]),
            np.concatenate([one.inverse for one in padded]),
            np.concatenate([one.scores for one in padded]),
        )

    def padded(self, longest: int) -> "Paths":
        """Return the same with room for paths of so many edges, at least as many as there is."""
        more = longest - self.edges.shape[1]
        if not more:
            return self
        room = ((0, 0), (0, more))
        return Paths(
            self.store,
            np.pad(self.nodes, room, constant_values=NONE),
            np.pad(self.edges, room, constant_values=NONE),
            np.pad(self.inverse, room),
            self.scores,
        )

    def at(self, places: Longs, scores: Scores | None = None) -> "Paths":
        """Return some of them in the order of their places, with other scores [len(places)] if given."""
        return Paths(
            self.store,
            self.nodes[places],
            self.edges[places],
            self.inverse[places],
            self.scores[places] if scores is None else scores,
        )

    @property
    def lengths(self) -> Longs:
        """Edges of each [n]."""
        found: Longs = (self.edges != NONE).sum(axis=1)
        return found

    @property
    def ends(self) -> Longs:
        """Last node of each [n]."""
        found: Longs = self.nodes[np.arange(len(self)), self.lengths]
        return found

    @cached_property
    def verbalised(self) -> VerbalizedRows:
        """The paths as texts."""
        vocabulary = self.store.vocabulary
        longest = self.edges.shape[1]
        rows = np.full((len(self), 2 * longest + 1), NO_PIECE, dtype=np.int32)
        there, walked = self.nodes != NONE, self.edges != NONE
        rows[:, 0::2][there] = self.store.label_of[self.nodes[there]]
        relations = self.store.edge_relations[self.edges[walked]]
        rows[:, 1::2][walked] = vocabulary.relation_pieces(relations, self.inverse[walked])
        return VerbalizedRows(vocabulary, rows)


@dataclass(frozen=True, slots=True)
class PathQuery:
    """A question and its seeds.

    Attributes:
        question: its text.
        seeds: nodes of the store that it names, without repeats, the surest first; may be none.
    """

    question: str
    seeds: tuple[int, ...]


#: The modules, in the order in which they work.
Module = Literal["extraction", "retrieval", "answer"]
MODULES: tuple[Module, ...] = ("extraction", "retrieval", "answer")


@dataclass(frozen=True)
class Outcome:
    """What an instance makes of a question.

    Attributes:
        instance: its name, with ``-lex`` behind it where rules stood in for the model of a module.
        query: what was asked.
        subgraph: in which paths were looked for.
        paths: that were found, best first; the first ``shown`` of them were read.
        shown: how many paths the answer was made from.
        answer: what was said; its engine says who said it.
        uses: what each module cost.
        seconds: wall clock of each module.
        reason: why there is nothing, such as ``no_seed``; blank where there is.
        cut: more paths were there than are looked at.
    """

    instance: str
    query: PathQuery
    subgraph: Subgraph
    paths: Paths
    shown: int
    answer: PathAnswer
    uses: Mapping[Module, ModuleUse] = field(default_factory=lambda: MappingProxyType({}))
    seconds: Mapping[Module, float] = field(default_factory=lambda: MappingProxyType({}))
    reason: str = ""
    cut: bool = False
