"""The section ``context``: nodes that resemble a community they are not members of."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from graphrag_dagster.kernel.settings.section import PositiveInt, Section, Seed, SwitchedSection
from graphrag_dagster.kernel.settings.study_settings import Embedding
from graphrag_dagster.systems.context_leiden.index.node_embeddings import Structure, Walking

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings

Penalty = Literal["factor", "subtract"]
Centrality = Literal["max", "textbook"]
Unreachable = Literal["drop", "far"]


class Node2VecSettings(Section):
    """Walks and vectors of node2vec."""

    p: Annotated[float, Field(gt=0, le=1000)] = Field(
        1.0, description="return parameter: going straight back is 1/p times as likely"
    )
    q: Annotated[float, Field(gt=0, le=1000)] = Field(
        1.0,
        description="in-out parameter: going to a node that is no neighbour of the previous one is 1/q times "
        "as likely; with p and q 1 the walks are those of DeepWalk",
    )
    dimension: Annotated[int, Field(ge=2, le=4096)] | None = Field(
        None, description="numbers of a vector; default: 128, in graphs of less than 1,000 nodes 64"
    )
    walks: Annotated[PositiveInt, Field(le=1000)] = Field(10, description="walks from each node")
    length: Annotated[int, Field(ge=2, le=1000)] = Field(40, description="nodes of a walk")

    @property
    def walking(self) -> Walking:
        """What the walks are made by."""
        return Walking(self.p, self.q, self.dimension, self.walks, self.length)


class ContextSettings(SwitchedSection):
    """Context nodes of communities, found by Context-Aware Leiden."""

    embedding: Embedding = Field(
        "text",
        description="embedding that nodes are compared by: vectors of their texts; their position in the "
        "graph by node2vec (extra node2vec) or by spectral, which gives the same result on every "
        "machine; or both: concat joins the vectors, mean averages them",
    )
    structure: Structure = Field("spectral", description="graph embedding used by concat and mean")
    node2vec: Node2VecSettings = Field(
        default_factory=Node2VecSettings, description="walks and vectors of node2vec"
    )
    include_self: bool = Field(
        True,
        description="whether a node counts in the similarity with its own community, as in the formula; "
        "false makes more nodes misaligned",
    )
    lambda_max: Annotated[int, Field(ge=0, le=1000)] = Field(
        10, description="most context nodes per community"
    )
    alpha: Annotated[float, Field(ge=0, le=1000)] = Field(
        1.0, description="context nodes per community: alpha · log₂(candidates + 1), rounded down"
    )
    penalty: Penalty = Field(
        "factor",
        description="penalty for central nodes: the score is multiplied by 1 / (1 + betweenness), or gamma · "
        "betweenness is subtracted",
    )
    gamma: Annotated[float, Field(ge=0, le=1000)] = Field(
        0.1, description="factor of the betweenness to subtract"
    )
    centrality: Centrality = Field(
        "max",
        description="divisor of the betweenness: the maximum, or the number of pairs of other nodes, which "
        "makes it negligible in large graphs",
    )
    exact_up_to: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        5000, description="most nodes for exact betweenness; in larger graphs it is sampled"
    )
    pivots: PositiveInt = Field(512, description="nodes to sample it from")
    max_hops: Annotated[int, Field(ge=1, le=100)] = Field(
        6, description="most edges to a community for a node to be within reach"
    )
    min_sim: Annotated[float, Field(ge=-1, lt=1)] = Field(
        0.0, description="similarity that a context node must exceed"
    )
    unreachable: Unreachable = Field(
        "drop",
        description="nodes out of reach: drop them, or treat them as one edge further than the furthest",
    )
    seed: Seed = Field(0, description="seed of pivots, walks and projections")

    @property
    def needs_texts(self) -> bool:
        """Whether nodes are also compared by their texts."""
        return self.embedding in ("text", "concat", "mean")

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Return an error if vectors that entities are compared by are not stored."""
        compares = self.enabled and self.needs_texts
        return settings.missing_vectors_error(f"context.embedding {self.embedding}") if compares else None
