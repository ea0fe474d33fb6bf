"""GraphRAG's declaration as a system."""

from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.engines import Engine
from graphrag_dagster.kernel.catalogue.search_methods import (
    AUTO,
    BASELINE,
    COMMUNITY_TABLES,
    FORM_OPTIONS,
    GLOBAL,
    GRAPH_TABLES,
    LEVEL_TABLES,
    LOCAL,
    LOCAL_OPTIONS,
    LOCAL_TABLES,
    MAP_OPTIONS,
    OVERVIEW_OPTIONS,
    REPORT_TABLES,
    REPORT_VECTOR_TABLES,
    RETRIEVAL_OPTIONS,
    SOURCES,
    TEXT_UNIT_TABLES,
    UNIT_VECTOR_TABLES,
    SearchMethod,
)
from graphrag_dagster.kernel.catalogue.system import Stage, System
from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, GLINER_REBEL, LLM

_SEARCH = "graphrag_dagster.systems.graphrag.search"
_SIZES = "graphrag_dagster.systems.graphrag.search.search_estimates"
_AROUND = ("community reports", "traversal", "text units")


def at_level(level: int) -> SearchMethod:
    """Return the condition ``C<level>``."""
    than_c0 = f"level {level}, {'finer' if level > 0 else 'coarser'} than C0"
    finer = than_c0 if level else "the coarsest level of the clustering"
    return SearchMethod(
        f"C{level}",
        f"all community reports of {finer}",
        f"{_SEARCH}.global_search:global_search",
        f"{_SIZES}:whole",
        tables=(*TEXT_UNIT_TABLES, *GRAPH_TABLES, *LEVEL_TABLES, *REPORT_TABLES),
        options=(*OVERVIEW_OPTIONS, "reports"),
        level=level,
        condition=True,
        features=("community reports",),
    )


