"""The stage of comparison: by a judge, by claims, and against reference answers, with the verdict."""

from collections.abc import Iterator
from hashlib import sha256

import polars as pl

from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWER_CONTEXTS, ANSWERS
from graphrag_dagster.apps.evaluation.questions.question_list import EvaluationScope
from graphrag_dagster.apps.evaluation.questions.question_tables import QUESTIONS
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings, QuestionSettings
from graphrag_dagster.apps.evaluation.tables import (
    ALIGNMENT,
    ANSWER_CLAIMS,
    ANSWER_MEASURES,
    ANSWER_SENTENCES,
    COMPARISONS,
    CONDITION_MEANS,
    DIVERSITY_CLUSTERS,
    JUDGEMENTS,
    POSITION_BIAS,
    QUALITY_SCORES,
    QUALITY_VERDICTS,
    SIGNIFICANCE,
    THEME_REASONS,
    THEMES,
    VERDICTS,
)
from graphrag_dagster.apps.evaluation.tasks import (
    ANSWER_JUDGE,
    CLAIM_DECOMPOSER,
    QUALITY_JUDGE,
    REASON_READER,
)
from graphrag_dagster.kernel.pipeline.result_display import FilePath, counts
from graphrag_dagster.kernel.pipeline.step_declaration import Artifact, Made, StepRun
from graphrag_dagster.kernel.tables.table_declaration import Tables

_NO_JUDGE = "no model judges (evaluation.engine is extractive), and nothing else can"


