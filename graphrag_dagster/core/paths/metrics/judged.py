"""What a model says of answers, beside what is counted (spec_lego §9)."""

import polars as pl

from graphrag_dagster.core.paths.metrics.summary import KEY


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
