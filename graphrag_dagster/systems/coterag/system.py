"""What CoTeRAG-S declares of itself."""

from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.search_methods import (
    TEXT_UNIT_TABLES,
    UNIT_VECTOR_TABLES,
    SearchMethod,
)
from graphrag_dagster.kernel.catalogue.system import DeclaredPart, Stage, System
from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, LLM
from graphrag_dagster.systems.coterag.coterag_options import PAPER

COTERAG = "coterag"
_TABLES = (
    *("graph.triples", "coterag.stores", "coterag.members", "coterag.summaries", "coterag.summary_quotes"),
    *("coterag.terms", "coterag.description_vectors", "coterag.summary_vectors", "coterag.thresholds"),
)

_FEATURES = (
    *("route", "communities", "term coverage", "traversal", "text units"),
    *("preserved store", "validator"),
)


def _coterag_method(
    name: str, text: str, function: str, *, without: str = "", lacking: tuple[str, ...] = ()
) -> SearchMethod:
    return SearchMethod(
        name,
        text,
        f"graphrag_dagster.systems.coterag.search.coterag_method:{function}",
        "graphrag_dagster.systems.coterag.coterag_estimates:with_fallback_rounds",
        brief="" if without else "communities by summaries and terms, their paths, and a second look",
        tasks=("evidence_router", "evidence_answerer", "answer_validator"),
        tables=(*TEXT_UNIT_TABLES, "graph.entities", *UNIT_VECTOR_TABLES, *_TABLES),
        options=("soft_filters", "hard_filters", "coterag"),
        features=tuple(one for one in _FEATURES if one not in lacking),
        needs="coterag",
        without=without,
    )


def _ablation(part: str, text: str, *lacking: str) -> SearchMethod:
    return _coterag_method(f"{COTERAG}-no-{part}", text, f"without_{part}", without=COTERAG, lacking=lacking)


METHODS = (
    _coterag_method(
        COTERAG,
        "communities whose summaries and terms match, paths and passages of their entities, then what "
        "stands apart",
        "coterag",
    ),
    _ablation(
        "communities",
        f"{COTERAG} over the whole graph, without matching communities or looking again",
        *("communities", "term coverage", "preserved store"),
    ),
    _ablation(
        "matching",
        f"{COTERAG} over the whole graph, without matching communities; terms and the second look are kept",
        "communities",
    ),
    _ablation(
        "coverage",
        f"{COTERAG} with communities chosen by similarity alone, whatever terms they cover",
        "term coverage",
    ),
    _ablation("traversal", f"{COTERAG} without going on from the nearest entities", "traversal"),
    _ablation("fallback", f"{COTERAG} without looking at what stands apart", "preserved store"),
    SearchMethod(
        "own-context",
        "a context that the model writes from what it knows; no document",
        "graphrag_dagster.systems.coterag.search.own_context:own_context",
        "graphrag_dagster.systems.coterag.search.own_context:estimate_own_context",
        brief="what the model knows, no document",
        tasks=("context_writer", "answerer"),
        options=("engine", "response_type", "general_knowledge"),
        uses_graph=False,
        features=("own context",),
        needs_model=True,
    ),
)

#: What the third paper has: extraction by two small models, thresholds of its own embedder, its evaluation.
_PAPER = MappingProxyType(
    {
        # Table 4.1: summaries, types, routes, answers and verdicts are a model's; the graph itself is not.
        "engine": "llm",
        # §3.1.1, and the windows of its code.
        "text_units.strategy": "characters",
        "text_units.size": 200,
        "text_units.overlap": 20,
        "extraction.engine": "gliner-rebel",
        "typing.enabled": True,
        # §3.3.1: spellings are not resolved; §3.2: there are no reports beside the summaries.
        "resolution.enabled": False,
        "graph.engine": "extractive",
        "reports.engine": "extractive",
        # Table 4.2
        "coterag.enabled": True,
        "coterag.profile": "paper_raw",
        "coterag.communities": 3,
        "coterag.entities": 10,
        "coterag.hops": 5,
        "coterag.chunks": 5,
        "coterag.thresholds.coverage": PAPER.coverage,
        "model.tasks.answer.temperature": 0.6,
        "model.tasks.answer.max_output_tokens": 1024,
        # §3.7: an answer begins with an overview, and terms that are missing have the store searched, too.
        "coterag.overview": True,
        "coterag.fallback.coverage": True,
        # §3.6: what is searched there are entities.
        "coterag.fallback.units_without_entities": False,
        "search.method": COTERAG,
    }
)

_STAGES = (
    Stage(
        "coterag",
        version=3,
        reads=("corpus", "graph", "communities", "embeddings"),
        sections=("coterag",),
        # Decide answers alone.
        without_effect=(
            *("coterag.coverage", "coterag.coverage_unit", "coterag.term_weights", "coterag.order"),
            *("coterag.communities", "coterag.entities"),
            *("coterag.hops", "coterag.relations", "coterag.triples", "coterag.chunks", "coterag.summaries"),
            *("coterag.overview", "coterag.fallback"),
        ),
        libraries=("graspologic-native", "PyStemmer"),
        users=("coterag",),
        kinds=("documents",),
        switch="coterag",
    ),
)

SYSTEM = System(
    "coterag",
    "graphrag_dagster.systems.coterag",
    builds_on=("graphrag",),
    tasks="graphrag_dagster.systems.coterag.tasks:TASKS",
    engines=MappingProxyType(
        {
            LLM: "graphrag_dagster.systems.coterag.llm.engine",
            EXTRACTIVE: "graphrag_dagster.systems.coterag.extractive",
        }
    ),
    methods=METHODS,
    parts=MappingProxyType(
        {
            "coterag": DeclaredPart(
                "coterag.thresholds", "graphrag_dagster.systems.coterag.search.coterag_snapshot:CoteragTables"
            )
        }
    ),
    sections=MappingProxyType({"coterag": "graphrag_dagster.systems.coterag.settings:CoteragSettings"}),
    profiles=MappingProxyType({"paper_003": _PAPER}),
    tables=("graphrag_dagster.systems.coterag.tables:TABLES",),
    stages=_STAGES,
    pipeline="graphrag_dagster.systems.coterag.pipeline:STEPS",
    lineage="graphrag_dagster.systems.coterag.summary_lineage:LINEAGE",
    estimates="graphrag_dagster.systems.coterag.coterag_estimates:estimates",
    rules="graphrag_dagster.systems.coterag.pipeline:RULES",
)
