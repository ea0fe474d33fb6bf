"""The fifteen instances of LEGO-GraphRAG, that of GraphRAG, and their options (paper Table 1, B.10).

What is made of a graph beforehand, for extractions that look through all of it (paper B.7).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import Direction, Prefilter
from graphrag_dagster.systems.lego.subgraphs.community_partition import GraphPartition, ReportedCommunities
from graphrag_dagster.systems.lego.subgraphs.text_vectors import TextVectors

#: What gives the first part of the graph: personalised PageRank, exact or near it, neighbourhoods, walks, the
#: community of the seeds, or what is nearest to the question by vectors.
BaseExtraction = Literal[
    "ppr", "push", "fora", "rbs", "khop", "walks", "partition", "node_vectors", "triple_vectors"
]
#: Extractions of the paper that there are not, and why.
REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "topppr": "TopPPR refines the first of PageRank by walks and searches from candidates; of a subgraph "
        "only the set of its nodes matters, which fora and push come near in less time"
    }
)
#: Who prunes it: nobody, a scorer, or a selector behind a scorer.
Pruning = Literal["none", "eem", "llm"]
PruningLevel = Literal["auto", "node", "relation", "triple"]
#: How paths are found: shortest ones, all simple ones, those ranked as wholes, or a beam of growing ones.
Retrieval = Literal["spr", "epr", "osar", "isar"]
Judged = Literal["none", "eem", "llm"]
ScorerName = Literal["static", "minilm", "embedder", "bm25", "cross-encoder", "random"]
#: How equally long shortest paths are ordered, of which the first 32 are read.
TieRule = Literal["target", "seed_target", "hub_last"]
Expansion = Literal["best", "first"]
Parsing = Literal["default", "paper"]
#: What orders the paths of ISAR-LLMs: the scorer, or the selections of the search.
IsarOrder = Literal["scores", "selection"]
#: How a model answers: names alone, one a line, or in sentences.
AnswerForm = Literal["names", "sentences"]
Partitions = Literal["seed", "report"]


@dataclass(frozen=True, slots=True)
class Switches:
    """The options of B.8 and B.9, each alone or combined with others."""

    triple_level: bool = False
    dynamic_prune: bool = False
    #: Percentile of the step's scores from which paths are kept; None: their mean.
    percentile: float | None = None
    combine: bool = False
    refine: bool = False
    early_stop: bool = False
    prefilter: int = 0
    supplement: bool = False
    rerank: bool = False
    window: int = 0
    llm_embeddings: bool = False


@dataclass(frozen=True, slots=True)
class PathOptions:
    """How subgraphs and paths are found.

    The defaults are those of the paper where it has any; what the profile ``paper_002`` sets otherwise
    stands in the settings of the system.
    """

    direction: Direction = "auto"
    prefilter: Prefilter = field(default_factory=Prefilter)
    extraction: BaseExtraction = "ppr"
    pruning: Pruning = "none"
    pruning_level: PruningLevel = "auto"
    retrieval: Retrieval = "osar"
    judged: Judged = "eem"
    scorer: ScorerName = "static"
    relation_words: bool = True
    max_ent: int = 1000
    damping: float = 0.8
    max_edge: int = 64
    max_triples: int = 256
    max_nodes: int = 256
    hops: int = 2
    walks: int = 128
    walk_steps: int = 4
    top_k: int = 32
    beam: int = 8
    max_hop: int = 4
    cap: int = 256
    expansion: Expansion = "best"
    allow_revisit: bool = False
    isar_order: IsarOrder = "scores"
    most_paths: int = 100_000
    ties: TieRule = "seed_target"
    shown: int = 32
    skip_ids: str = r"[mg]\.[0-9a-z_]+"
    parsing: Parsing = "default"
    rmax: float = 1e-5
    epsilon: float = 0.5
    nearest: int = 20
    vector_hops: int = 1
    edges_of_node: int = 200
    partitions: Partitions = "seed"
    seed: int = 0
    llm_embeddings_model: str | None = None
    switches: Switches = field(default_factory=Switches)


#: What is behind the name of an instance whose parts for a model were done by rule.
LEX = "-lex"


@dataclass(frozen=True, slots=True)
class Instance:
    """Which modules an instance is made of.

    Attributes:
        name: its number, or GRAG-M.
        group: of the paper.
        pruning: who prunes the subgraph of PPR.
        retrieval: how paths are found.
        judged: who judges them.
        reports: the reports of the seeds' communities are read beside the paths.
    """

    name: str
    group: str
    pruning: Pruning
    retrieval: Retrieval
    judged: Judged
    reports: bool = False

    @property
    def title(self) -> str:
        """Its modules as the paper writes them."""
        extraction = {"none": "SBE-PPR", "eem": "SAE-EEMs", "llm": "SAE-LLMs"}[self.pruning]
        kind = {"spr": "SBR-SPR", "epr": "SBR-EPR", "osar": "OSAR", "isar": "ISAR"}[self.retrieval]
        judged = {"none": "", "eem": "-EEMs", "llm": "-LLMs"}[self.judged]
        return f"{extraction}+{kind}{judged}{'+reports' if self.reports else ''}"

    @property
    def asks_model(self) -> bool:
        """Whether the paper has a model in one of its modules."""
        return "llm" in (self.pruning, self.judged) or self.reports

    def options(self, base: PathOptions) -> PathOptions:
        """Return options with the modules of this instance."""
        return replace(
            base,
            extraction="ppr",
            pruning=self.pruning,
            retrieval=self.retrieval,
            judged=self.judged,
        )


INSTANCES = (
    Instance("1", "I", "none", "spr", "none"),
    Instance("2", "II", "eem", "osar", "eem"),
    Instance("3", "II", "eem", "osar", "llm"),
    Instance("4", "II", "llm", "osar", "eem"),
    Instance("5", "II", "llm", "osar", "llm"),
    Instance("6", "II", "eem", "isar", "eem"),
    Instance("7", "II", "eem", "isar", "llm"),
    Instance("8", "II", "llm", "isar", "eem"),
    Instance("9", "II", "llm", "isar", "llm"),
    Instance("10", "III", "eem", "spr", "none"),
    Instance("11", "III", "llm", "spr", "none"),
    Instance("12", "IV", "none", "osar", "eem"),
    Instance("13", "IV", "none", "osar", "llm"),
    Instance("14", "V", "none", "isar", "eem"),
    Instance("15", "V", "none", "isar", "llm"),
    Instance("GRAG-M", "B.10", "none", "osar", "eem", reports=True),
)


def instance(name: str) -> Instance:
    """Return an instance by its name.

    Raises:
        GraphragError: there is none; lists those there are.
    """
    for one in INSTANCES:
        if one.name.casefold() == str(name).casefold():
            return one
    known = ", ".join(one.name for one in INSTANCES)
    raise GraphragError(f"there is no instance {name!r}; there are {known}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """An instance by its parts.

    Attributes:
        name: without what tells that rules stood in for a model.
        options: its modules and how they work.
        scorer_model: of the scorer; None: the one it has by itself.
        reports: the reports of the seeds' communities are read beside the paths.
    """

    name: str
    options: PathOptions
    scorer_model: str | None = None
    reports: bool = False

    @property
    def asks_selector(self) -> bool:
        """Whether something is selected by whoever selects."""
        options, switches = self.options, self.options.switches
        judged = options.judged == "llm" and options.retrieval in ("osar", "isar")
        judged = judged and not switches.llm_embeddings
        return options.pruning == "llm" or judged or switches.refine or switches.early_stop

    @property
    def scores(self) -> bool:
        """Whether anything is scored."""
        options = self.options
        return options.pruning != "none" or options.retrieval in ("osar", "isar")


_SHIPPED = instance("12")
#: By which the search method ``paths`` finds paths unless the settings say otherwise: no model is asked.
DEFAULT = Recipe(_SHIPPED.name, _SHIPPED.options(PathOptions()))


@dataclass(frozen=True)
class Beforehand:
    """What there is.

    Attributes:
        partition: communities of the nodes.
        reported: communities of the corpus, with the vectors of their reports.
        labels: vectors of the labels.
        triples: vectors of the triples.
    """

    partition: GraphPartition | None = None
    reported: ReportedCommunities | None = None
    labels: TextVectors | None = None
    triples: TextVectors | None = None

    def vectors(self, options: PathOptions) -> TextVectors | None:
        """Return the vectors that an extraction looks through; None for one that looks through none."""
        return self.triples if options.extraction == "triple_vectors" else self.labels


def needs_embedder(options: PathOptions) -> bool:
    """Whether subgraphs are found by vectors of the question."""
    return options.extraction in ("node_vectors", "triple_vectors") or by_reports(options)


def by_reports(options: PathOptions) -> bool:
    """Whether the community of the report that is nearest to the question is looked through."""
    return options.extraction == "partition" and options.partitions == "report"


def needs_beforehand(options: PathOptions) -> bool:
    """Whether something has to be made of the graph before the first question."""
    return options.extraction == "partition" or needs_embedder(options)
