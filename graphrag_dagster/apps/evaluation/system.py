"""The evaluation's declaration."""

from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.system import Job, Stage, System
from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, LLM

_PAPER = MappingProxyType(
    {
        # §3.2, §4.1
        "questions.methods": ["C0", "C1", "C2", "C3", "TS", "SS"],
        "questions.personas": 5,
        "questions.tasks": 5,
        "questions.per_task": 5,
        "questions.oversample": 1,
        "evaluation.criteria": ["comprehensiveness", "diversity", "empowerment", "directness"],
        # Appendix F.1; §5.1 and Table 5: its judge argues by citations.
        "evaluation.judge": "plain",
        "evaluation.citations": "shown",
        "evaluation.replicates": 5,
        # §4.2, Table 4
        "evaluation.thresholds": [0.5, 0.6, 0.7, 0.8],
        # Figure 3, Appendix C
        "studies.chunk_sizes": [600, 1200, 2400],
        "studies.gleanings": 3,
        "studies.windows": [8000, 16000, 32000, 64000],
        "studies.questions": 125,
    }
)
_PAPER_003 = MappingProxyType(
    {
        # §4.1.1: three questions from each of ten documents; §4.1.3, Table 4.3: what is compared.
        "questions.testset.enabled": True,
        "questions.testset.documents": 10,
        "questions.testset.per_document": 3,
        "questions.methods": ["coterag", "coterag-no-communities", "own-context"],
        "evaluation.baseline": "coterag",
        # §4.2
        "evaluation.metrics": ["deepeval"],
    }
)
_PAPER_004 = MappingProxyType(
    {
        "questions.methods": ["C0", "TS", "basic", "graph"],
        "evaluation.baseline": "basic",
    }
)

_PLAN = "graphrag_dagster.apps.evaluation.stages.evaluation_plan"
_STAGES = (
    Stage(
        "questions",
        version=1,
        reads=("corpus", "graph"),
        sections=("description", "questions"),
        made="request",
        users=("written_questions", "testset"),
    ),
    Stage(
        "answers",
        version=4,
        reads=("marts", "questions"),
        sections=("search",),
        asks=("coterag", "paths"),
        made="request",
        users=("answers", "ask"),
    ),
    Stage(
        "evaluation",
        version=2,
        reads=("marts", "questions", "answers"),
        sections=("evaluation",),
        without_effect=("evaluation.max_tokens",),
        made="request",
        users=("judgements", "reason_themes", "answer_claims", "quality"),
    ),
    Stage(
        "studies",
        version=1,
        reads=("corpus", "graph", "communities", "entity_embeddings", "marts", "questions"),
        sections=("studies",),
        asks=("extraction", "search", "evaluation"),
        made="request",
        users=("extraction_study", "window_answers", "window_judgements"),
    ),
)

SYSTEM = System(
    "evaluation",
    "graphrag_dagster.apps.evaluation",
    builds_on=("graphrag",),
    tasks="graphrag_dagster.apps.evaluation.tasks:TASKS",
    engines=MappingProxyType(
        {
            LLM: "graphrag_dagster.apps.evaluation.llm.engine",
            EXTRACTIVE: "graphrag_dagster.apps.evaluation.extractive",
        }
    ),
    sections=MappingProxyType(
        {
            "questions": "graphrag_dagster.apps.evaluation.settings:QuestionSettings",
            "evaluation": "graphrag_dagster.apps.evaluation.settings:EvaluationSettings",
            "studies": "graphrag_dagster.kernel.settings.study_settings:StudySettings",
        }
    ),
    profiles=MappingProxyType({"paper": _PAPER, "paper_003": _PAPER_003, "paper_004": _PAPER_004}),
    tables=(
        "graphrag_dagster.apps.evaluation.questions.question_tables:TABLES",
        "graphrag_dagster.apps.evaluation.questions.answer_tables:TABLES",
        "graphrag_dagster.apps.evaluation.tables:TABLES",
        "graphrag_dagster.apps.evaluation.tables:STUDY_TABLES",
    ),
    stages=_STAGES,
    pipeline="graphrag_dagster.apps.evaluation.pipeline:STEPS",
    jobs=(
        Job(
            "answer",
            ("answers",),
            "Answer the corpus's questions with the chosen search methods; valid earlier answers are kept",
            f"{_PLAN}:plan_answers_of",
        ),
        Job(
            "evaluate",
            ("evaluation",),
            "Whether the graph helps on this corpus: questions, answers of the chosen search methods, "
            "judgements, claims, statistics, report",
            f"{_PLAN}:plan_evaluation_of",
        ),
        Job(
            "study_extraction",
            ("extraction_study",),
            "Entity records by chunk size and number of gleanings",
            f"{_PLAN}:plan_gleanings_of",
        ),
        Job(
            "study_windows",
            ("questions", "window_study"),
            "Plain retrieval with context windows of different sizes, compared",
            f"{_PLAN}:plan_windows_of",
        ),
    ),
    resources=MappingProxyType(
        {
            "scope": "graphrag_dagster.apps.evaluation.questions.question_list:EvaluationScope",
            "filters": "graphrag_dagster.apps.evaluation.stages.answer_stage:ListFilters",
        }
    ),
)
