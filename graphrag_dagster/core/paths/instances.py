"""The fifteen instances of LEGO-GraphRAG and its instance of Microsoft's GraphRAG (paper Table 1, B.10)."""

from dataclasses import dataclass, replace

from graphrag_dagster.core.paths.options import Judged, PathOptions, Pruning, Retrieval
from graphrag_dagster.errors import GraphragError

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
