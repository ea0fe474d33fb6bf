"""The section ``paths``: LEGO-GraphRAG, fifteen instances that retrieve reasoning paths."""

import re
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import Direction, Prefilter
from graphrag_dagster.kernel.settings.section import (
    EngineName,
    PositiveInt,
    Section,
    Seed,
    SwitchedSection,
    path_below,
)
from graphrag_dagster.systems.lego.search.instance_definitions import (
    DEFAULT,
    INSTANCES,
    LEX,
    REFUSED,
    AnswerForm,
    BaseExtraction,
    Expansion,
    IsarOrder,
    Judged,
    Parsing,
    Partitions,
    PathOptions,
    Pruning,
    PruningLevel,
    Recipe,
    Retrieval,
    ScorerName,
    Switches,
    TieRule,
    instance,
    needs_beforehand,
)
from graphrag_dagster.systems.lego.subgraphs.recall_constraint import FEWEST

_SWITCHES = Switches()
_PREFILTER = Prefilter()
Relation = Annotated[str, Field(min_length=1, max_length=1000)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


class PrefilterSettings(Section):
    """Relations excluded from the graph, as of Freebase; an empty list excludes none."""

    relations: list[Relation] = Field(
        default_factory=lambda: list(_PREFILTER.relations), description="full names"
    )
    prefixes: list[Relation] = Field(
        default_factory=lambda: list(_PREFILTER.prefixes), description="prefixes"
    )
    parts: list[Relation] = Field(default_factory=lambda: list(_PREFILTER.parts), description="substrings")

    def prefilter(self) -> Prefilter:
        """Return the excluded relations."""
        return Prefilter(tuple(self.relations), tuple(self.prefixes), tuple(self.parts))


class PathSwitches(Section):
    """Additional steps on paths, alone or combined (paper B.6, B.8, B.9)."""

    triple_level: bool = Field(
        _SWITCHES.triple_level, description="ISAR-EEMs: rank paths by their last triple alone"
    )
    dynamic_prune: bool = Field(
        _SWITCHES.dynamic_prune,
        description="ISAR-EEMs: keep the paths of each step whose score is at least the mean",
    )
    percentile: Annotated[float, Field(ge=0, le=100)] | None = Field(
        _SWITCHES.percentile, description="percentile of the scores to use instead of the mean"
    )
    combine: bool = Field(
        _SWITCHES.combine,
        description="ISAR-EEMs: dynamic_prune for questions of one hop, triple_level for others, by a "
        "predictor of hops",
    )
    refine: bool = Field(_SWITCHES.refine, description="ISAR-EEMs: LLMs-R, select from the 32 best paths")
    early_stop: bool = Field(
        _SWITCHES.early_stop, description="ISAR-EEMs: LLMs-ES, ask at each step whether the paths are enough"
    )
    prefilter: Count = Field(
        _SWITCHES.prefilter,
        description="ISAR-LLMs: EEMs-PF, number of best-scored candidates to select from; 0: all",
    )
    supplement: bool = Field(_SWITCHES.supplement, description="-LLMs: EEMs-S, fill up a selection by score")
    rerank: bool = Field(_SWITCHES.rerank, description="OSAR-LLMs: EEMs-R, score the selection again")
    window: Count = Field(
        _SWITCHES.window,
        description="OSAR-LLMs: M-LLMs, size of the batches to select from before the final selection; 0: "
        "one selection",
    )
    llm_embeddings: bool = Field(
        _SWITCHES.llm_embeddings,
        description="OSAR-LLMs: LLMs-E, compare paths by the hidden states of a model on this machine",
    )


class PathRecallSettings(SwitchedSection):
    """Recall as a constraint: the smallest subgraph that contains enough of the answers (paper B.5)."""

    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        0.6,
        description="share of the answers that the subgraph must contain, before the question's class is "
        "considered",
    )
    application: Literal["normal", "critical", "lightweight"] = Field(
        "normal",
        description="critical, such as health, law and finance: higher; lightweight: lower",
    )
    windows: list[PositiveInt] = Field(
        default_factory=lambda: [8, 16, 32, 64, 128, 256, 512, 1000],
        min_length=1,
        description="sizes of the subgraph to measure and choose from",
    )
    development: PositiveInt = Field(200, description="questions with answers to measure them on")
    log: str | None = Field(
        None,
        description="csv of answered questions below the corpus folder, columns class, threshold and "
        "correct; the threshold of a class is learned from it; it is not a document of the corpus",
    )
    feedback: PositiveInt = Field(
        FEWEST, description="fewest questions of a class in the log for learning its threshold"
    )

    @field_validator("log")
    @classmethod
    def _check_log_path(cls, file: str | None) -> str | None:
        return None if file is None else path_below(file)

    @field_validator("windows")
    @classmethod
    def _check_rising(cls, windows: list[int]) -> list[int]:
        return sorted(set(windows))


