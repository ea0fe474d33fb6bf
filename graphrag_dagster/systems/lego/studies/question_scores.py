"""Scores of one question: paths and answers, by gold answers and by a model (paper, Figures 3, 4)."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.systems.lego.search.reasoning_paths import Outcome
from graphrag_dagster.systems.lego.studies.answer_metrics import (
    ANSWER_MEASURES,
    LEX,
    SUBGRAPH_MEASURES,
    Answers,
    Matching,
    NormalisedLabels,
    answer_scores,
    harmonic_mean,
    subgraph_scores,
)
from graphrag_dagster.systems.lego.studies.score_summary import KEY
from graphrag_dagster.systems.lego.tables import PATH_JUDGEMENTS
from graphrag_dagster.systems.lego.tasks import GivenAnswer, PathJudge

#: How many of the first paths are looked at.
CUTS = (1, 4, 8, 16, 32)
PATH_PARTS = ("path_precision", "path_recall", "path_f1", "path_hit")
PATH_MEASURES = tuple(f"{part}_at_{cut}" for cut in CUTS for part in PATH_PARTS)


def path_scores(texts: Sequence[str], gold: Answers) -> dict[str, float | None]:
    """Return the measures of the first 1, 4, 8, 16 and 32 paths; all None without gold.

    Precision is the share of the paths that hold any answer, 0 without a path; recall the share of the
    answers that any path holds; hit whether any does.

    Args:
        texts: normalised paths, best first.
        gold: the answers.
    """
    if not len(gold):
        return dict.fromkeys(PATH_MEASURES)
    held = [gold.answers_in(text) for text in texts[: max(CUTS)]]
    found: dict[str, float | None] = {}
    for cut in CUTS:
        first = held[:cut]
        precision = sum(map(bool, first)) / len(first) if first else 0.0
        recall = len(set().union(*first)) / len(gold)
        values = (precision, recall, harmonic_mean(precision, recall), float(recall > 0))
        found |= {f"{part}_at_{cut}": value for part, value in zip(PATH_PARTS, values, strict=True)}
    return found


#: What is null without gold answers, and what is counted with or without them.
GOLD_MEASURES = (
    *ANSWER_MEASURES,
    *(f"{name}{LEX}" for name in ANSWER_MEASURES),
    *PATH_MEASURES,
    *SUBGRAPH_MEASURES,
)
COUNTS = ("answers", "unmatchable", "paths", "subgraph_nodes", "subgraph_edges", "wcc")


def question_scores(
    outcome: Outcome,
    answers: Sequence[str],
    *,
    matching: Matching = "default",
    labels: NormalisedLabels | None = None,
) -> dict[str, float | None]:
    """Return the measures of a question: :data:`GOLD_MEASURES`, None without gold, and :data:`COUNTS`.

    Args:
        outcome: what was made of it.
        answers: its gold answers; may be none.
        matching: how answers are found in texts.
        labels: of the store, made once for many questions; None: made for this one.
    """
    known = labels or NormalisedLabels(outcome.subgraph.store)
    gold = Answers.of(answers, matching)
    first = outcome.paths.verbalised.at(range(min(len(outcome.paths), max(CUTS))))
    subgraph = outcome.subgraph
    counts: dict[str, float | None] = {
        "answers": float(len(gold)),
        "unmatchable": float(gold.unmatchable),
        "paths": float(len(outcome.paths)),
        "subgraph_nodes": float(len(subgraph.nodes)),
        "subgraph_edges": float(len(subgraph.edges)),
        "wcc": float(subgraph.components),
    }
    return (
        answer_scores(outcome.answer, gold)
        | path_scores(known.texts(first), gold)
        | subgraph_scores(subgraph, gold, known)
        | counts
    )


def with_judgements(scores: pl.DataFrame, judgements: pl.DataFrame) -> pl.DataFrame:
    """Return scores with two measures more; null where there is no verdict.

    judge_at_1: 1 where a model takes the answer for correct. judge_agreement: 1 where it says of the answer
    what hits_at_1 says.

    Args:
        scores: as ``paths.scores``.
        judgements: question_id, instance and correct, as ``paths.judgements``.
    """
    said = judgements.select(*KEY, judge_at_1=pl.col("correct").cast(pl.Float64))
    agreed = (pl.col("judge_at_1") == pl.col("hits_at_1")).cast(pl.Float64)
    return scores.join(said, on=KEY, how="left").with_columns(judge_agreement=agreed)


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
    # Instances often give the same answer; it is asked about once, also where no reply can be used.
    distinct = list(dict.fromkeys(given))
    checked = dict(zip(distinct, judge.check(distinct), strict=True))
    keys = rows.select("question_id", "instance").iter_rows()
    return PATH_JUDGEMENTS.frame(
        {
            "question_id": question_id,
            "instance": instance,
            "correct": checked[one].correct,
            "problem": checked[one].problem,
            "engine": judge.engine,
        }
        for (question_id, instance), one in zip(keys, given, strict=True)
    )
