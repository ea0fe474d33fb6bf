"""The section ``coterag``: communities, terms and summaries over directed triples, with a fallback store."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from graphrag_dagster.kernel.settings.section import EngineName, PositiveInt, Section, Seed, SwitchedSection
from graphrag_dagster.systems.coterag.index.communities import LEAST_MEMBERS
from graphrag_dagster.systems.coterag.index.descriptions import MOST_TOKENS
from graphrag_dagster.systems.coterag.index.triples import KEPT_COMPONENT
from graphrag_dagster.systems.coterag.options import (
    PAPER,
    CoverageRule,
    Matched,
    Order,
    Profile,
    SummariesShown,
    TailTemplate,
    TermUnit,
    TermWeights,
    disorder,
)

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus import CorpusSettings

Threshold = Annotated[float, Field(ge=0, lt=1)]
Quantile = Annotated[float, Field(gt=0, lt=1)]


class CoteragThresholds(Section):
    """What has to be exceeded; what is not given is as the profile has it."""

    community: Threshold | None = Field(
        None, description=f"cosine of the question with a community's summary; in the paper {PAPER.community}"
    )
    coverage: Threshold = Field(
        PAPER.coverage, description="share of the question's terms that a community covers, by any profile"
    )
    entity: Threshold | None = Field(
        None, description=f"cosine with the description of an entity; in the paper {PAPER.entity}"
    )
    traversal: Threshold | None = Field(
        None,
        description=f"cosine with an entity that a path goes on to; not above entity; in the paper "
        f"{PAPER.traversal}",
    )
    chunk: Threshold | None = Field(
        None, description=f"cosine with a text unit; not above entity; in the paper {PAPER.chunk}"
    )
    fallback: Threshold | None = Field(
        None,
        description=f"cosine with a text unit of the preserved store; above entity; in the paper "
        f"{PAPER.fallback}",
    )

    def given(self) -> dict[str, float]:
        """Return what is given, by name; the coverage always is."""
        return {name: value for name, value in self if value is not None}


class CoteragQuantiles(Section):
    """Shares of the cosines between unrelated texts of the corpus that calibrated thresholds exceed."""

    community: Quantile = Field(0.10, description="of summaries")
    entity: Quantile = Field(0.97, description="of descriptions of entities")
    traversal: Quantile = Field(0.97, description="of descriptions; not above entity")
    chunk: Quantile = Field(0.95, description="of text units")
    fallback: Quantile = Field(0.99, description="of text units, for the preserved store")
    route: Quantile = Field(0.95, description="of descriptions, for whether a question needs the documents")

    @model_validator(mode="after")
    def _in_order(self) -> "CoteragQuantiles":
        if problem := disorder(self.model_dump()):
            raise ValueError(problem)
        return self


class CoteragFallback(Section):
    """When the preserved store is searched, each reason by a switch, and how far."""

    search_more: bool = Field(True, description="the answer asks for more")
    validator: bool = Field(True, description="the validator finds the answer insufficient")
    no_community: bool = Field(True, description="no community matches the question")
    coverage: bool = Field(False, description="a term of the question stands nowhere in the context")
    support: bool = Field(
        False, description="too few statements of the answer are supported by what they cite"
    )
    support_below: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="share of them that is too few"
    )
    rounds: Annotated[int, Field(ge=0, le=10)] = Field(
        2, description="most rounds for a question; 0: the store is never searched"
    )
    entities: Annotated[PositiveInt, Field(le=10_000)] = Field(
        10, description="nearest entities of the store whose text units are compared at first"
    )
    most_entities: Annotated[PositiveInt, Field(le=10_000)] = Field(
        20, description="as many in the last round"
    )
    chunks: Annotated[PositiveInt, Field(le=1000)] = Field(5, description="most text units that a round adds")

    @model_validator(mode="after")
    def _grows(self) -> "CoteragFallback":
        if self.most_entities < self.entities:
            raise ValueError(
                f"most_entities ({self.most_entities}) may not be below entities ({self.entities})"
            )
        return self

    def entities_of(self, round_: int) -> int:
        """Return how many entities are taken in a round, 1…``rounds``; they grow evenly."""
        if self.rounds < 2:
            return self.entities
        return self.entities + (self.most_entities - self.entities) * (round_ - 1) // (self.rounds - 1)


class CoteragSettings(SwitchedSection):
    """CoTeRAG-S."""

    profile: Profile = Field(
        "calibrated",
        description="where thresholds come from: quantiles of the corpus's own cosines; the paper's as raw "
        "cosines; or the paper's, those of communities and entities taken for scores of a vector index, "
        "(1 + cosine) / 2",
    )
    engine: EngineName | None = Field(
        None,
        description="who summarises communities, routes, answers and validates; default: the corpus's engine",
    )
    thresholds: CoteragThresholds = Field(default_factory=CoteragThresholds)
    quantiles: CoteragQuantiles = Field(default_factory=CoteragQuantiles)
    least_component: PositiveInt = Field(
        KEPT_COMPONENT,
        description="entities from which a weakly connected component is of the main graph; others are "
        "preserved for the fallback",
    )
    least_community: PositiveInt = Field(
        LEAST_MEMBERS, description="entities below which a community is only listed, not summarised"
    )
    seed: Seed = Field(0xDEADBEEF, description="seed of the clustering and of the calibration's questions")
    resolution: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        1.0, description="resolution of modularity"
    )
    match: Matched = Field(
        "own", description="communities that questions are matched with: its own flat ones, or those of Ck"
    )
    tail_template: TailTemplate = Field(
        "no_outgoing",
        description="which entities a template describes instead of triples: those that are the head of "
        "none, or only those without any",
    )
    description_tokens: PositiveInt = Field(MOST_TOKENS, description="longest description of an entity")
    summary_words: PositiveInt = Field(
        250, description="most words of the sentences of an extractive summary"
    )
    summary_tokens: Annotated[PositiveInt, Field(ge=200)] = Field(
        32_000, description="tokens of a community as a model is shown it"
    )
    exact_names: Annotated[int, Field(ge=0, le=1000)] = Field(
        20, description="best linked entities whose exact names every summary holds"
    )
    coverage: CoverageRule = Field(
        "class",
        description="communities that cover too few of the question's terms: ranked behind the others "
        "(class), dropped (strict), or as good as the others (all)",
    )
    coverage_unit: TermUnit = Field(
        "words", description="what is covered: single words, or phrases as a whole"
    )
    term_weights: TermWeights = Field(
        "none", description="idf: terms that few communities speak of count more"
    )
    order: Order | None = Field(
        None,
        description="what communities of a class and text units are ranked by: their similarity alone, as "
        "in the paper and by its profiles, or also the terms of the question that they hold, and the nearest "
        "member of a community; default: terms where the profile is calibrated",
    )
    communities: Annotated[int, Field(ge=0, le=1000)] = Field(
        3, description="most communities for a question; 0: entities and paths are those of the whole graph"
    )
    entities: Annotated[PositiveInt, Field(le=10_000)] = Field(
        10, description="most entities that paths start from"
    )
    hops: Annotated[int, Field(ge=0, le=100)] = Field(5, description="longest path")
    relations: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list, max_length=1000, description="relations that paths follow; []: all"
    )
    triples: Annotated[int, Field(ge=0, le=10_000)] = Field(30, description="most triples of the context")
    chunks: Annotated[PositiveInt, Field(le=1000)] = Field(
        5, description="most text units of the context, distinct by text"
    )
    summaries: SummariesShown = Field(
        "all", description="summaries of the matched communities that are in the context"
    )
    fallback: CoteragFallback = Field(default_factory=CoteragFallback)

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> "CoteragSettings":
        own = self.thresholds.given()
        calibrated = self.profile == "calibrated"
        if problem := disorder(own if calibrated else {**dict(PAPER), **own}, calibrated=calibrated):
            raise ValueError(f"thresholds: {problem}")
        return self

    @property
    def everywhere(self) -> bool:
        """Whether entities and paths are those of the whole graph, whatever communities match."""
        return not self.communities

    @property
    def ranked_by(self) -> Order:
        """What communities of a class and text units are ranked by; see ``order``."""
        return self.order or ("terms" if self.profile == "calibrated" else "similarity")

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Say why the vectors of the corpus cannot be compared with the thresholds."""
        if not self.enabled:
            return None
        given = [key for key in ("query_prefix", "document_prefix") if getattr(settings.embeddings, key)]
        if given and self.profile != "calibrated":
            return (
                f"embeddings.{given[0]} is set, but the thresholds of coterag.profile {self.profile} "
                "are of vectors without prefixes; leave embeddings.query_prefix and "
                "embeddings.document_prefix blank, or set coterag.profile to calibrated"
            )
        return settings.lacks_vectors("coterag")

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in a prompt."""
        return {"summarise": ("coterag.summary_tokens", self.summary_tokens)}
