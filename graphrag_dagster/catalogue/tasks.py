"""The language tasks: who does each, what a model is asked for it, and with which prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from graphrag_dagster.core.language.answering import (
        ContextWriter,
        Explorer,
        QueryWriter,
        ReportRater,
        Router,
        SupportJudge,
    )
    from graphrag_dagster.core.language.coterag import (
        AnswerValidator,
        CommunitySummariser,
        EvidenceAnswerer,
        EvidenceRouter,
    )
    from graphrag_dagster.core.language.evaluating import (
        AnswerJudge,
        ClaimDecomposer,
        PathJudge,
        QuestionWriter,
        ReasonReader,
        TestsetWriter,
    )
    from graphrag_dagster.core.language.name_judging import EntityTyper, NameJudge
    from graphrag_dagster.core.language.path_selection import PathAnswerer, PathSelector
    from graphrag_dagster.core.language.quality import QualityJudge
    from graphrag_dagster.core.language.tasks import (
        Answerer,
        ClaimExtractor,
        DescriptionMerger,
        GraphExtractor,
        ReportWriter,
    )

#: What does a task, as its port says.
Port = TypeVar("Port", covariant=True)


@dataclass(frozen=True, slots=True)
class Role:
    """What a model is asked for; each may have a model of its own (``model.tasks`` of ``corpus.yaml``).

    Attributes:
        name: its key there.
        longest_reply: tokens, where the settings say nothing.
    """

    name: str
    longest_reply: int


#: The engines of this package: one asks a chat model, the others need none.
LLM, EXTRACTIVE, GLINER_REBEL = "llm", "extractive", "gliner-rebel"


@dataclass(frozen=True, slots=True)
class Task(Generic[Port]):
    """A language task. ``session.task(ROUTER)`` gives what does it, of the type that it is declared with:
    where that may be None, nothing else than a model does it, or it may be switched off.

    Attributes:
        name: as engines and people call it.
        section: of ``corpus.yaml``, whose engine does it.
        role: as what a model is asked.
        prompts: their names.
        done_by: engines of this package that do it; one of another package says so itself.
        waited_for: someone waits for it, so that it is never sent as a batch.
        switch: where in ``corpus.yaml`` a key ``enabled`` switches it on; blank: it always is.
    """

    name: str
    section: str
    role: str
    prompts: tuple[str, ...] = ()
    done_by: tuple[str, ...] = (EXTRACTIVE, LLM)
    waited_for: bool = False
    switch: str = ""

    @property
    def title(self) -> str:
        """What people call who does it."""
        return self.name.replace("_", " ")

    @property
    def model_only(self) -> bool:
        """Nothing but a model can do it; where the section's engine is none, it is left out."""
        return self.done_by == (LLM,)


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