METHODS = (
    SearchMethod(
        AUTO,
        "what the question needs: the surroundings of entities, reports, or a query over tables",
        "graphrag_dagster.systems.graphrag.search.router:answer",
        f"{_SIZES}:chosen",
        brief="chosen by the question",
        tasks=("router", "answerer"),
        tables=(*LOCAL_TABLES, *LEVEL_TABLES),
        options=("routing", *OVERVIEW_OPTIONS, "level", "reports", *LOCAL_OPTIONS, "sql"),
        with_level=GLOBAL,
        features=("route", "community reports", "traversal", "text units", "query"),
    ),
    SearchMethod(
        GLOBAL,
        "all community reports of a level",
        f"{_SEARCH}.global_search:global_search",
        f"{_SIZES}:whole",
        brief="reports of a level",
        tables=(*TEXT_UNIT_TABLES, *GRAPH_TABLES, *LEVEL_TABLES, *REPORT_TABLES),
        options=(*OVERVIEW_OPTIONS, "level", "reports"),
        levelled=True,
        reads_whole_level=True,
        features=("community reports",),
    ),
    SearchMethod(
        "dynamic",
        "the community reports relevant to the question, from the roots down",
        f"{_SEARCH}.dynamic_search:dynamic_search",
        f"{_SIZES}:rated",
        brief="reports chosen from the top down",
        tasks=("rater", "answerer"),
        tables=(*TEXT_UNIT_TABLES, *GRAPH_TABLES, *LEVEL_TABLES, *REPORT_TABLES, *COMMUNITY_TABLES),
        options=(*OVERVIEW_OPTIONS, "level", "reports", "relevant_from"),
        levelled=True,
        features=("community reports",),
    ),
    SearchMethod(
        LOCAL,
        "the surroundings in the graph of the entities that the question names",
        f"{_SEARCH}.local_search:local",
        f"{_SIZES}:one_call",
        brief="the entities of the question and their surroundings",
        tasks=("answerer",),
        tables=LOCAL_TABLES,
        options=(*FORM_OPTIONS, *LOCAL_OPTIONS),
        features=_AROUND,
    ),
    SearchMethod(
        "drift",
        "community reports first, then the surroundings that follow-up questions lead to",
        f"{_SEARCH}.drift_search:drift",
        f"{_SIZES}:followed_up",
        brief="local, led by reports",
        tasks=("explorer", "answerer"),
        tables=(*LOCAL_TABLES, *REPORT_VECTOR_TABLES),
        options=(*FORM_OPTIONS, "seed", *LOCAL_OPTIONS, "steps", "follow_ups"),
        features=_AROUND,
    ),
    SearchMethod(
        "basic",
        "the source texts nearest to the question",
        f"{_SEARCH}.basic_search:basic",
        f"{_SIZES}:one_call",
        brief="passages found by words and vectors",
        tasks=("answerer",),
        tables=(*TEXT_UNIT_TABLES, *UNIT_VECTOR_TABLES),
        options=(*MAP_OPTIONS, *RETRIEVAL_OPTIONS),
        uses_graph=False,
        features=("text units",),
    ),
    SearchMethod(
        "sql",
        "counts, top lists, firsts and lasts, and groups, by a query over the tables that is shown",
        f"{_SEARCH}.sql.sql_search:sql",
        f"{_SIZES}:queried",
        brief="counts and lists by a query over the tables",
        tasks=("query_writer",),
        tables=(
            *(*TEXT_UNIT_TABLES, *GRAPH_TABLES, *LEVEL_TABLES, *COMMUNITY_TABLES),
            *("graph.claims", "graph.community_members", "graph.triples", "reports.community_reports"),
        ),
        options=("engine", "sql"),
        features=("query",),
    ),
    *map(at_level, range(4)),
    SearchMethod(
        SOURCES,
        "all source texts, summarised chunk by chunk (map and reduce)",
        f"{_SEARCH}.global_search:global_search",
        f"{_SIZES}:whole",
        tables=TEXT_UNIT_TABLES,
        options=OVERVIEW_OPTIONS,
        condition=True,
        uses_graph=False,
        features=("text units",),
    ),
    SearchMethod(
        BASELINE,
        "the source texts nearest to the question, by vectors",
        f"{_SEARCH}.basic_search:nearest",
        f"{_SIZES}:one_call",
        tables=(*TEXT_UNIT_TABLES, *UNIT_VECTOR_TABLES),
        options=MAP_OPTIONS,
        condition=True,
        uses_graph=False,
        features=("text units",),
    ),
)

#: What the paper fixes, by key; its section or table beside it. It names no number of gleanings, no level of
#: communities for a single question and no temperature: these stay as they are.
_PAPER = MappingProxyType(
    {
        # §4.1.1: windows of 600 tokens, 100 of them shared; with this tokenizer Table 2 adds up to the token.
        "text_units.strategy": "tokens",
        "text_units.size": 600,
        "text_units.overlap": 100,
        "text_units.encoding": "cl100k_base",
        "text_units.whole_words": False,
        # Appendix A.2, E.1
        "extraction.gleaning.order": "check_first",
        "model.logit_bias": True,
        "model.replies": "tuples",
        # §3.1.3: names are matched exactly.
        "resolution.enabled": False,
        "graph.weight": "count",
        "graph.profile": "paper",
        # §3.1.4; the counts of Table 2 are those of the largest component.
        "communities.profile": "paper",
        "communities.start": "cold",
        "communities.roots": None,
        # §3.1.4: until a community can no longer be partitioned.
        "communities.max_cluster_size": 2,
        # §3.1.6, §4.1.3, Appendix E.3, E.4
        "reports.context_tokens": 8000,
        # Appendix E.2
        "reports.profile": "paper",
        "search.method": "global",
        "search.context_tokens": 8000,
        "search.unit": "answer",
        "search.response_type": "multiple paragraphs",
        "search.general_knowledge": True,
    }
)

