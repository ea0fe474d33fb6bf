"""The section ``coterag``: communities, terms and summaries over directed triples, with a fallback store."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from graphrag_dagster.kernel.settings.section import EngineName, PositiveInt, Section, Seed, SwitchedSection
from graphrag_dagster.systems.coterag.coterag_options import (
    PAPER,
    CoverageRule,
    Matched,
    Order,
    Profile,
    SummariesShown,
    TailTemplate,
    TermUnit,
    TermWeights,
    order_problem,
)
from graphrag_dagster.systems.coterag.index.entity_descriptions import MOST_TOKENS
from graphrag_dagster.systems.coterag.index.triple_communities import KEPT_COMPONENT, LEAST_MEMBERS

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings

Threshold = Annotated[float, Field(ge=0, lt=1)]
Quantile = Annotated[float, Field(gt=0, lt=1)]


class CoteragThresholds(Section):
    """Thresholds to exceed; those not given come from the profile."""

    community: Threshold | None = Field(
        None, description=f"cosine of the question with a community's summary; in the paper {PAPER.community}"
    )
    covered: Threshold | None = Field(
        None,
        description="the same for a community that covers enough of the question's terms (coverage); at most "
        "community; default: 0 if the profile is calibrated, else community, as in the paper",
    )
    coverage: Threshold = Field(
        PAPER.coverage,
        description="share of the question's terms that a community covers; the same in every profile",
    )
    entity: Threshold | None = Field(
        None, description=f"cosine with the description of an entity; in the paper {PAPER.entity}"
    )
    traversal: Threshold | None = Field(
        None,
        description=f"cosine with the next entity of a path; at most entity; in the paper {PAPER.traversal}",
    )
    chunk: Threshold | None = Field(
        None, description=f"cosine with a text unit; at most entity; in the paper {PAPER.chunk}"
    )
    fallback: Threshold | None = Field(
        None,
        description=f"cosine with a text unit of the preserved store; above entity; in the paper "
        f"{PAPER.fallback}",
    )

    def explicit_values(self) -> dict[str, float]:
        """Return the given thresholds by name; the coverage is always included."""
        return {name: value for name, value in self if value is not None}


class CoteragQuantiles(Section):
    """Quantiles of the cosines between unrelated texts of the corpus, for calibrated thresholds."""

    community: Quantile = Field(0.90, description="for summaries")
    entity: Quantile = Field(0.97, description="for descriptions of entities")
    traversal: Quantile = Field(0.97, description="for descriptions; at most entity")
    chunk: Quantile = Field(0.95, description="for text units")
    fallback: Quantile = Field(0.99, description="for text units of the preserved store")
    route: Quantile = Field(
        0.95, description="for descriptions, to decide whether a question needs the documents"
    )

    @model_validator(mode="after")
    def _check_order(self) -> "CoteragQuantiles":
        if problem := order_problem(self.model_dump()):
            raise ValueError(problem)
        return self


class CoteragFallback(Section):
    """When to search the preserved store, with a switch for each reason, and how far."""

    search_more: bool = Field(True, description="the answer asks for more")
    validator: bool = Field(True, description="the validator finds the answer insufficient")
    no_community: bool = Field(True, description="no community matches the question")
    coverage: bool = Field(False, description="a term of the question is missing from the context")
    support: bool = Field(
        False, description="too few statements of the answer are supported by what they cite"
    )
    support_below: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="the share below which there are too few"
    )
    rounds: Annotated[int, Field(ge=0, le=10)] = Field(
        2, description="most rounds per question; 0: never search the store"
    )
    entities: Annotated[PositiveInt, Field(le=10_000)] = Field(
        10, description="nearest entities of the store whose text units are compared in the first round"
    )
    most_entities: Annotated[PositiveInt, Field(le=10_000)] = Field(
        20, description="the same in the last round"
    )
    chunks: Annotated[PositiveInt, Field(le=1000)] = Field(5, description="most text units that a round adds")
    units_without_entities: bool = Field(
        True, description="search text units of no entity, too; in the paper those of entities alone"
    )

    @model_validator(mode="after")
    def _check_growth(self) -> "CoteragFallback":
        if self.most_entities < self.entities:
            raise ValueError(
                f"most_entities ({self.most_entities}) must be at least entities ({self.entities})"
            )
        return self

    def entities_of(self, round_: int) -> int:
        """Return the number of entities for a round, 1…``rounds``; it grows evenly."""
        if self.rounds < 2:
            return self.entities
        return self.entities + (self.most_entities - self.entities) * (round_ - 1) // (self.rounds - 1)


class CoteragSettings(SwitchedSection):
    """CoTeRAG-S."""

    profile: Profile = Field(
        "calibrated",
        description="source of the thresholds: quantiles of the corpus's own cosines; the paper's, as raw "
        "cosines; or the paper's, with those of communities and entities read as scores of a "
        "vector index, (1 + cosine) / 2",
    )
    engine: EngineName | None = Field(
        None,
        description="engine that summarises communities, routes, answers and validates; default: the "
        "corpus's engine",
    )
    thresholds: CoteragThresholds = Field(default_factory=CoteragThresholds)
    quantiles: CoteragQuantiles = Field(default_factory=CoteragQuantiles)
    least_component: PositiveInt = Field(
        KEPT_COMPONENT,
        description="smallest size of a weakly connected component in the main graph; smaller ones go to the "
        "preserved store for the fallback",
    )
    least_community: PositiveInt = Field(
        LEAST_MEMBERS, description="smallest community with a summary; smaller ones are only listed"
    )
    seed: Seed = Field(0xDEADBEEF, description="seed of the clustering and of the calibration questions")
    resolution: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        1.0, description="resolution of the modularity"
    )
    match: Matched = Field(
        "own",
        description="communities that questions are matched with: own flat communities, or those of Ck",
    )
    tail_template: TailTemplate = Field(
        "no_outgoing",
        description="entities described by a template instead of triples: those that are the head of none, "
        "or only those without any",
    )
    description_tokens: PositiveInt = Field(MOST_TOKENS, description="most tokens of an entity's description")
    summary_words: PositiveInt = Field(250, description="most words of an extractive summary's sentences")
    summary_tokens: Annotated[PositiveInt, Field(ge=200)] = Field(
        32_000, description="most tokens of a community shown to a model"
    )
    exact_names: Annotated[int, Field(ge=0, le=1000)] = Field(
        20, description="number of best linked entities whose exact names every summary contains"
    )
    coverage: CoverageRule = Field(
        "class",
        description="communities that cover too few of the question's terms: rank them behind the others "
        "(class), drop them (strict), or rank them as equals (all)",
    )
    coverage_unit: TermUnit = Field("words", description="units of coverage: single words, or whole phrases")
    term_weights: TermWeights = Field(
        "none", description="weights of terms; idf: terms that occur in few communities count more"
    )
    order: Order | None = Field(
        None,
        description="ranking of communities within a class and of text units: by similarity alone, as in the "
        "paper and its profiles, or also by shared terms with the question and the nearest member "
        "of a community; default: terms if the profile is calibrated",
    )
    communities: Annotated[int, Field(ge=0, le=1000)] = Field(
        3, description="most communities per question; 0: search entities and paths in the whole graph"
    )
    entities: Annotated[PositiveInt, Field(le=10_000)] = Field(
        10, description="most entities that paths start from"
    )
    hops: Annotated[int, Field(ge=0, le=100)] = Field(5, description="most edges of a path")
    relations: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list, max_length=1000, description="relations that paths follow; []: all"
    )
    triples: Annotated[int, Field(ge=0, le=10_000)] = Field(30, description="most triples in the context")
    chunks: Annotated[PositiveInt, Field(le=1000)] = Field(
        5, description="most text units in the context, distinct by text"
    )
    summaries: SummariesShown = Field(
        "all", description="include the summaries of the matched communities in the context"
    )
    overview: bool = Field(
        False,
        description="open answers with an overview from the summary of the best community, as in the paper",
    )
    fallback: CoteragFallback = Field(default_factory=CoteragFallback)

    @model_validator(mode="after")
    def _check_thresholds(self) -> "CoteragSettings":
        own = self.thresholds.explicit_values()
        calibrated = self.profile == "calibrated"
        values = own if calibrated else {**dict(PAPER), "covered": 0.0, **own}
        if problem := order_problem(values, calibrated=calibrated):
            raise ValueError(f"thresholds: {problem}")
        return self

    @property
    def everywhere(self) -> bool:
        """Whether entities and paths come from the whole graph, whatever communities match."""
        return not self.communities

    @property
    def ranked_by(self) -> Order:
        """How communities within a class and text units are ranked; see ``order``."""
        return self.order or ("terms" if self.profile == "calibrated" else "similarity")

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Return why the vectors of the corpus cannot be compared with the thresholds."""
        if not self.enabled:
            return None
        given = [key for key in ("query_prefix", "document_prefix") if getattr(settings.embeddings, key)]
        if given and self.profile != "calibrated":
            return (
                f"embeddings.{given[0]} is set, but the thresholds of coterag.profile {self.profile} apply "
                "to vectors without prefixes; remove embeddings.query_prefix and "
                "embeddings.document_prefix, or set coterag.profile to calibrated"
            )
        return settings.missing_vectors_error("coterag")

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in a prompt."""
        return {"summarise": ("coterag.summary_tokens", self.summary_tokens)}
