"""The section ``context``: nodes that resemble a community which they are no members of."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from graphrag_dagster.kernel.settings.section import PositiveInt, Seed, SwitchedSection
from graphrag_dagster.kernel.settings.studies import Embedding
from graphrag_dagster.systems.context_leiden.index.vectors.making import Structure

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus import CorpusSettings

Penalty = Literal["factor", "subtract"]
Centrality = Literal["max", "textbook"]
Unreachable = Literal["drop", "far"]


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
        True,
        description="a node counts in the similarity with its own community, as the formula has it; without, "
        "more are misaligned",
    )
    lambda_max: Annotated[int, Field(ge=0, le=1000)] = Field(
        10, description="most context nodes of a community"
    )
    alpha: Annotated[float, Field(ge=0, le=1000)] = Field(
        1.0, description="context nodes of a community: alpha · log₂(candidates + 1), rounded down"
    )
    penalty: Penalty = Field(
        "factor",
        description="what central nodes lose: the score is multiplied by 1 / (1 + betweenness), or gamma · "
        "betweenness is subtracted",
    )
    gamma: Annotated[float, Field(ge=0, le=1000)] = Field(
        0.1, description="factor of the betweenness that is subtracted"
    )
    centrality: Centrality = Field(
        "max",
        description="what the betweenness is divided by: the largest, or the number of pairs of other nodes, "
        "by which it is next to nothing in large graphs",
    )
    exact_up_to: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        5000, description="nodes up to which the betweenness is exact; beyond, it is sampled"
    )
    pivots: PositiveInt = Field(512, description="nodes that it is sampled from")
    max_hops: Annotated[int, Field(ge=1, le=100)] = Field(
        6, description="edges to a community up to which a node is within reach"
    )
    min_sim: Annotated[float, Field(ge=-1, lt=1)] = Field(
        0.0, description="similarity that a context node must exceed"
    )
    unreachable: Unreachable = Field(
        "drop",
        description="nodes out of reach: dropped, or taken as one edge further than the furthest",
    )
    seed: Seed = Field(0, description="seed of pivots, walks and projections")

    @property
    def needs_texts(self) -> bool:
        """Whether nodes are compared by their texts, too."""
        return self.embedding in ("text", "concat", "mean")

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Say that vectors are not kept that entities are compared by."""
        compares = self.enabled and self.needs_texts
        return settings.lacks_vectors(f"context.embedding {self.embedding}") if compares else None