_OWN = PathOptions()
_NAMES = ", ".join(one.name for one in INSTANCES)
Hops = Annotated[int, Field(ge=1, le=20)]


def instances_without_model() -> list[str]:
    """Return the names of the instances that use no model."""
    return [one.name for one in INSTANCES if not one.asks_model]


class CustomInstance(Section):
    """A custom combination of modules; modules not given are set as in the section."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.+ -]{0,40}$")] = Field(
        description="name of the instance"
    )
    extraction: BaseExtraction = Field(_OWN.extraction, description="module that extracts the subgraph")
    pruning: Pruning = Field(_OWN.pruning, description="module that prunes it")
    pruning_level: PruningLevel | None = Field(None, description="elements to prune")
    retrieval: Retrieval = Field(_OWN.retrieval, description="module that finds paths")
    judged: Judged = Field(_OWN.judged, description="module that refines the paths")
    scorer: ScorerName | None = Field(None, description="scorer")
    scorer_model: str | None = Field(None, description="model of the scorer")
    max_ent: PositiveInt | None = Field(None, description="most nodes of the subgraph")
    ties: TieRule | None = Field(None, description="order of equally long shortest paths")
    partitions: Partitions | None = Field(None, description="partition: source of the communities")
    switches: PathSwitches | None = Field(None, description="additional switches")
    reports: bool = Field(False, description="also read the reports of the seeds' communities")

    @field_validator("extraction", mode="before")
    @classmethod
    def _check_module(cls, name: object) -> object:
        if why := REFUSED.get(str(name)):
            raise ValueError(f"{name} is not available: {why}")
        return name

    def recipe(self, base: Recipe) -> Recipe:
        """Return the recipe of the instance, completed from the section."""
        told = {name: value for name in _MODULES if (value := getattr(self, name)) is not None}
        switches = base.options.switches if self.switches is None else Switches(**self.switches.model_dump())
        return Recipe(
            self.name,
            replace(base.options, **told, switches=switches),
            self.scorer_model or base.scorer_model,
            self.reports,
        )


_MODULES = (
    *("extraction", "pruning", "pruning_level", "retrieval", "judged", "scorer", "max_ent", "ties"),
    "partitions",
)


class PathSettings(SwitchedSection):
    """LEGO-GraphRAG: paths of the graph that answer questions, and their scores against gold answers."""

    engine: EngineName | None = Field(
        None,
        description="engine that selects paths and answers; default: the corpus's engine. If it uses no "
        "model, rules replace the model of an instance, whose name then ends in -lex",
    )
    questions: list[str] = Field(
        default_factory=list,
        description="files below the corpus folder with questions, their entities, answers and hops: jsonl, "
        "json, parquet, csv, tsv, or MetaQA's txt; they are not documents of the corpus",
    )
    instances: list[str] = Field(
        default_factory=instances_without_model,
        description=f"instances to run: {_NAMES}; default: those that use no model",
    )
    answering: str = Field(
        DEFAULT.name,
        description="instance, custom ones included, that the search method `paths` uses",
    )
    custom: list[CustomInstance] = Field(
        default_factory=list, max_length=1000, description="other combinations of modules to run"
    )
    sample: PositiveInt | None = Field(
        None, description="size of the random sample for each number of hops; default: all questions"
    )
    seed: Seed = Field(_OWN.seed, description="seed of the sample, the random walks and the random scorer")
    studied: PositiveInt = Field(
        100, description="size of the random sample of questions with answers that a study asks"
    )
    processes: Annotated[int, Field(ge=0, le=1000)] = Field(
        0,
        description="processes for instances without a model; 0: chosen by the number of questions and "
        "processors",
    )
    embedded_links: bool = Field(
        True,
        description="link a question that names no entity to entities with similar names, by vectors",
    )
    direction: Direction = Field(
        _OWN.direction,
        description="follow edges in their direction only, or both ways; auto: both, unless a fifth of the "
        "pairs of nodes has an edge back",
    )
    prefilter: PrefilterSettings = Field(default_factory=PrefilterSettings)
    scorer: ScorerName = Field(
        _OWN.scorer,
        description="how questions are compared with nodes, relations, triples and paths: packaged static "
        "vectors, MiniLM (extra sentence-transformers), the corpus's embedder, BM25, a "
        "cross-encoder (same extra), or at random",
    )
    relation_words: bool = Field(
        _OWN.relation_words,
        description="show relations to scorers as words, directed_by as “directed by”; false: unchanged",
    )
    scorer_model: str | None = Field(
        None, description="for minilm and cross-encoder a folder, or a hub name; default: the built-in one"
    )
    max_ent: PositiveInt = Field(_OWN.max_ent, description="most nodes of a subgraph")
    damping: Annotated[float, Field(gt=0, lt=1)] = Field(
        _OWN.damping, description="probability that PageRank follows an edge"
    )
    pruning_level: PruningLevel = Field(
        _OWN.pruning_level,
        description="elements that SAE prunes by; auto: triples if the graph has fewer than 64 relations, "
        "else relations",
    )
    max_edge: PositiveInt = Field(_OWN.max_edge, description="relations to keep in a subgraph")
    max_triples: PositiveInt = Field(_OWN.max_triples, description="triples to keep")
    max_nodes: PositiveInt = Field(_OWN.max_nodes, description="nodes to keep")
    hops: Hops = Field(_OWN.hops, description="khop: edges from a seed")
    walks: PositiveInt = Field(_OWN.walks, description="walks: number of walks from each seed")
    walk_steps: Hops = Field(_OWN.walk_steps, description="walks: steps of each walk")
    top_k: PositiveInt = Field(_OWN.top_k, description="OSAR: paths to keep")
    beam: PositiveInt = Field(_OWN.beam, description="ISAR: paths to keep at each step")
    max_hop: Hops = Field(_OWN.max_hop, description="most edges of a path")
    cap: PositiveInt = Field(_OWN.cap, description="ISAR: most edges of a node to consider")
    expansion: Expansion = Field(
        _OWN.expansion,
        description="ISAR: which edges to consider beyond that: the best by score, or the first as stored, "
        "one per neighbour",
    )
    allow_revisit: bool = Field(_OWN.allow_revisit, description="ISAR: whether a path may return to a node")
    isar_order: IsarOrder = Field(
        _OWN.isar_order,
        description="order of the paths of ISAR-LLMs: by the scorer, or by the selections, the first of each "
        "step first",
    )
    most_paths: PositiveInt = Field(_OWN.most_paths, description="all simple paths: most paths per question")
    ties: TieRule = Field(
        _OWN.ties,
        description="order of equally long shortest paths: by target, by seed and target, or by target with "
        "the best linked last",
    )
    shown: PositiveInt = Field(_OWN.shown, description="paths that an answer is made from")
    skip_ids: Annotated[str, Field(max_length=1000)] = Field(
        _OWN.skip_ids, description="regular expression of names that cannot be targets; blank: none"
    )
    parsing: Parsing = Field(
        _OWN.parsing,
        description="how to parse a model's selection: line by line, or by any mention; gold answers are "
        "matched in texts by whole words, or anywhere",
    )
    answer_form: AnswerForm = Field(
        "names",
        description="how a model answers from paths: names alone, one a line; or sentences, as in the paper",
    )
    llm_embeddings_model: str | None = Field(
        None,
        description="switches.llm_embeddings: a folder with a language model for transformers, or its hub "
        "name (extra sentence-transformers)",
    )
    context_tokens: PositiveInt = Field(
        32_000,
        description="context window of the model in tokens; candidates and paths in a prompt leave half of "
        "it free",
    )
    rmax: Annotated[float, Field(gt=0, lt=1)] = Field(
        _OWN.rmax, description="push, rbs: largest residual at a node, per edge"
    )
    epsilon: Annotated[float, Field(gt=0, le=1)] = Field(_OWN.epsilon, description="fora: relative error")
    nearest: PositiveInt = Field(_OWN.nearest, description="node_vectors: nodes with the most similar labels")
    vector_hops: Hops = Field(_OWN.vector_hops, description="node_vectors: number of edges around them")
    edges_of_node: PositiveInt = Field(
        _OWN.edges_of_node, description="node_vectors: most edges of a node, the best by score"
    )
    partitions: Partitions = Field(
        _OWN.partitions,
        description="partition: the seeds' communities in a partition by modularity, or the corpus's own "
        "community whose report is nearest to the question",
    )
    switches: PathSwitches = Field(default_factory=PathSwitches)
    recall: PathRecallSettings = Field(default_factory=PathRecallSettings)

    @field_validator("questions")
    @classmethod
    def _check_files(cls, files: list[str]) -> list[str]:
        return list(dict.fromkeys(map(path_below, files)))

    @field_validator("instances")
    @classmethod
    def _check_instances(cls, names: list[str]) -> list[str]:
        try:
            return list(dict.fromkeys(instance(name).name for name in names))
        except GraphragError as error:
            raise ValueError(str(error)) from None

    @field_validator("skip_ids")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _check_names(self) -> "PathSettings":
        known = {one.name.casefold() for one in INSTANCES}
        for one in self.custom:
            if one.name.casefold() in known:
                raise ValueError(f"custom: {one.name!r} is the name of another instance; choose another name")
            if one.name.casefold().endswith(LEX):
                raise ValueError(
                    f"custom: {one.name!r} ends in {LEX}, which is reserved for instances whose model is "
                    "replaced by rules"
                )
            known.add(one.name.casefold())
        if self.answering.casefold() not in known:
            raise ValueError(f"answering: there is no instance {self.answering!r}; use one of {_NAMES}")
        # The paper's instances start with PageRank, which needs no preparation.
        own = self.answering.casefold() in {one.name.casefold() for one in self.custom}
        if own and needs_beforehand(self.recipe(self.answering).options):
            raise ValueError(
                f"answering: {self.answering!r} needs a partition or vectors of the graph, which the search "
                "method does not have; name an instance with another extraction"
            )
        return self

    def options(self) -> PathOptions:
        """Return the parameters of subgraphs and paths that all instances share."""
        own = set(PathOptions.__dataclass_fields__) & set(type(self).model_fields)
        told = self.model_dump(include=own - {"prefilter", "switches"})
        return PathOptions(
            **told,
            prefilter=self.prefilter.prefilter(),
            switches=Switches(**self.switches.model_dump()),
        )

    def recipe(self, name: str) -> Recipe:
        """Return the recipe of an instance by name, those of ``custom`` included.

        Raises:
            GraphragError: there is no instance of that name.
        """
        base = Recipe("", self.options(), self.scorer_model)
        for one in self.custom:
            if one.name.casefold() == name.casefold():
                return one.recipe(base)
        found = instance(name)
        return Recipe(found.name, found.options(base.options), base.scorer_model, found.reports)

    @property
    def chosen_recipe(self) -> Recipe:
        """Recipe of the instance that answers questions in the search method ``paths``."""
        return self.recipe(self.answering)

    def recipes(self) -> list[Recipe]:
        """Return the recipes of the chosen instances, then the custom ones."""
        return [self.recipe(name) for name in [*self.instances, *(one.name for one in self.custom)]]

    def deciding_answers(self) -> Recipe:
        """Return the instance that answers; what concerns gold answers decides no other answer."""
        return self.chosen_recipe

    def own_files(self) -> list[str]:
        """Return the files of questions, and the log that the window is chosen by."""
        return [*([self.recall.log] if self.recall.log else []), *self.questions]


#: What the second paper and its code do: single options, each of which may be set by itself.
PAPER_PROFILE = MappingProxyType(
    {
        # Table 1, B.10: all fifteen, and its instance of GraphRAG.
        "paths.instances": [one.name for one in INSTANCES],
        # Edges are followed out alone where the graph has inverse relations, as Freebase has. The paper's
        # own MetaQA has none, and the second hop there goes against an edge.
        "paths.direction": "auto",
        # Table 2: the vectors that every instance from the second on is measured with.
        "paths.scorer": "minilm",
        "paths.relation_words": False,
        # Table 1: SBE-PPR and the windows of SAE.
        "paths.max_ent": 1000,
        "paths.damping": 0.8,
        "paths.max_edge": 64,
        "paths.max_triples": 256,
        # Algorithm 1: paths may come back (Figure 9), and of a node the first neighbours are looked at.
        "paths.beam": 8,
        "paths.max_hop": 4,
        "paths.allow_revisit": True,
        "paths.expansion": "first",
        "paths.cap": 32,
        # Algorithm 1: who judges a path ranks it, which of ISAR-LLMs is the model.
        "paths.isar_order": "selection",
        # B.13: whatever occurs in a reply counts as selected, and answers are those of a reasoner.
        "paths.parsing": "paper",
        "paths.answer_form": "sentences",
        # Table 1: top 32; B.13: 32 paths are shown.
        "paths.top_k": 32,
        "paths.shown": 32,
        "paths.ties": "target",
        "paths.sample": 1000,
    }
)
