"""The language tasks: whose engine does each, what a model is asked for it, and with which prompts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """What a model is asked for; each may have a model of its own (``model.tasks`` of ``corpus.yaml``).

    Attributes:
        name: its key there.
        longest_reply: tokens, where the settings say nothing.
    """

    name: str
    longest_reply: int


@dataclass(frozen=True, slots=True)
class Task:
    """A language task.

    Attributes:
        name: what an engine's method is called that gives who does it.
        section: of ``corpus.yaml``, whose engine does it.
        role: as what a model is asked.
        prompts: their names.
        waited_for: someone waits for it, so that it is never sent as a batch.
        model_only: nothing but a model can do it; where the section's engine is none, it is left out.
        switch: part of the section whose key ``enabled`` switches it on; blank: it always is.
    """

    name: str
    section: str
    role: str
    prompts: tuple[str, ...] = ()
    waited_for: bool = False
    model_only: bool = False
    switch: str = ""


ROLES = (
    Role("extract", 4000),
    Role("type", 1000),
    Role("resolve", 2000),
    Role("summarise", 1500),
    Role("report", 2000),
    Role("answer", 4000),
    Role("judge", 1000),
    Role("route", 300),
    Role("select", 1000),
    Role("validate", 300),
    Role("testset", 4000),
    Role("embed", 0),
)

#: Prompts that any task may need.
SHARED_PROMPTS = ("json_only", "retry")

#: What each criterion of a judge means.
_CRITERIA = (
    "judge_criterion_comprehensiveness",
    "judge_criterion_directness",
    "judge_criterion_diversity",
    "judge_criterion_empowerment",
)


def _asking(*names: str) -> tuple[str, ...]:
    """The prompts of questions that have one for the system and one for the user."""
    return tuple(f"{name}_{part}" for name in names for part in ("system", "user"))


TASKS = (
    Task(
        "graph_extractor",
        "extraction",
        "extract",
        (
            *_asking("extract_graph"),
            "extract_graph_labelled_system",
            "extract_graph_labelled_tuples_system",
            "extract_graph_tuples_system",
            "glean_check",
            "glean_continue",
        ),
    ),
    Task(
        "claim_extractor",
        "claims",
        "extract",
        (*_asking("extract_claims"), "extract_claims_tuples_system", "claims_check", "claims_continue"),
    ),
    Task("entity_typer", "typing", "type", _asking("type_entities"), model_only=True),
    Task("name_judge", "resolution", "resolve", _asking("judge_names"), model_only=True),
    Task("description_merger", "graph", "summarise", _asking("summarize_descriptions")),
    Task(
        "report_writer",
        "reports",
        "report",
        (*_asking("community_report"), "community_report_context_nodes"),
    ),
    Task(
        "answerer",
        "search",
        "answer",
        (
            *_asking("global_map", "global_reduce", "local_search"),
            "answer_general_knowledge",
            "answer_response_type",
            "global_map_points_system",
            "global_map_tagged_system",
        ),
        waited_for=True,
    ),
    Task("rater", "search", "judge", _asking("rate_reports"), waited_for=True),
    Task(
        "support_judge",
        "search",
        "judge",
        _asking("judge_support"),
        waited_for=True,
        model_only=True,
    ),
    Task("explorer", "search", "answer", _asking("drift_primer", "drift_step"), waited_for=True),
    Task(
        "query_writer",
        "search",
        "answer",
        (*_asking("write_sql"), "write_sql_again"),
        waited_for=True,
        model_only=True,
    ),
    Task(
        "cypher_writer",
        "search",
        "answer",
        ("write_cypher_system", "write_sql_user", "write_sql_again"),
        waited_for=True,
        model_only=True,
    ),
    Task("router", "search", "route", _asking("route"), waited_for=True, model_only=True),
    Task(
        "graph_router",
        "search",
        "route",
        ("graph_route_system", "route_user"),
        waited_for=True,
        model_only=True,
    ),
    Task("context_writer", "search", "answer", _asking("own_context"), waited_for=True, model_only=True),
    Task("community_summariser", "coterag", "summarise", _asking("coterag_summary")),
    Task("evidence_router", "coterag", "route", ("coterag_route_system", "route_user"), waited_for=True),
    Task(
        "evidence_answerer",
        "coterag",
        "answer",
        _asking("coterag_answer", "coterag_direct"),
        waited_for=True,
    ),
    Task("answer_validator", "coterag", "validate", _asking("coterag_validate"), waited_for=True),
    Task(
        "question_writer",
        "questions",
        "answer",
        _asking("describe_corpus", "write_personas", "write_questions", "write_tasks"),
        waited_for=True,
    ),
    Task(
        "testset_writer",
        "questions",
        "testset",
        _asking("write_testset"),
        waited_for=True,
        model_only=True,
        switch="testset",
    ),
    Task("answer_judge", "evaluation", "judge", (*_CRITERIA, *_asking("judge")), model_only=True),
    Task(
        "reason_reader",
        "evaluation",
        "judge",
        (*_CRITERIA, *_asking("themes_label", "themes_merge", "themes_name")),
        model_only=True,
    ),
    Task(
        "claim_decomposer",
        "evaluation",
        "judge",
        _asking("claims_decompose", "claims_disambiguate", "claims_select"),
    ),
    Task(
        "quality_judge",
        "evaluation",
        "judge",
        (
            *_asking(
                "quality_questions",
                "quality_relevant_to_question",
                "quality_statements",
                "quality_useful_node",
            ),
            "quality_against_context_user",
            "quality_attributable_to_context_system",
            "quality_true_to_context_system",
        ),
        model_only=True,
    ),
    Task(
        "path_selector",
        "paths",
        "select",
        (
            *(f"paths_select_{level}_system" for level in ("subgraph", "path", "node", "relation", "triple")),
            "paths_select_user",
            *_asking("paths_enough"),
        ),
        waited_for=True,
    ),
    Task("path_answerer", "paths", "answer", _asking("paths_answer"), waited_for=True),
    Task("path_judge", "paths", "judge", _asking("path_judge"), model_only=True),
)
