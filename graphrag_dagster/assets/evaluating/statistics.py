"""What the judgements and measures say: means, tests, agreement, verdict."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, MetadataValue, Output

from graphrag_dagster.orchestration.declare import ins_of, markdown, output, table_assets
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.tables import (
    ALIGNMENT,
    ANSWER_MEASURES,
    COMPARISONS,
    CONDITION_MEANS,
    JUDGEMENTS,
    POSITION_BIAS,
    SIGNIFICANCE,
    VERDICTS,
)

_TABLES = (POSITION_BIAS, CONDITION_MEANS, SIGNIFICANCE, ALIGNMENT, VERDICTS)


@table_assets(
    _TABLES,
    ins=ins_of(JUDGEMENTS, COMPARISONS, ANSWER_MEASURES),
)
def evaluation_statistics(
    context: AssetExecutionContext,
    judgements: pl.DataFrame,
    comparisons: pl.DataFrame,
    answer_measures: pl.DataFrame,
    corpora: CorpusStore,
) -> Iterator[Output[pl.DataFrame]]:
    """Means with intervals, Wilcoxon's test of every pair corrected by Holm, agreement with the claims."""
    # What ways of answering are worth is told by all that answers, and few runs evaluate.
    from graphrag_dagster.core.evaluation.inference import statistics
    from graphrag_dagster.core.evaluation.inference.verdict import verdicts as verdicts_of
    from graphrag_dagster.core.evaluation.judging import position_bias

    settings = corpora.settings(context.partition_key)
    own, conditions = settings.evaluation, list(settings.questions.methods)
    how = statistics.Bootstrap(own.resamples, own.seed)
    bias = position_bias(judgements) if len(judgements) else POSITION_BIAS.empty()
    yield output(POSITION_BIAS, bias)
    means = statistics.condition_means(comparisons, answer_measures, conditions, how)
    yield output(CONDITION_MEANS, CONDITION_MEANS.frame(means))
    tests = SIGNIFICANCE.frame(statistics.significance(comparisons, answer_measures, conditions, how))
    yield output(SIGNIFICANCE, tests, significant=int(tests["significant"].sum()))
    yield output(ALIGNMENT, ALIGNMENT.frame(statistics.alignments(comparisons, answer_measures)))
    verdicts = verdicts_of(tests, conditions, own.baseline)
    shown = markdown(verdicts.select("measure", "condition", "outcome", "statement"))
    yield output(VERDICTS, verdicts, verdicts=MetadataValue.md(shown))
