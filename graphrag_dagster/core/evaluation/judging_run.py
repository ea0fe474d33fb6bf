"""Judging the answers of a corpus."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.core.evaluation.judging import comparisons, judged, posed
from graphrag_dagster.core.language.evaluating import AnswerJudge, Criterion
from graphrag_dagster.core.text.answer_sentences import without_citations


def judge_answers(
    answers: pl.DataFrame,
    judge: AnswerJudge,
    *,
    conditions: Sequence[str],
    criteria: Sequence[Criterion],
    replicates: int,
    model: str,
) -> pl.DataFrame:
    """Return the rows of ``evaluation.judgements`` for all pairs of answers to the same question.

    Citation marks are left out of what a judge sees: they are the same kind of thing in every answer, and
    their number would speak to it.

    Args:
        answers: ``question_id``, ``question``, ``position``, ``method`` and ``text``.
        judge: compares.
        conditions: the methods, in the order of the settings; those without answers are left out.
        criteria: by what answers are compared.
        replicates: verdicts on each pair and criterion.
        model: the judge's name.

    Raises:
        ValueError: the answers are of fewer than two methods.
        EndpointError: the judge's endpoint cannot be used at all.
    """
    present = [condition for condition in conditions if condition in set(answers["method"])]
    ordered = answers.sort("position").unique("question_id", maintain_order=True)
    plan = comparisons(ordered["question_id"].to_list(), present, criteria, replicates)
    texts = {
        (question, method): without_citations(text)
        for question, method, text in answers.select("question_id", "method", "text").iter_rows()
    }
    questions = dict(ordered.select("question_id", "question").iter_rows())
    return judged(plan, judge.judge(posed(plan, questions, texts)), model)
