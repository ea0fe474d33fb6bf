"""The search methods, and the paper's conditions (§4.1.1)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.errors import CatalogueError

#: Chooses among the others.
AUTO = "auto"
#: Over the reports of a level, and around the entities of a question.
GLOBAL, LOCAL = "global", "local"
#: All text units, without a graph.
SOURCES = "TS"
#: With what the other search methods are compared.
BASELINE = "SS"

#: Full names of tables of an index, as search methods read them together.
TEXT_UNIT_TABLES = (
    *("corpus.documents", "corpus.document_metadata", "corpus.document_periods"),
    "corpus.text_chunks",
    # A graph without texts is told in words, and its rows are what is cited.
    *("imports.entities", "imports.relations"),
)
GRAPH_TABLES = ("graph.entities", "graph.relationships")
LEVEL_TABLES = ("graph.community_levels",)
REPORT_TABLES = ("reports.community_reports", "reports.report_findings", "reports.report_references")
UNIT_VECTOR_TABLES = ("embeddings.text_units",)
LOCAL_TABLES = (
    *(*TEXT_UNIT_TABLES, *GRAPH_TABLES, *REPORT_TABLES, *UNIT_VECTOR_TABLES),
    "graph.community_members",
    *("graph.claims", "extraction.claims"),
    "embeddings.entities",
)
COMMUNITY_TABLES = ("graph.communities",)
REPORT_VECTOR_TABLES = ("embeddings.community_reports",)

#: Keys of the section ``search`` that decide answers together.
FORM_OPTIONS = ("engine", "context_tokens", "response_type", "general_knowledge", "soft_filters")
MAP_OPTIONS = (*FORM_OPTIONS, "unit")
OVERVIEW_OPTIONS = (*MAP_OPTIONS, "seed")
RETRIEVAL_OPTIONS = ("retrieval", "reranker", "reranker_model", "rerank_first")
LOCAL_OPTIONS = (*RETRIEVAL_OPTIONS, "shares")

#: What search methods may make use of, as tables of features have it in their columns.
FEATURES = (
    *("route", "community reports", "communities", "term coverage", "traversal", "text units"),
    *("preserved store", "validator", "query", "own context"),
    "context nodes",
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_OF_A_LEVEL = re.compile(r"[Cc][0-9]+")


@dataclass(frozen=True, slots=True)
class SearchMethod:
    """A search method.

    Attributes:
        name: as people ask for it, in whatever capitals.
        text: what it reads, in a line.
        answer: how it answers, loaded when it is used: ``module:function``, or the callable itself. It is
            called with an :class:`~graphrag_dagster.kernel.questions.question.Search`, and returns an
            :class:`~graphrag_dagster.kernel.questions.context.answer.Answer`.
        size: what one question asks of a model, told beforehand: as ``answer``, but it is called with a
            :class:`~graphrag_dagster.kernel.questions.question.Basis`, and returns a
            :class:`~graphrag_dagster.apps.evaluation.stages.evaluation_plan.MethodSize`.
        brief: what it reads, in some words for lists; default: ``text``.
        tasks: names of the language tasks that it needs.
        tables: that it reads or its sources name, by their full names.
        options: keys of the section ``search`` of ``corpus.yaml``, or other sections, that decide answers.
        levelled: a community level may be chosen for it.
        level: the community level that it always reads.
        with_level: the method that is taken in its place where a level is chosen.
        condition: one of those that an evaluation compares unless the settings say otherwise.
        uses_graph: it reads the graph or its reports.
        features: what it makes use of, of :data:`FEATURES`.
        needs_model: it cannot do without the model of any of its tasks.
        needs: stage that makes what it reads, where that may be switched off.
        without: the method that this is without one of its parts, to be compared with.

    Raises:
        CatalogueError: the declaration cannot be used; says why.
    """

    name: str
    text: str
    answer: Any
    size: Any
    brief: str = ""
    tasks: tuple[str, ...] = ("answerer",)
    tables: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    levelled: bool = False
    level: int | None = None
    with_level: str | None = None
    condition: bool = False
    uses_graph: bool = True
    features: tuple[str, ...] = ()
    needs_model: bool = False
    needs: str = ""
    without: str = ""

    @property
    def suits_a_chat(self) -> bool:
        """Whether it is for people who ask, not only for comparisons."""
        return not self.condition and not self.without

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise CatalogueError(
                f"{self.name!r} is not a valid name of a search method: use a letter, then letters, digits, "
                "- and _"
            )
        if self.level is None and _OF_A_LEVEL.fullmatch(self.name):
            raise CatalogueError(f"{self.name} is reserved for the condition of that community level")
        for role in ("answer", "size"):
            target = getattr(self, role)
            if not callable(target) and not (isinstance(target, str) and target.count(":") == 1):
                raise CatalogueError(f"{self.name}: {role} is neither a function nor a text module:function")

    def unknown(self, tasks: Iterable[str], tables: Iterable[str]) -> str | None:
        """Say which name it declares that is none of those there are; None where all are known."""
        declared = {
            "task": (self.tasks, tasks),
            "table": (self.tables, tables),
            "feature": (self.features, FEATURES),
        }
        for kind, (names, known) in declared.items():
            there_are = tuple(known)
            for name in names:
                if name not in there_are:
                    return f"{self.name}: there is no {kind} {name!r}; use one of {', '.join(there_are)}"
        return None


def listed(declared: Iterable[SearchMethod]) -> str:
    """Return search methods in a line: each with what it reads, and the paper's conditions by name."""
    chosen = tuple(declared)
    methods = ", ".join(f"{one.name} ({one.brief or one.text})" for one in chosen if one.suits_a_chat)
    conditions = ", ".join(one.name for one in chosen if one.condition)
    ablated = ", ".join(one.name for one in chosen if one.without)
    return f"{methods}, or a condition of the paper: {conditions}; for comparisons {ablated}"


def deciding(option: str, methods: Iterable[SearchMethod]) -> str:
    """Return in words which of these answer by an option of ``search``, but for what chooses among them."""
    names = [one.name for one in methods if option in one.options and one.name != AUTO]
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
