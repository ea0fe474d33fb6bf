"""The fifteen instances of LEGO-GraphRAG and its instance of Microsoft's GraphRAG (paper Table 1, B.10).

What is made of a graph beforehand, for extractions that look through all of it (paper B.7).
"""

from dataclasses import dataclass, replace

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.systems.lego.instances.community_reports import ReportedCommunities
from graphrag_dagster.systems.lego.instances.options import Judged, PathOptions, Pruning, Retrieval
from graphrag_dagster.systems.lego.subgraphs.partition import Partition
from graphrag_dagster.systems.lego.subgraphs.vectors import TextVectors

#: What is behind the name of an instance whose parts for a model were done by rule (spec_lego §11).
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
#: By which the way of answering ``paths`` finds paths unless the settings say otherwise: no model is asked.
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

    partition: Partition | None = None
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
