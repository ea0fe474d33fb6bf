"""Declarations of search methods, including the paper's conditions (§4.1.1)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.errors import CatalogueError

#: The router: chooses one of the other methods.
AUTO = "auto"
#: Global search reads the reports of a level, local search the neighbourhood of the question's entities.
GLOBAL, LOCAL = "global", "local"
#: All text units, without a graph.
SOURCES = "TS"
#: The baseline of comparisons: semantic search.
BASELINE = "SS"

#: Groups of tables that search methods read together, by full name.
TEXT_UNIT_TABLES = (
    *("corpus.documents", "corpus.document_metadata", "corpus.document_periods"),
    "corpus.text_chunks",
    # A graph imported without texts is verbalised, and its rows are cited.
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
FORM_OPTIONS = (
    *("engine", "context_tokens", "response_type", "general_knowledge"),
    *("soft_filters", "hard_filters"),
)
MAP_OPTIONS = (*FORM_OPTIONS, "unit")
OVERVIEW_OPTIONS = (*MAP_OPTIONS, "seed")
RETRIEVAL_OPTIONS = ("retrieval", "reranker", "reranker_model", "rerank_first")
LOCAL_OPTIONS = (*RETRIEVAL_OPTIONS, "shares")

#: Features that search methods may use: the columns of feature tables.
FEATURES = (
    *("route", "community reports", "communities", "term coverage", "traversal", "text units"),
    *("preserved store", "validator", "query", "own context"),
    "context nodes",
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_OF_A_LEVEL = re.compile(r"[Cc]-?[0-9]+")


@dataclass(frozen=True, slots=True)
class SearchMethod:
    """A search method.

    Attributes:
        name: its name, case-insensitive to users.
        text: one line on what it reads.
        answer: ``module:function``, loaded on first use, or the callable itself. It takes a
            :class:`~graphrag_dagster.kernel.questions.question.Search` and returns an
            :class:`~graphrag_dagster.kernel.questions.context.answer.Answer`.
        size: estimates the model use of one question: like ``answer``, but takes a
            :class:`~graphrag_dagster.kernel.questions.question.Basis` and returns a
            :class:`~graphrag_dagster.kernel.models.call_estimates.MethodSize`.
        brief: a few words on what it reads, for lists; default: ``text``.
        tasks: names of the language tasks it needs.
        tables: full names of the tables that it reads or its sources refer to.
        options: keys of the section ``search`` of ``corpus.yaml``, or other sections, that affect answers.
        levelled: whether a community level may be chosen.
        reads_whole_level: whether it reads all reports of the level, so that it begins at the top where there
            are levels above C0.
        level: the community level it always reads.
        with_level: the method used instead when a level is chosen.
        condition: whether evaluations compare it by default.
        uses_graph: whether it reads the graph or its reports.
        features: the :data:`FEATURES` it uses.
        needs_model: whether its tasks cannot be performed without a model.
        needs: the optional stage that makes its input.
        without: for an ablation, the full method it is compared with.

    Raises:
        CatalogueError: the declaration is invalid.
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
    reads_whole_level: bool = False
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
        """Whether it is for users' questions, not just for comparisons."""
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
                raise CatalogueError(f"{self.name}: {role} must be a function or a string module:function")

    def unknown(self, tasks: Iterable[str], tables: Iterable[str]) -> str | None:
        """Return an error message for the first declared name that is unknown, else None."""
        declared = {
            "task": (self.tasks, tasks),
            "table": (self.tables, tables),
            "feature": (self.features, FEATURES),
        }
        for kind, (names, known) in declared.items():
            choices = tuple(known)
            for name in names:
                if name not in choices:
                    return f"{self.name}: there is no {kind} {name!r}; use one of {', '.join(choices)}"
        return None


def describe_methods(declared: Iterable[SearchMethod]) -> str:
    """Return a one-line list of search methods, each with what it reads; the paper's conditions by name
    only.
    """
    chosen = tuple(declared)
    methods = ", ".join(
        f"{method.name} ({method.brief or method.text})" for method in chosen if method.suits_a_chat
    )
    conditions = ", ".join(method.name for method in chosen if method.condition)
    ablated = ", ".join(method.name for method in chosen if method.without)
    return f"{methods}, or a condition of the paper: {conditions}; for comparisons {ablated}"


def methods_with_option(option: str, methods: Iterable[SearchMethod]) -> str:
    """Return the names of the methods that an option of ``search`` affects as a phrase, without the
    router.
    """
    names = [method.name for method in methods if option in method.options and method.name != AUTO]
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