def judgements(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Every pair of answers compared by a model, by every criterion, in replicates.

    From Local to Global, §4.1.3.

    Then the themes of the judge's reasons, and which reasons speak of them (From Local to Global, §5.1).
    """
    from graphrag_dagster.apps.evaluation.measures.pairwise_judging import judge_answers

    answers, session, settings = tables[ANSWERS], run.session("judgements"), run.settings
    own, judge = settings.section(EvaluationSettings), session.task(ANSWER_JUDGE)
    if judge is None or answers["method"].n_unique() < 2:
        why = _NO_JUDGE if judge is None else "there are fewer than two search methods to compare"
        frame = JUDGEMENTS.empty()
        yield Made(JUDGEMENTS, frame, {"judged": False, "why": why})
    else:
        frame = judge_answers(
            _sample_answers(answers, run),
            judge,
            conditions=settings.section(QuestionSettings).methods,
            criteria=own.criteria,
            replicates=own.replicates,
            model=settings.model.for_role("judge").name,
            citations=own.citations,
        )
        yield Made(
            JUDGEMENTS,
            frame,
            {
                "judged": True,
                "judge": own.judge,
                "citations": own.citations,
                "unusable": int(frame["problem"].is_not_null().sum()),
                "ties": frame["winner"].null_count(),
                **session.finish(),
            },
        )
    yield from _themes(frame, run)


def _themes(judged: pl.DataFrame, run: StepRun) -> Iterator[Made]:
    from graphrag_dagster.apps.evaluation.measures.reason_themes import themes_of

    session, settings = run.session("reason_themes"), run.settings
    reader, most = session.task(REASON_READER), settings.section(EvaluationSettings).reasons
    if reader is None or not most or judged.is_empty():
        why = "no model reads the reasons" if reader is None else "there are no reasons to read"
        yield Made(THEMES, THEMES.empty(), {"why": why})
        yield Made(THEME_REASONS, THEME_REASONS.empty())
        return
    themes, reasons = themes_of(judged, reader, most, settings.model.for_role("judge").name)
    frame = THEME_REASONS.frame(reasons)
    unread = len(frame) - frame["problem"].null_count()
    yield Made(THEMES, THEMES.frame(themes), {"unread": unread, **session.finish()})
    yield Made(THEME_REASONS, frame)


def measures(tables: Tables, run: StepRun) -> Iterator[Made]:
    """The atomic claims of every answer, and how answers compare with reference answers.

    From Local to Global, §4.1.3.
    """
    yield from _claims(tables, run)
    yield from _quality(tables, run)


def _claims(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Sentences selected, disambiguated and decomposed; distinct claims clustered by words they share."""
    from graphrag_dagster.apps.evaluation.measures.answer_claims import (
        claim_rows,
        cluster_rows,
        distances,
        rouge_score_distances,
    )
    from graphrag_dagster.apps.evaluation.tasks import AnswerText

    session = run.session("answer_claims")
    decomposer = session.task(CLAIM_DECOMPOSER)
    chosen = _sample_answers(tables[ANSWERS], run)
    texts = [AnswerText(question, text) for question, text in chosen.select("question", "text").iter_rows()]
    # Methods may give the same answer; each sentence of it is asked about once.
    distinct = list(dict.fromkeys(texts))
    found = dict(zip(distinct, decomposer.decompose(distinct), strict=True))
    sentences, claims = claim_rows(
        chosen["answer_id"].to_list(), [found[one] for one in texts], decomposer.engine
    )
    selected, frame = ANSWER_SENTENCES.frame(sentences), ANSWER_CLAIMS.frame(claims)
    yield Made(ANSWER_SENTENCES, selected)
    yield Made(
        ANSWER_CLAIMS,
        frame,
        {
            "engine": decomposer.engine,
            "repeated": len(frame) - frame["duplicate_of"].null_count(),
            "sentences": counts(selected, "state"),
            **session.finish(),
        },
    )
    own = run.settings.section(EvaluationSettings)
    measure = distances if own.rouge_l == "rapidfuzz" else rouge_score_distances
    clusters = cluster_rows(frame, own.thresholds, measure)
    yield Made(
        DIVERSITY_CLUSTERS,
        clusters if len(clusters) else DIVERSITY_CLUSTERS.empty(),
        {"rouge_l": own.rouge_l},
    )


def _quality(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Relevancy, faithfulness, recall and precision of the answers to questions with a reference answer."""
    from graphrag_dagster.apps.evaluation.measures.quality_rows import quality_frames, quality_items
    from graphrag_dagster.kernel.questions.snapshot_opening import open_snapshot

    session, settings = run.session("quality"), run.settings
    items = quality_items(
        _sample_answers(tables[ANSWERS], run),
        tables[ANSWER_CONTEXTS],
        tables[QUESTIONS],
        open_snapshot(run.warehouse, run.corpus),
    )
    judge = session.task(QUALITY_JUDGE)
    scores, verdicts = quality_frames(
        items, judge, settings.section(EvaluationSettings).metrics, session.embedder().embed_queries
    )
    frame = QUALITY_SCORES.frame(scores)
    yield Made(
        QUALITY_SCORES,
        frame,
        {
            "with_reference": len(items),
            "without_value": frame["value"].null_count(),
            **({"why": _NO_JUDGE} if judge is None else {}),
            **session.finish(),
        },
    )
    yield Made(QUALITY_VERDICTS, QUALITY_VERDICTS.frame(verdicts))


def statistics(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Means with intervals, Wilcoxon's test of every pair corrected by Holm, agreement with the claims."""
    # What search methods are worth is told by all that answers, and few runs evaluate.
    from graphrag_dagster.apps.evaluation.inference import result_statistics as inference
    from graphrag_dagster.apps.evaluation.inference.headline import headline_of
    from graphrag_dagster.apps.evaluation.inference.verdict import verdicts as verdicts_of
    from graphrag_dagster.apps.evaluation.measures.pairwise_judging import position_bias

    own, conditions = (
        run.settings.section(EvaluationSettings),
        list(run.settings.section(QuestionSettings).methods),
    )
    judged, compared, measured = tables[JUDGEMENTS], tables[COMPARISONS], tables[ANSWER_MEASURES]
    how = inference.Bootstrap(own.resamples, own.seed)
    yield Made(POSITION_BIAS, position_bias(judged) if len(judged) else POSITION_BIAS.empty())
    means = inference.condition_means(compared, measured, conditions, how)
    yield Made(CONDITION_MEANS, CONDITION_MEANS.frame(means))
    tests = SIGNIFICANCE.frame(inference.significance(compared, measured, conditions, how))
    yield Made(SIGNIFICANCE, tests, {"significant": int(tests["significant"].sum())})
    yield Made(ALIGNMENT, ALIGNMENT.frame(inference.alignments(compared, measured)))
    verdicts = verdicts_of(tests, conditions, own.baseline, judged)
    yield Made(VERDICTS, verdicts, {"headline": headline_of(verdicts, tests, judged, own.baseline)})


def report(_tables: Tables, run: StepRun) -> Iterator[Artifact]:
    """Question, method, verdict, figures, examples, cost and caveats on one page that needs nothing else."""
    from graphrag_dagster.apps.evaluation.report.report_files import write_report_files

    made = write_report_files(run.warehouse, run.corpora, run.corpus)
    told = {"page": FilePath(made.page), "bytes": made.page.stat().st_size}
    yield Artifact(sha256(made.page.read_bytes()).hexdigest()[:32], told)


def _sample_answers(answers: pl.DataFrame, run: StepRun) -> pl.DataFrame:
    """The answers to the sampled questions, in the order of the questions and of the settings' methods."""
    from graphrag_dagster.apps.evaluation.measures.pairwise_judging import sample_questions

    size = run.resource(EvaluationScope).sample_of(run.settings)
    if size is not None:
        chosen = sample_questions(answers["question_id"].unique(), size)
        answers = answers.filter(pl.col("question_id").is_in(chosen))
    methods = dict.fromkeys([*run.settings.section(QuestionSettings).methods, *answers["method"]])
    return answers.sort("position", pl.col("method").cast(pl.Enum(list(methods))))
