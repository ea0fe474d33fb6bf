"""How subgraphs and paths are found (spec_lego §3–§8); the meaning of each is that of its setting."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.kernel.graph.arrays import Direction
from graphrag_dagster.kernel.graph.prefilter import Prefilter

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
#: How equally long shortest paths are ordered, of which the first 32 are read (§4).
TieRule = Literal["target", "seed_target", "hub_last"]
Expansion = Literal["best", "first"]
Parsing = Literal["default", "paper"]
Partitions = Literal["seed", "report"]


@dataclass(frozen=True, slots=True)
class Switches:
    """The options of §7, each alone or combined with others."""

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

    The defaults are those of the paper where it has any; what differs in the profile ``paper_002`` stands
    in spec_lego.
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
