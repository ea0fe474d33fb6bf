"""What an instance makes of a question."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.core.language.path_selection import GraphAnswer
from graphrag_dagster.core.paths.found import Paths
from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.subgraph import Subgraph
from graphrag_dagster.core.paths.use import ModuleUse

#: The modules, in the order in which they work.
Module = Literal["extraction", "retrieval", "answer"]
MODULES: tuple[Module, ...] = ("extraction", "retrieval", "answer")


@dataclass(frozen=True)
class Outcome:
    """What an instance makes of a question.

    Attributes:
        instance: its name, with ``-lex`` behind it where rules stood in for the model of a module.
        query: what was asked.
        subgraph: in which paths were looked for.
        paths: that were found, best first; the first ``shown`` of them were read.
        shown: how many paths the answer was made from.
        answer: what was said; its engine says who said it.
        uses: what each module cost.
        seconds: wall clock of each module.
        reason: why there is nothing, such as ``no_seed``; blank where there is.
        cut: more paths were there than are looked at.
    """

    instance: str
    query: PathQuery
    subgraph: Subgraph
    paths: Paths
    shown: int
    answer: GraphAnswer
    uses: Mapping[Module, ModuleUse] = field(default_factory=lambda: MappingProxyType({}))
    seconds: Mapping[Module, float] = field(default_factory=lambda: MappingProxyType({}))
    reason: str = ""
    cut: bool = False
