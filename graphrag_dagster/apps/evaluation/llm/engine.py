"""Implementations of the evaluation's tasks by a language model."""

from graphrag_dagster.apps.evaluation import tasks
from graphrag_dagster.apps.evaluation.llm.answer_judges import LlmAnswerJudge, LlmQualityJudge
from graphrag_dagster.apps.evaluation.llm.claim_decomposition import LlmClaimDecomposer
from graphrag_dagster.apps.evaluation.llm.question_writers import LlmQuestionWriter, LlmTestsetWriter
from graphrag_dagster.apps.evaluation.llm.theme_reading import LlmReasonReader
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


def question_writer(session: TaskProvider) -> LlmQuestionWriter:
    """Writer of questions from the description of the corpus."""
    limit = session.reply_limit(tasks.QUESTION_WRITER)
    return LlmQuestionWriter(session.chat(tasks.QUESTION_WRITER), max_tokens=limit)


def testset_writer(session: TaskProvider) -> LlmTestsetWriter:
    """Writer of questions with reference answers from documents."""
    limit = session.reply_limit(tasks.TESTSET_WRITER)
    return LlmTestsetWriter(session.chat(tasks.TESTSET_WRITER), max_tokens=limit)


def answer_judge(session: TaskProvider) -> LlmAnswerJudge:
    """Judge that compares answers."""
    return LlmAnswerJudge(
        session.chat(tasks.ANSWER_JUDGE),
        plain=session.settings.section(EvaluationSettings).judge == "plain",
        max_tokens=session.reply_limit(tasks.ANSWER_JUDGE),
        temperature=session.settings.model.verdict_temperature,
    )


def reason_reader(session: TaskProvider) -> LlmReasonReader:
    """Reader of a judge's reasons that finds their themes."""
    limit = session.reply_limit(tasks.REASON_READER)
    return LlmReasonReader(session.chat(tasks.REASON_READER), max_tokens=limit)


def claim_decomposer(session: TaskProvider) -> LlmClaimDecomposer:
    """Splits answers into claims."""
    own = session.settings.section(EvaluationSettings)
    return LlmClaimDecomposer(
        session.chat(tasks.CLAIM_DECOMPOSER),
        preceding=own.preceding,
        following=own.following,
        max_tokens=session.reply_limit(tasks.CLAIM_DECOMPOSER),
    )


def quality_judge(session: TaskProvider) -> LlmQualityJudge:
    """Judge of which statements of an answer are relevant and true."""
    limit = session.reply_limit(tasks.QUALITY_JUDGE)
    return LlmQualityJudge(session.chat(tasks.QUALITY_JUDGE), max_tokens=limit)
