"""How questions are answered."""

from dataclasses import dataclass, field
from typing import Literal

from graphrag_dagster.catalogue.support import JudgeName
from graphrag_dagster.core.coterag.options import AnswerOptions
from graphrag_dagster.core.paths.recipes import DEFAULT, Recipe
from graphrag_dagster.core.search.retrieval.ranking import Mode


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the context's tokens, each 0–1; the rest, and what a section leaves over, is for sources."""

    reports: float = 0.1
    entities: float = 0.08
    relationships: float = 0.08
    claims: float = 0.04

    @property
    def of_graph(self) -> float:
        """What is not for sources from the first."""
        return self.reports + self.entities + self.relationships + self.claims


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """How the way ``graph`` answers; the meaning of each is that of the setting of the same name."""

    summaries: int = 5
    facts: int = 30
    queries: Literal["templates", "model"] = "model"
    propagation: bool = True
    brought_in: int = 10


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How questions are answered; the meaning of each is that of the setting of the same name.

    ``coterag`` and ``paths``: how CoTeRAG-S and the way ``paths`` do, which have sections of their own.
    """

    routing: Literal["rules", "model"] = "rules"
    context_tokens: int = 8000
    seed: int = 86
    level: int = 1
    retrieval: Mode = "hybrid"
    shares: Shares = field(default_factory=Shares)
    relevant_from: int = 1
    steps: int = 2
    follow_ups: int = 3
    support: JudgeName = "words"
    graph: GraphOptions = field(default_factory=GraphOptions)
    sql: Literal["templates", "model"] = "templates"
    soft_filters: bool = True
    rerank_first: int = 60
    coterag: AnswerOptions = field(default_factory=AnswerOptions)
    paths: Recipe = DEFAULT
