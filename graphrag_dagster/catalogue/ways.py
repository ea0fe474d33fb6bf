"""The ways of answering, and the paper's conditions (§4.1.1)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from graphrag_dagster.catalogue.tasks import TASKS
from graphrag_dagster.errors import CatalogueError

#: Chooses among the others.
AUTO = "auto"
#: Over the reports of a level, and around the entities of a question.
GLOBAL, LOCAL = "global", "local"
#: The tables of the index.
TABLES = "sql"
#: All text units, without a graph.
SOURCES = "TS"
#: Nodes and edges by a query, or summaries of communities.
GRAPH = "graph"
#: Paths of the graph, and the words that state them.
PATHS = "paths"
#: Matched communities, paths, and a second look at what stands apart.
COTERAG = "coterag"
#: With what the other ways of answering are compared.
BASELINE = "SS"

_TEXT_UNITS = (
    *("corpus.documents", "corpus.document_metadata", "corpus.document_periods"),
    "corpus.text_chunks",
    # A graph without texts is told in words, and its rows are what is cited.
    *("imports.entities", "imports.relations"),
)
_GRAPH = ("graph.entities", "graph.relationships")
_LEVELS = ("graph.community_levels",)
_REPORTS = ("reports.community_reports", "reports.report_findings", "reports.report_references")
_UNIT_VECTORS = ("embeddings.text_units",)
_SURROUNDINGS = (
    *(*_TEXT_UNITS, *_GRAPH, *_REPORTS, *_UNIT_VECTORS),
    "graph.community_members",
    *("graph.claims", "extraction.claims"),
    "embeddings.entities",
)
_RELEVANT = ("graph.communities",)
_REPORT_VECTORS = ("embeddings.community_reports",)
_COTERAG = (
    *("graph.triples", "coterag.stores", "coterag.members", "coterag.summaries", "coterag.summary_quotes"),
    *("coterag.terms", "coterag.description_vectors", "coterag.summary_vectors", "coterag.thresholds"),
)
_CONTEXT = ("graph.context_nodes", "graph.context_vectors")
#: All that an index holds for those who answer from it.
INDEX_TABLES = (*_SURROUNDINGS, *_LEVELS, *_RELEVANT, *_REPORT_VECTORS, *_COTERAG, *_CONTEXT)

#: What ways of answering may make use of, as tables of features have it in their columns.
FEATURES = (
    *("route", "community reports", "communities", "term coverage", "traversal", "text units"),
    *("preserved store", "validator", "query", "own context"),
    "context nodes",
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_OF_A_LEVEL = re.compile(r"[Cc][0-9]+")


@dataclass(frozen=True, slots=True)
class DeclaredPart:
    """What the search methods of one system read of a snapshot, beside the graph.

    Attributes:
        table: full name of a table that has rows where the index was made with the system.
        made: ``module:class``, loaded where there are such rows: a
            :class:`~graphrag_dagster.core.search.context.index.SnapshotPart`.
    """

    table: str
    made: str


#: By the name under which a snapshot has it.
PARTS: Mapping[str, DeclaredPart] = MappingProxyType(
    {"coterag": DeclaredPart("coterag.thresholds", "graphrag_dagster.core.coterag.stored:CoteragTables")}
)


@dataclass(frozen=True, slots=True)
class Way:
    """A way of answering.

    Attributes:
        name: as people ask for it, in whatever capitals.
        text: what it reads, in a line.
        answer: how it answers, loaded when it is used: ``module:function``, or the callable itself. It is
            called with an :class:`~graphrag_dagster.core.search.question.Search`, and returns an
            :class:`~graphrag_dagster.core.search.context.answer.Answer`.
        size: what one question asks of a model, told beforehand: as ``answer``, but it is called with a
            :class:`~graphrag_dagster.core.search.question.Basis`, and returns a
            :class:`~graphrag_dagster.core.accounting.evaluation_size.WaySize`.
        brief: what it reads, in some words for lists; default: ``text``.
        tasks: names of the language tasks that it needs.
        tables: that it reads or its sources name, of :data:`INDEX_TABLES`.
        options: keys of the section ``search`` of ``corpus.yaml``, or other sections, that decide answers.
        levelled: a community level may be chosen for it.
        level: the community level that it always reads.
        with_level: the way that is taken in its place where a level is chosen.
        condition: one of those that an evaluation compares unless the settings say otherwise.
        uses_graph: it reads the graph or its reports.
        features: what it makes use of, of :data:`FEATURES`.
        needs_model: it cannot do without the model of any of its tasks.
        needs: stage that makes what it reads, where that may be switched off.
        without: the way that this is without one of its parts, to be compared with.

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
                f"a way of answering cannot be called {self.name!r}: a name begins with a letter, and has "
                "letters, digits, - and _"
            )
        if self.level is None and _OF_A_LEVEL.fullmatch(self.name):
            raise CatalogueError(f"{self.name} is the name of the condition of that community level")
        named = {
            "task": (self.tasks, [one.name for one in TASKS]),
            "table": (self.tables, INDEX_TABLES),
            "feature": (self.features, FEATURES),
        }
        for kind, (names, known) in named.items():
            for name in names:
                if name not in known:
                    there_are = f"there is no {kind} {name!r}; there are {', '.join(known)}"
                    raise CatalogueError(f"{self.name}: {there_are}")
        for role in ("answer", "size"):
            target = getattr(self, role)
            if not callable(target) and not (isinstance(target, str) and target.count(":") == 1):
                raise CatalogueError(f"{self.name}: {role} is no function, and no text module:function")


