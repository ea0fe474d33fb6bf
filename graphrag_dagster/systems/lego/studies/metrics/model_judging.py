"""Whether answers from paths are correct, as a model says (second paper B.4)."""

import polars as pl

from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.systems.lego.studies.tables import PATH_JUDGEMENTS
from graphrag_dagster.systems.lego.tasks import GivenAnswer, PathJudge


def judged_answers(questions: pl.DataFrame, answers: pl.DataFrame, judge: PathJudge) -> pl.DataFrame:
    """Return rows of ``paths.judgements`` for all answers to questions with gold answers.

    Args:
        questions: rows of ``paths.questions``.
        answers: rows of ``paths.answers``.
        judge: who says it.

    Raises:
        EndpointError: the model endpoint cannot be used.
    """
    gold = questions.filter(pl.col("answers").list.len() > 0).select("question_id", "question", "answers")
    rows = answers.join(gold, on="question_id").sort("question_id", "instance")
    given = [
        GivenAnswer(question, tuple(right), text)
        for question, right, text in rows.select("question", "answers", "text").iter_rows()
    ]
    found = []
    with stage("Judging answers from paths", len(given)) as running:
        verdicts = judge.check(given)
        keys = rows.select("question_id", "instance").iter_rows()
        for (question_id, instance), verdict in zip(keys, verdicts, strict=True):
            found.append(
                {
                    "question_id": question_id,
                    "instance": instance,
                    "correct": verdict.correct,
                    "problem": verdict.problem,
                    "engine": judge.engine,
                }
            )
            running.advance()
    return PATH_JUDGEMENTS.frame(found)