_STAGES = (
    Stage(
        "extraction",
        version=4,
        reads=("corpus",),
        sections=("extraction", "claims", "typing"),
        without_effect=("extraction.expected", "extraction.processes"),
        users=("extraction",),
        kinds=("documents",),
    ),
    Stage(
        "resolution",
        version=4,
        reads=("corpus", "extraction"),
        sections=("resolution",),
        libraries=("anyascii", "jellyfish", "rapidfuzz"),
        users=("resolution",),
        kinds=("documents",),
    ),
    Stage(
        "graph",
        version=1,
        reads=("imports", "corpus", "extraction", "resolution"),
        sections=("graph",),
        without_effect=("graph.shrink_guard",),
        users=("entities", "relationships", "claims"),
    ),
    Stage(
        "communities",
        version=1,
        reads=("imports", "graph"),
        sections=("communities",),
        libraries=("graspologic-native",),
    ),
    # Its libraries change last bits alone, which are rounded away: places stay when they are updated.
    Stage("layout", version=1, reads=("graph", "communities")),
    Stage(
        "entity_embeddings",
        version=1,
        reads=("graph",),
        sections=("embeddings",),
        users=("entities_embeddings",),
    ),
    Stage(
        "reports",
        version=3,
        reads=("imports", "corpus", "extraction", "resolution", "graph", "communities", "context"),
        sections=("reports",),
        users=("reports",),
    ),
    Stage(
        "embeddings",
        version=1,
        reads=("corpus", "reports"),
        sections=("embeddings",),
        users=("text_units_embeddings", "community_reports_embeddings"),
    ),
)

_NEURAL = ("gliner", "tokenizers", "torch", "transformers")
_GLINER_REBEL = Engine(
    GLINER_REBEL,
    "two scientific models on this machine: GLiNER finds entities, REBEL relationships",
    packages=_NEURAL,
    settings=("extraction.device", "extraction.gliner", "extraction.rebel", "extraction.threads"),
    libraries=MappingProxyType({"extraction": _NEURAL}),
    models="graphrag_dagster.systems.graphrag.gliner_rebel:models",
    examined="graphrag_dagster.systems.graphrag.gliner_rebel:probe_models",
)

SYSTEM = System(
    "graphrag",
    "graphrag_dagster.systems.graphrag",
    tasks="graphrag_dagster.systems.graphrag.tasks:TASKS",
    engines=MappingProxyType(
        {
            LLM: "graphrag_dagster.systems.graphrag.llm.engine",
            EXTRACTIVE: "graphrag_dagster.systems.graphrag.extractive",
            GLINER_REBEL: "graphrag_dagster.systems.graphrag.gliner_rebel",
        }
    ),
    adds=(_GLINER_REBEL,),
    methods=METHODS,
    sections=MappingProxyType(
        {
            "extraction": "graphrag_dagster.systems.graphrag.settings:ExtractionSettings",
            "claims": "graphrag_dagster.systems.graphrag.settings:ClaimSettings",
            "typing": "graphrag_dagster.systems.graphrag.settings:TypingSettings",
            "resolution": "graphrag_dagster.systems.graphrag.resolution.settings:ResolutionSettings",
            "graph": "graphrag_dagster.systems.graphrag.settings:GraphSettings",
            "communities": "graphrag_dagster.systems.graphrag.settings:CommunitySettings",
            "reports": "graphrag_dagster.systems.graphrag.settings:ReportSettings",
        }
    ),
    profiles=MappingProxyType({"paper": _PAPER}),
    tables=(
        "graphrag_dagster.systems.graphrag.tables:TABLES",
        "graphrag_dagster.systems.graphrag.resolution.tables:TABLES",
    ),
    stages=_STAGES,
    pipeline="graphrag_dagster.systems.graphrag.pipeline:STEPS",
    rules="graphrag_dagster.systems.graphrag.index.index_checks:RULES",
    resources=MappingProxyType(
        {"clustering": "graphrag_dagster.systems.graphrag.index.graph_communities:ClusteringStart"}
    ),
)