_METHODS = "graphrag_dagster.core.search.methods"
_SIZES = "graphrag_dagster.core.search.methods.sizes"

_FORM = ("engine", "context_tokens", "response_type", "general_knowledge", "soft_filters")
_MAPPED = (*_FORM, "unit")
_OVERVIEW = (*_MAPPED, "seed")
_FOUND = ("retrieval", "reranker", "reranker_model", "rerank_first")
_LOCAL = (*_FOUND, "shares")
_FEATURES_OF_COTERAG = (
    *("route", "communities", "term coverage", "traversal", "text units"),
    *("preserved store", "validator"),
)
_AROUND = ("community reports", "traversal", "text units")


def at_level(level: int) -> Way:
    """Return the condition ``C<level>``."""
    finer = f"level {level}, finer than C0" if level else "the coarsest level"
    return Way(
        f"C{level}",
        f"all community reports of {finer}",
        f"{_METHODS}.global_search:global_search",
        f"{_SIZES}:whole",
        tables=(*_TEXT_UNITS, *_GRAPH, *_LEVELS, *_REPORTS),
        options=_OVERVIEW,
        level=level,
        condition=True,
        features=("community reports",),
    )


def _of_coterag(
    name: str, text: str, function: str, *, without: str = "", lacking: tuple[str, ...] = ()
) -> Way:
    return Way(
        name,
        text,
        f"{_METHODS}.coterag.answering:{function}",
        f"{_SIZES}:looked_again",
        brief="" if without else "communities by summaries and terms, their paths, and a second look",
        tasks=("evidence_router", "evidence_answerer", "answer_validator"),
        tables=(*_TEXT_UNITS, "graph.entities", *_UNIT_VECTORS, *_COTERAG),
        options=("soft_filters", "coterag"),
        features=tuple(one for one in _FEATURES_OF_COTERAG if one not in lacking),
        needs="coterag",
        without=without,
    )


def _ablated(part: str, text: str, *lacking: str) -> Way:
    return _of_coterag(f"{COTERAG}-no-{part}", text, f"without_{part}", without=COTERAG, lacking=lacking)


