"""What LEGO-GraphRAG declares of itself."""

from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.search_methods import (
    FORM_OPTIONS,
    GRAPH_TABLES,
    REPORT_TABLES,
    RETRIEVAL_OPTIONS,
    TEXT_UNIT_TABLES,
    UNIT_VECTOR_TABLES,
    SearchMethod,
)
from graphrag_dagster.kernel.catalogue.system import Job, Stage, System
from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, LLM

_PLAN = "graphrag_dagster.systems.lego.search.lego_estimates"
_STAGES = (
    Stage(
        "paths",
        version=3,
        reads=("marts",),
        sections=("paths",),
        without_effect=("paths.answering", "paths.processes", "paths.studied"),
        libraries=("PyStemmer", "scikit-learn", "scipy", "wordllama"),
        made="request",
        users=("paths", "path_asked", "path_judged", "path_studied"),
        switch="paths",
    ),
)

SYSTEM = System(
    "lego",
    "graphrag_dagster.systems.lego",
    builds_on=("graphrag",),
    tasks="graphrag_dagster.systems.lego.tasks:TASKS",
    derived="graphrag_dagster.systems.lego.search.graph_arrays:PATHS",
    engines=MappingProxyType(
        {
            LLM: "graphrag_dagster.systems.lego.llm.engine",
            EXTRACTIVE: "graphrag_dagster.systems.lego.extractive",
        }
    ),
    methods=(
        SearchMethod(
            "paths",
            "text units that state the paths from what the question names, and those that a walk over names "
            "and text units reaches",
            "graphrag_dagster.systems.lego.search.lego_method:paths",
            f"{_PLAN}:estimate_paths",
            brief="paths of the graph and the words that state them",
            tasks=("path_selector", "answerer"),
            tables=(
                *(*TEXT_UNIT_TABLES, *GRAPH_TABLES, *REPORT_TABLES, *UNIT_VECTOR_TABLES),
                *("graph.community_members", "graph.triples"),
            ),
            options=(*FORM_OPTIONS, *RETRIEVAL_OPTIONS, "shares", "paths"),
            features=("community reports", "traversal", "text units"),
        ),
    ),
    sections=MappingProxyType({"paths": "graphrag_dagster.systems.lego.settings:PathSettings"}),
    profiles=MappingProxyType({"paper_002": "graphrag_dagster.systems.lego.settings:PAPER_PROFILE"}),
    tables=(
        "graphrag_dagster.systems.lego.tables:TABLES",
        "graphrag_dagster.systems.lego.tables:STUDY_TABLES",
    ),
    stages=_STAGES,
    pipeline="graphrag_dagster.systems.lego.pipeline:STEPS",
    jobs=(
        Job(
            "paths",
            ("path_study",),
            "Paths of the graph that answer the corpus's questions with gold answers, measured",
            f"{_PLAN}:plan_paths_of",
        ),
        Job(
            "study_paths",
            ("path_variants",),
            "What recall of the subgraph is worth, and what acceleration and additional steps cost",
            f"{_PLAN}:plan_path_study_of",
        ),
    ),
)
