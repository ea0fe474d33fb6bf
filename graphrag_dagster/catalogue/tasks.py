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
    """

    name: str
    section: str
    role: str
    prompts: tuple[str, ...] = ()
    waited_for: bool = False
    model_only: bool = False


ROLES = (
    Role("extract", 4000),
    Role("summarise", 1500),
    Role("report", 2000),
    Role("answer", 4000),
    Role("judge", 1000),
    Role("embed", 0),
)

#: Prompts that any task may need.
SHARED_PROMPTS = ("json_only", "retry")

TASKS = (
    Task(
        "graph_extractor",
        "extraction",
        "extract",
        (
            "extract_graph_system",
            "extract_graph_tuples_system",
            "extract_graph_user",
            "glean_check",
            "glean_continue",
        ),
    ),
    Task(
        "claim_extractor",
        "claims",
        "extract",
        (
            "claims_check",
            "claims_continue",
            "extract_claims_system",
            "extract_claims_tuples_system",
            "extract_claims_user",
        ),
    ),
    Task(
        "description_merger",
        "graph",
        "summarise",
        ("summarize_descriptions_system", "summarize_descriptions_user"),
    ),
    Task("report_writer", "reports", "report", ("community_report_system", "community_report_user")),
    Task(
        "answerer",
        "search",
        "answer",
        (
            "answer_general_knowledge",
            "answer_response_type",
            "global_map_points_system",
            "global_map_system",
            "global_map_tagged_system",
            "global_map_user",
            "global_reduce_system",
            "global_reduce_user",
            "local_search_system",
            "local_search_user",
        ),
        waited_for=True,
    ),
    Task("rater", "search", "judge", ("rate_reports_system", "rate_reports_user"), waited_for=True),
    Task(
        "support_judge",
        "search",
        "judge",
        ("judge_support_system", "judge_support_user"),
        waited_for=True,
        model_only=True,
    ),
    Task(
        "explorer",
        "search",
        "answer",
        ("drift_primer_system", "drift_primer_user", "drift_step_system", "drift_step_user"),
        waited_for=True,
    ),
    Task(
        "question_writer",
        "questions",
        "answer",
        (
            "describe_corpus_system",
            "describe_corpus_user",
            "write_personas_system",
            "write_personas_user",
            "write_questions_system",
            "write_questions_user",
            "write_tasks_system",
            "write_tasks_user",
        ),
        waited_for=True,
    ),
    Task(
        "answer_judge",
        "evaluation",
        "judge",
        (
            "judge_criterion_comprehensiveness",
            "judge_criterion_directness",
            "judge_criterion_diversity",
            "judge_criterion_empowerment",
            "judge_system",
            "judge_user",
        ),
        model_only=True,
    ),
    Task(
        "reason_reader",
        "evaluation",
        "judge",
        (
            "judge_criterion_comprehensiveness",
            "judge_criterion_directness",
            "judge_criterion_diversity",
            "judge_criterion_empowerment",
            "themes_label_system",
            "themes_label_user",
            "themes_merge_system",
            "themes_merge_user",
            "themes_name_system",
            "themes_name_user",
        ),
        model_only=True,
    ),
    Task(
        "claim_decomposer",
        "evaluation",
        "judge",
        (
            "claims_decompose_system",
            "claims_decompose_user",
            "claims_disambiguate_system",
            "claims_disambiguate_user",
            "claims_select_system",
            "claims_select_user",
        ),
    ),
    Task(
        "quality_judge",
        "evaluation",
        "judge",
        (
            "quality_against_context_user",
            "quality_attributable_to_context_system",
            "quality_questions_system",
            "quality_questions_user",
            "quality_relevant_to_question_system",
            "quality_relevant_to_question_user",
            "quality_statements_system",
            "quality_statements_user",
            "quality_true_to_context_system",
            "quality_useful_node_system",
            "quality_useful_node_user",
        ),
        model_only=True,
    ),
)