WAYS = (
    Way(
        AUTO,
        "what the question seems to need: surroundings of entities, reports, or a query over tables",
        "graphrag_dagster.core.search.choosing:answer",
        f"{_SIZES}:chosen",
        brief="chosen by the question",
        tasks=("router", "answerer"),
        tables=(*_SURROUNDINGS, *_LEVELS),
        options=("routing", *_OVERVIEW, "level", *_LOCAL, "sql"),
        with_level=GLOBAL,
        features=("route", "community reports", "traversal", "text units", "query"),
    ),
    Way(
        GLOBAL,
        "all community reports of a level",
        f"{_METHODS}.global_search:global_search",
        f"{_SIZES}:whole",
        brief="reports of a level",
        tables=(*_TEXT_UNITS, *_GRAPH, *_LEVELS, *_REPORTS),
        options=(*_OVERVIEW, "level"),
        levelled=True,
        features=("community reports",),
    ),
    Way(
        "dynamic",
        "the community reports that have to do with the question, from the roots down",
        f"{_METHODS}.dynamic:dynamic_search",
        f"{_SIZES}:rated",
        brief="reports chosen from the top down",
        tasks=("rater", "answerer"),
        tables=(*_TEXT_UNITS, *_GRAPH, *_LEVELS, *_REPORTS, *_RELEVANT),
        options=(*_OVERVIEW, "level", "relevant_from"),
        levelled=True,
        features=("community reports",),
    ),
    Way(
        LOCAL,
        "the surroundings in the graph of what the question names",
        f"{_METHODS}.local:local",
        f"{_SIZES}:one_call",
        brief="the entities of the question and what is around them",
        tables=_SURROUNDINGS,
        options=(*_FORM, *_LOCAL),
        features=_AROUND,
    ),
    Way(
        "drift",
        "community reports first, then the surroundings that follow-up questions name",
        f"{_METHODS}.drift:drift",
        f"{_SIZES}:followed_up",
        brief="local, led by reports",
        tasks=("explorer", "answerer"),
        tables=(*_SURROUNDINGS, *_REPORT_VECTORS),
        options=(*_FORM, "seed", *_LOCAL, "steps", "follow_ups"),
        features=_AROUND,
    ),
    Way(
        "basic",
        "the source texts nearest to the question",
        f"{_METHODS}.vector_rag:basic",
        f"{_SIZES}:one_call",
        brief="passages found by words and vectors",
        tables=(*_TEXT_UNITS, *_UNIT_VECTORS),
        options=(*_MAPPED, *_FOUND),
        uses_graph=False,
        features=("text units",),
    ),
    Way(
        TABLES,
        "counts, top lists, firsts and lasts, and groups, by a query over the tables that is shown",
        f"{_METHODS}.sql.answering:sql",
        f"{_SIZES}:queried",
        brief="counts and lists by a query over the tables",
        tasks=("query_writer",),
        tables=(
            *(*_TEXT_UNITS, *_GRAPH, *_LEVELS, *_RELEVANT),
            *("graph.claims", "graph.community_members", "reports.community_reports"),
        ),
        options=("engine", "sql"),
        features=("query",),
    ),
    Way(
        GRAPH,
        "nodes and edges that a query over the graph finds, summaries of communities, or both",
        f"{_METHODS}.graph.answering:graph",
        f"{_SIZES}:routed",
        brief="a query over the graph, or the nearest community reports",
        tasks=("graph_router", "cypher_writer", "answerer"),
        tables=(
            *(*_TEXT_UNITS, *_GRAPH, *_LEVELS, *_REPORTS, *_REPORT_VECTORS, *_CONTEXT),
            *("graph.community_members", "graph.triples", "embeddings.entities"),
        ),
        options=(*_FORM, "routing", "level", "retrieval", GRAPH),
        levelled=True,
        features=("route", "community reports", "traversal", "query", "context nodes"),
    ),
    Way(
        PATHS,
        "text units that state the paths from what the question names, and those that a walk over names and "
        "text units reaches",
        f"{_METHODS}.paths.answering:paths",
        f"{_SIZES}:walked",
        brief="paths of the graph and the words that state them",
        tasks=("path_selector", "answerer"),
        tables=(
            *(*_TEXT_UNITS, *_GRAPH, *_REPORTS, *_UNIT_VECTORS),
            *("graph.community_members", "graph.triples"),
        ),
        options=(*_FORM, *_FOUND, "shares", PATHS),
        features=("community reports", "traversal", "text units"),
    ),
    _of_coterag(
        COTERAG,
        "communities whose summaries and terms match, paths and passages of their entities, then what "
        "stands apart",
        "coterag",
    ),
    _ablated(
        "communities",
        f"{COTERAG} over the whole graph, without matching communities or looking again",
        *("communities", "term coverage", "preserved store"),
    ),
    _ablated(
        "coverage",
        f"{COTERAG} with communities chosen by similarity alone, whatever terms they cover",
        "term coverage",
    ),
    _ablated("traversal", f"{COTERAG} without going on from the nearest entities", "traversal"),
    _ablated("fallback", f"{COTERAG} without looking at what stands apart", "preserved store"),
    Way(
        "own-context",
        "a context that the model writes from what it knows; no document",
        f"{_METHODS}.own_context:own_context",
        f"{_SIZES}:written_first",
        brief="what the model knows, no document",
        tasks=("context_writer", "answerer"),
        options=("engine", "response_type", "general_knowledge"),
        uses_graph=False,
        features=("own context",),
        needs_model=True,
    ),
    *map(at_level, range(4)),
    Way(
        SOURCES,
        "all source texts, summarised chunk by chunk (map and reduce)",
        f"{_METHODS}.global_search:global_search",
        f"{_SIZES}:whole",
        tables=_TEXT_UNITS,
        options=_OVERVIEW,
        condition=True,
        uses_graph=False,
        features=("text units",),
    ),
    Way(
        BASELINE,
        "the source texts nearest to the question, by vectors",
        f"{_METHODS}.vector_rag:nearest",
        f"{_SIZES}:one_call",
        tables=(*_TEXT_UNITS, *_UNIT_VECTORS),
        options=_MAPPED,
        condition=True,
        uses_graph=False,
        features=("text units",),
    ),
)


def listed(ways: Iterable[Way]) -> str:
    """Return ways of answering in a line: each with what it reads, and the paper's conditions by name."""
    chosen = tuple(ways)
    methods = ", ".join(f"{one.name} ({one.brief or one.text})" for one in chosen if one.suits_a_chat)
    conditions = ", ".join(one.name for one in chosen if one.condition)
    ablated = ", ".join(one.name for one in chosen if one.without)
    return f"{methods}, or a condition of the paper: {conditions}; for comparisons {ablated}"


def deciding(option: str) -> str:
    """Return in words which ways answer by an option of ``search``; what chooses among them is left out."""
    names = [one.name for one in WAYS if option in one.options and one.name != AUTO]
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
