"""The language tasks of GraphRAG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, GLINER_REBEL, LLM, Task, prompt_pairs
from graphrag_dagster.kernel.tasks.answering_ports import SUPPORT_JUDGE

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
        *prompt_pairs("extract_graph"),
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
    (*prompt_pairs("extract_claims"), "extract_claims_tuples_system", "claims_check", "claims_continue"),
    switch="claims",
)
ENTITY_TYPER: Task[EntityTyper | None] = Task(
    "entity_typer", "typing", "type", prompt_pairs("type_entities"), done_by=(LLM,), switch="typing"
)
NAME_JUDGE: Task[NameJudge | None] = Task(
    "name_judge", "resolution", "resolve", prompt_pairs("judge_names"), done_by=(LLM,), switch="resolution"
)
DESCRIPTION_MERGER: Task[DescriptionMerger] = Task(
    "description_merger", "graph", "summarise", prompt_pairs("summarize_descriptions")
)
REPORT_WRITER: Task[ReportWriter] = Task(
    "report_writer",
    "reports",
    "report",
    (
        *prompt_pairs("community_report"),
        "community_report_paper_system",
        "community_report_context_nodes",
    ),
)
ANSWERER: Task[Answerer] = Task(
    "answerer",
    "search",
    "answer",
    (
        *prompt_pairs("global_map", "global_reduce", "local_search"),
        "answer_general_knowledge",
        "answer_response_type",
        "global_map_points_system",
        "global_map_tagged_system",
    ),
    waited_for=True,
)
RATER: Task[ReportRater] = Task("rater", "search", "judge", prompt_pairs("rate_reports"), waited_for=True)
EXPLORER: Task[FollowUpExplorer] = Task(
    "explorer", "search", "answer", prompt_pairs("drift_primer", "drift_step"), waited_for=True
)
QUERY_WRITER: Task[QueryWriter | None] = Task(
    "query_writer",
    "search",
    "answer",
    (*prompt_pairs("write_sql"), "write_sql_again"),
    waited_for=True,
    done_by=(LLM,),
)
ROUTER: Task[Router | None] = Task(
    "router", "search", "route", prompt_pairs("route"), waited_for=True, done_by=(LLM,)
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
