"""Paths that were found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.graph.arrays import Longs, PathStore
from graphrag_dagster.kernel.graph.verbalised import NO_PIECE, Verbalised
from graphrag_dagster.kernel.tasks.ports import Usage
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.tasks import GraphAnswer


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
    def none(cls, store: PathStore, longest: int = 1) -> "Paths":
        """Return no paths."""
        return cls(
            store,
            np.zeros((0, longest + 1), dtype=np.int64),
            np.zeros((0, longest), dtype=np.int64),
            np.zeros((0, longest), dtype=np.bool_),
            np.zeros(0),
        )

    @classmethod
    def joined(cls, parts: "list[Paths]") -> "Paths":
        """Return paths of one graph, one part behind the other; at least one part."""
        longest = max(part.edges.shape[1] for part in parts)
        wide = [part.widened(longest) for part in parts]
        return cls(
            parts[0].store,
            np.concatenate([one.nodes for one in wide]),
            np.concatenate([one.edges for one in wide]),
            np.concatenate([one.inverse for one in wide]),
            np.concatenate([one.scores for one in wide]),
        )

    def widened(self, longest: int) -> "Paths":
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
    def verbalised(self) -> Verbalised:
        """The paths as texts."""
        vocabulary = self.store.vocabulary
        longest = self.edges.shape[1]
        rows = np.full((len(self), 2 * longest + 1), NO_PIECE, dtype=np.int32)
        there, walked = self.nodes != NONE, self.edges != NONE
        rows[:, 0::2][there] = self.store.label_of[self.nodes[there]]
        relations = self.store.edge_relations[self.edges[walked]]
        rows[:, 1::2][walked] = vocabulary.relation_pieces(relations, self.inverse[walked])
        return Verbalised(vocabulary, rows)


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
    answer: GraphAnswer
    uses: Mapping[Module, ModuleUse] = field(default_factory=lambda: MappingProxyType({}))
    seconds: Mapping[Module, float] = field(default_factory=lambda: MappingProxyType({}))
    reason: str = ""
    cut: bool = False
