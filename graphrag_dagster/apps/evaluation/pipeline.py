"""The steps of an evaluation, in order."""

from graphrag_dagster.apps.evaluation.questions.answer_tables import (
    ANSWER_CITATIONS,
    ANSWER_CONTEXTS,
    ANSWER_COSTS,
    ANSWER_STATEMENTS,
    ANSWERS,
)
from graphrag_dagster.apps.evaluation.questions.question_tables import (
    CORPUS_DESCRIPTIONS,
    PERSONA_QUESTIONS,
    PERSONA_TASKS,
    PERSONAS,
    QUESTIONS,
    TESTSET_DOCUMENTS,
    TESTSET_QUESTIONS,
)
from graphrag_dagster.apps.evaluation.stages.answer_stage import answers
from graphrag_dagster.apps.evaluation.stages.comparison_stage import judgements, measures, report, statistics
from graphrag_dagster.apps.evaluation.stages.question_stage import questions
from graphrag_dagster.apps.evaluation.stages.study_stage import extraction_study, window_study
from graphrag_dagster.apps.evaluation.tables import (
    ALIGNMENT,
    ANSWER_CLAIMS,
    ANSWER_MEASURES,
    ANSWER_SENTENCES,
    COMPARISONS,
    CONDITION_COSTS,
    CONDITION_MEANS,
    DIVERSITY_CLUSTERS,
    EXTRACTION_COUNTS,
    JUDGEMENTS,
    POSITION_BIAS,
    QUALITY_SCORES,
    QUALITY_VERDICTS,
    SIGNIFICANCE,
    THEME_REASONS,
    THEMES,
    VERDICTS,
    WIN_RATES,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
    WINDOW_WIN_RATES,
)
from graphrag_dagster.kernel.pipeline.step_declaration import Step
from graphrag_dagster.kernel.pipeline.steps import SNAPSHOT
from graphrag_dagster.kernel.tables.core_tables import DOCUMENTS, ENTITIES, TEXT_CHUNKS

STEPS = (
    Step(
        "questions",
        questions,
        reads=(TEXT_CHUNKS, ENTITIES, DOCUMENTS),
        assets={
            PERSONA_QUESTIONS: (TEXT_CHUNKS, ENTITIES),
            TESTSET_QUESTIONS: (DOCUMENTS,),
            QUESTIONS: (PERSONA_QUESTIONS, TESTSET_QUESTIONS),
        },
        side_tables=(CORPUS_DESCRIPTIONS, PERSONAS, PERSONA_TASKS, TESTSET_DOCUMENTS),
        requested=True,
    ),
    Step(
        "answers",
        answers,
        reads=(QUESTIONS,),
        assets={ANSWERS: (QUESTIONS, SNAPSHOT), ANSWER_CITATIONS: (ANSWERS,)},
        side_tables=(ANSWER_COSTS, ANSWER_CONTEXTS, ANSWER_STATEMENTS),
        requested=True,
    ),
    Step(
        "judgements",
        judgements,
        reads=(ANSWERS,),
        assets={
            JUDGEMENTS: (ANSWERS,),
            THEMES: (JUDGEMENTS,),
            WIN_RATES: (JUDGEMENTS,),
        },
        side_tables=(THEME_REASONS, COMPARISONS),
        requested=True,
    ),
    Step(
        "measures",
        measures,
        reads=(ANSWERS, ANSWER_CONTEXTS, QUESTIONS),
        assets={
            ANSWER_CLAIMS: (ANSWERS,),
            QUALITY_SCORES: (ANSWERS,),
            ANSWER_MEASURES: (ANSWER_CLAIMS, QUALITY_SCORES),
        },
        side_tables=(ANSWER_SENTENCES, DIVERSITY_CLUSTERS, QUALITY_VERDICTS, CONDITION_COSTS),
        requested=True,
    ),
    Step(
        "statistics",
        statistics,
        reads=(JUDGEMENTS, COMPARISONS, ANSWER_MEASURES),
        assets={
            CONDITION_MEANS: (WIN_RATES, ANSWER_MEASURES),
            SIGNIFICANCE: (WIN_RATES, ANSWER_MEASURES),
            VERDICTS: (SIGNIFICANCE,),
        },
        side_tables=(POSITION_BIAS, ALIGNMENT),
        requested=True,
    ),
    Step(
        "extraction_study",
        extraction_study,
        reads=(DOCUMENTS, TEXT_CHUNKS),
        assets={EXTRACTION_COUNTS: (TEXT_CHUNKS,)},
        requested=True,
    ),
    Step(
        "window_study",
        window_study,
        reads=(QUESTIONS,),
        assets={WINDOW_ANSWERS: (QUESTIONS, SNAPSHOT), WINDOW_WIN_RATES: (WINDOW_ANSWERS,)},
        side_tables=(WINDOW_JUDGEMENTS,),
        requested=True,
    ),
    Step(
        "evaluation_report",
        report,
        artifact="evaluation/report",
        made_of=(CONDITION_MEANS, VERDICTS, THEMES),
        requested=True,
    ),
)