GRAPH_EXTRACTOR: Task[GraphExtractor] = Task(
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
    done_by=(EXTRACTIVE, LLM, GLINER_REBEL),
)
CLAIM_EXTRACTOR: Task[ClaimExtractor | None] = Task(
    "claim_extractor",
    "claims",
    "extract",
    (*_asking("extract_claims"), "extract_claims_tuples_system", "claims_check", "claims_continue"),
    switch="claims",
)
ENTITY_TYPER: Task[EntityTyper | None] = Task(
    "entity_typer", "typing", "type", _asking("type_entities"), done_by=(LLM,), switch="typing"
)
NAME_JUDGE: Task[NameJudge | None] = Task(
    "name_judge", "resolution", "resolve", _asking("judge_names"), done_by=(LLM,), switch="resolution"
)
DESCRIPTION_MERGER: Task[DescriptionMerger] = Task(
    "description_merger", "graph", "summarise", _asking("summarize_descriptions")
)
REPORT_WRITER: Task[ReportWriter] = Task(
    "report_writer",
    "reports",
    "report",
    (*_asking("community_report"), "community_report_context_nodes"),
)
ANSWERER: Task[Answerer] = Task(
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
)
RATER: Task[ReportRater] = Task("rater", "search", "judge", _asking("rate_reports"), waited_for=True)
SUPPORT_JUDGE: Task[SupportJudge | None] = Task(
    "support_judge",
    "search",
    "judge",
    _asking("judge_support"),
    waited_for=True,
    done_by=(LLM,),
)
EXPLORER: Task[Explorer] = Task(
    "explorer", "search", "answer", _asking("drift_primer", "drift_step"), waited_for=True
)
QUERY_WRITER: Task[QueryWriter | None] = Task(
    "query_writer",
    "search",
    "answer",
    (*_asking("write_sql"), "write_sql_again"),
    waited_for=True,
    done_by=(LLM,),
)
CYPHER_WRITER: Task[QueryWriter | None] = Task(
    "cypher_writer",
    "search",
    "answer",
    ("write_cypher_system", "write_sql_user", "write_sql_again"),
    waited_for=True,
    done_by=(LLM,),
)
ROUTER: Task[Router | None] = Task(
    "router", "search", "route", _asking("route"), waited_for=True, done_by=(LLM,)
)
GRAPH_ROUTER: Task[Router | None] = Task(
    "graph_router",
    "search",
    "route",
    ("graph_route_system", "route_user"),
    waited_for=True,
    done_by=(LLM,),
)
CONTEXT_WRITER: Task[ContextWriter | None] = Task(
    "context_writer", "search", "answer", _asking("own_context"), waited_for=True, done_by=(LLM,)
)
COMMUNITY_SUMMARISER: Task[CommunitySummariser] = Task(
    "community_summariser", "coterag", "summarise", _asking("coterag_summary")
)
EVIDENCE_ROUTER: Task[EvidenceRouter] = Task(
    "evidence_router", "coterag", "route", ("coterag_route_system", "route_user"), waited_for=True
)
EVIDENCE_ANSWERER: Task[EvidenceAnswerer] = Task(
    "evidence_answerer",
    "coterag",
    "answer",
    _asking("coterag_answer", "coterag_direct"),
    waited_for=True,
)
ANSWER_VALIDATOR: Task[AnswerValidator] = Task(
    "answer_validator", "coterag", "validate", _asking("coterag_validate"), waited_for=True
)
QUESTION_WRITER: Task[QuestionWriter] = Task(
    "question_writer",
    "questions",
    "answer",
    _asking("describe_corpus", "write_personas", "write_questions", "write_tasks"),
    waited_for=True,
)
TESTSET_WRITER: Task[TestsetWriter | None] = Task(
    "testset_writer",
    "questions",
    "testset",
    _asking("write_testset"),
    waited_for=True,
    done_by=(LLM,),
    switch="questions.testset",
)
ANSWER_JUDGE: Task[AnswerJudge | None] = Task(
    "answer_judge", "evaluation", "judge", (*_CRITERIA, *_asking("judge")), done_by=(LLM,)
)
REASON_READER: Task[ReasonReader | None] = Task(
    "reason_reader",
    "evaluation",
    "judge",
    (*_CRITERIA, *_asking("themes_label", "themes_merge", "themes_name")),
    done_by=(LLM,),
)
CLAIM_DECOMPOSER: Task[ClaimDecomposer] = Task(
    "claim_decomposer",
    "evaluation",
    "judge",
    _asking("claims_decompose", "claims_disambiguate", "claims_select"),
)
QUALITY_JUDGE: Task[QualityJudge | None] = Task(
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
    done_by=(LLM,),
)
PATH_SELECTOR: Task[PathSelector] = Task(
    "path_selector",
    "paths",
    "select",
    (
        *(f"paths_select_{level}_system" for level in ("subgraph", "path", "node", "relation", "triple")),
        "paths_select_user",
        *_asking("paths_enough"),
    ),
    waited_for=True,
)
PATH_ANSWERER: Task[PathAnswerer] = Task(
    "path_answerer", "paths", "answer", _asking("paths_answer"), waited_for=True
)
PATH_JUDGE: Task[PathJudge | None] = Task(
    "path_judge", "paths", "judge", _asking("path_judge"), done_by=(LLM,)
)

TASKS: tuple[Task[object], ...] = (
    GRAPH_EXTRACTOR,
    CLAIM_EXTRACTOR,
    ENTITY_TYPER,
    NAME_JUDGE,
    DESCRIPTION_MERGER,
    REPORT_WRITER,
    ANSWERER,
    RATER,
    SUPPORT_JUDGE,
    EXPLORER,
    QUERY_WRITER,
    CYPHER_WRITER,
    ROUTER,
    GRAPH_ROUTER,
    CONTEXT_WRITER,
    COMMUNITY_SUMMARISER,
    EVIDENCE_ROUTER,
    EVIDENCE_ANSWERER,
    ANSWER_VALIDATOR,
    QUESTION_WRITER,
    TESTSET_WRITER,
    ANSWER_JUDGE,
    REASON_READER,
    CLAIM_DECOMPOSER,
    QUALITY_JUDGE,
    PATH_SELECTOR,
    PATH_ANSWERER,
    PATH_JUDGE,
)
