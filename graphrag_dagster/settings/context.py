"""The section ``context``: nodes that resemble a community which they are no members of."""

from typing import Annotated

from pydantic import Field

from graphrag_dagster.core.graph.context.options import (
    Centrality,
    ContextOptions,
    Penalty,
    Unreachable,
)
from graphrag_dagster.core.graph.context.vectors.making import Embedding, Structure
from graphrag_dagster.settings.section import PositiveInt, Seed, SwitchedSection

_OWN = ContextOptions()


class ContextSettings(SwitchedSection):
    """Context nodes of communities, by Context-Aware Leiden."""

    embedding: Embedding = Field(
        "text",
        description="what nodes are compared by: the vectors of their texts, their place in the graph by "
        "node2vec (extra node2vec) or by spectral, which is the same on every machine, or both: concat puts "
        "the vectors side by side, mean averages them",
    )
    structure: Structure = Field(
        "spectral", description="what concat and mean have from the place in the graph"
    )
    include_self: bool = Field(
        _OWN.include_self,
        description="a node counts in the similarity with its own community, as the formula has it; without, "
        "more are misaligned",
    )
    lambda_max: Annotated[int, Field(ge=0, le=1000)] = Field(
        _OWN.lambda_max, description="most context nodes of a community"
    )
    alpha: Annotated[float, Field(ge=0, le=1000)] = Field(
        _OWN.alpha, description="context nodes of a community: alpha · log₂(candidates + 1), rounded down"
    )
    penalty: Penalty = Field(
        _OWN.penalty,
        description="what central nodes lose: the score is multiplied by 1 / (1 + betweenness), or gamma · "
        "betweenness is subtracted",
    )
    gamma: Annotated[float, Field(ge=0, le=1000)] = Field(
        _OWN.gamma, description="factor of the betweenness that is subtracted"
    )
    centrality: Centrality = Field(
        _OWN.centrality,
        description="what the betweenness is divided by: the largest, or the number of pairs of other nodes, "
        "by which it is next to nothing in large graphs",
    )
    exact_up_to: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        _OWN.exact_up_to, description="nodes up to which the betweenness is exact; beyond, it is sampled"
    )
    pivots: PositiveInt = Field(_OWN.pivots, description="nodes that it is sampled from")
    max_hops: Annotated[int, Field(ge=1, le=100)] = Field(
        _OWN.max_hops, description="edges to a community up to which a node is within reach"
    )
    min_sim: Annotated[float, Field(ge=-1, lt=1)] = Field(
        _OWN.min_sim, description="similarity that a context node must exceed"
    )
    unreachable: Unreachable = Field(
        _OWN.unreachable,
        description="nodes out of reach: dropped, or taken as one edge further than the furthest",
    )
    seed: Seed = Field(_OWN.seed, description="seed of pivots, walks and projections")

    @property
    def options(self) -> ContextOptions:
        """How context nodes are chosen."""
        own = ContextOptions.__dataclass_fields__
        return ContextOptions(**self.model_dump(include=set(own)))

    @property
    def needs_texts(self) -> bool:
        """Whether nodes are compared by their texts, too."""
        return self.embedding in ("text", "concat", "mean")
