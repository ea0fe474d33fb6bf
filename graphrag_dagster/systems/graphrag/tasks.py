"""The language tasks of GraphRAG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, GLINER_REBEL, LLM, SUPPORT_JUDGE, Task, asking

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tasks.answering_ports import (
        FollowUpExplorer,
        QueryWriter,
        ReportRater,
        Router,
    )
    from graphrag_dagster.kernel.tasks.name_judging_ports import EntityTyper, NameJudge
    from graphrag_dagster.kernel.tasks.task_ports import (
        Answerer,
        ClaimExtractor,
        DescriptionMerger,
        GraphExtractor,
        ReportWriter,
    )


GRAPH_EXTRACTOR: Task[GraphExtractor] = Task(
    "graph_extractor",
    "extraction",
    "extract",
    (
        *asking("extract_graph"),
        "extract_graph_labelled_system",
        "extract_graph_labelled_tuples_system",
        "extract_graph_tuples_system",
        "glean_check",
        "glean_continue",
    ),
    done_by=(EXTRACTIVE, LLM, GLINER_REBEL),
)
CLAIM_EXTRACTOR: Task[ClaimExtractor | None] = Task(
    "claim_extractor",
    "claims",
    "extract",
    (*asking("extract_claims"), "extract_claims_tuples_system", "claims_check", "claims_continue"),
    switch="claims",
)
ENTITY_TYPER: Task[EntityTyper | None] = Task(
    "entity_typer", "typing", "type", asking("type_entities"), done_by=(LLM,), switch="typing"
)
NAME_JUDGE: Task[NameJudge | None] = Task(
    "name_judge", "resolution", "resolve", asking("judge_names"), done_by=(LLM,), switch="resolution"
)
DESCRIPTION_MERGER: Task[DescriptionMerger] = Task(
    "description_merger", "graph", "summarise", asking("summarize_descriptions")
)
REPORT_WRITER: Task[ReportWriter] = Task(
    "report_writer",
    "reports",
    "report",
    (*asking("community_report"), "community_report_context_nodes"),
)
ANSWERER: Task[Answerer] = Task(
    "answerer",
    "search",
    "answer",
    (
        *asking("global_map", "global_reduce", "local_search"),
        "answer_general_knowledge",
        "answer_response_type",
        "global_map_points_system",
        "global_map_tagged_system",
    ),
    waited_for=True,
)
RATER: Task[ReportRater] = Task("rater", "search", "judge", asking("rate_reports"), waited_for=True)
EXPLORER: Task[FollowUpExplorer] = Task(
    "explorer", "search", "answer", asking("drift_primer", "drift_step"), waited_for=True
)
QUERY_WRITER: Task[QueryWriter | None] = Task(
    "query_writer",
    "search",
    "answer",
    (*asking("write_sql"), "write_sql_again"),
    waited_for=True,
    done_by=(LLM,),
)
ROUTER: Task[Router | None] = Task(
    "router", "search", "route", asking("route"), waited_for=True, done_by=(LLM,)
)

TASKS: tuple[Task[Any], ...] = (
    GRAPH_EXTRACTOR,
    CLAIM_EXTRACTOR,
    ENTITY_TYPER,
    NAME_JUDGE,
    DESCRIPTION_MERGER,
    REPORT_WRITER,
    ANSWERER,
    RATER,
    EXPLORER,
    QUERY_WRITER,
    ROUTER,
    SUPPORT_JUDGE,
)
