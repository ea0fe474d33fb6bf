"""Caveats that a reader must know before trusting the results, as far as the data show them."""

from collections.abc import Iterator

import polars as pl

from graphrag_dagster.apps.evaluation.inference.headline import ENOUGH_QUESTIONS
from graphrag_dagster.apps.evaluation.inference.measure_names import (
    ALPHA,
    KINDS,
    faithful_to_itself,
    join_words,
    measure,
    p_value,
    share,
)
from graphrag_dagster.apps.evaluation.report.table_views import ReportData, rows_of, tests
from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.common.printable import plural

#: Agreement of judge and claims below this is told as a weakness; half is what a coin has.
_FAIR_AGREEMENT = 0.65


def questions_compared(data: ReportData) -> int:
    """Return on how many questions the verdict rests, without tests how many there are.

    A sample is judged and taken apart, while other counts, such as that of words, are of all answers.
    """
    found = tests(data)
    if not found:
        return 0 if data.questions is None else data.questions.height
    first = KINDS.index(min((measure(one.measure).kind for one in found), key=KINDS.index))
    return max(one.questions for one in found if KINDS.index(measure(one.measure).kind) == first)


def caveats(data: ReportData) -> list[tuple[str, str]]:
    """Return heading and text of each caveat; those on what did not happen are left out."""
    return [
        (
            "One corpus",
            f"The verdict holds for the corpus {data.corpus} and for questions like these. Another corpus, "
            "other questions, another model or other settings may reverse it.",
        ),
        *_on_questions(data),
        *_on_judge(data),
        *_on_engines(data),
        *_on_answers(data),
        *_on_numbers(data),
    ]


def _on_questions(data: ReportData) -> Iterator[tuple[str, str]]:
    number = questions_compared(data)
    if number < ENOUGH_QUESTIONS:
        yield (
            "Few questions",
            f"{plural(number, 'question was', 'questions were')} compared. Below {ENOUGH_QUESTIONS} the "
            "tests find only large differences, and a single odd question can move a mean.",
        )
    from_documents = [row for row in rows_of(data.questions) if row["origin"] == "testset"]
    if from_documents:
        yield (
            "Questions of single documents",
            f"{plural(len(from_documents), 'question was', 'questions were')} written by a model, each from "
            "one document that alone answers it, and so were the reference answers. They favour methods "
            "that find the one passage; connections across many documents are not tested.",
        )
    written = [row for row in rows_of(data.questions) if row["origin"] == "written"]
    if written:
        yield (
            "Generated questions",
            f"{plural(len(written), 'question was', 'questions were')} written from a description of the "
            "corpus for invented people. They ask about the corpus as a whole, which favours a graph; "
            "questions about single facts may give other results.",
        )


def _on_judge(data: ReportData) -> Iterator[tuple[str, str]]:
    if data.judge_model is None:
        yield (
            "No judge",
            "No model has compared the answers. More claims, clusters or words do not make a better answer: "
            "a long answer may be tedious, repeat the question or be wrong.",
        )
        return
    if data.judge_model == data.answer_model:
        yield (
            "The judge wrote the answers",
            f"{data.judge_model} judges answers that it wrote itself. Models tend to prefer their own style, "
            "here equally for all methods; a second judge would be more informative.",
        )
    bias = next((row for row in rows_of(data.position_bias) if row["criterion"] == "all"), None)
    if bias and bias["share"] is not None:
        found = bias["p"] is not None and bias["p"] < ALPHA
        yield (
            "Position bias" if found else "No position bias found",
            f"The answer shown first won {share(bias['share'])} of the decided verdicts "
            f"({p_value(bias['p'])} against 50 %). The order alternates, which cancels this out on "
            "average but leaves verdicts on close answers noisy.",
        )
    yield from _on_verdicts(data)


def _on_verdicts(data: ReportData) -> Iterator[tuple[str, str]]:
    rows = rows_of(data.comparisons)
    verdicts = sum(row["replicates"] for row in rows)
    ties = sum(row["ties"] for row in rows)
    unusable = sum(row["unusable"] for row in rows)
    if ties:
        yield (
            "Ties",
            f"{share(ties / verdicts)} of {plural(verdicts, 'verdict')} are ties. A tie counts half for "
            "each side, so many ties pull win rates towards 50 %.",
        )
    if unusable:
        yield (
            "Unusable replies of the judge",
            f"{plural(unusable, 'verdict')} ({share(unusable / verdicts)}) had no usable reply, even after "
            "retries; they count as ties.",
        )
    weak = [
        row
        for row in rows_of(data.alignment)
        if row["agreement"] is not None and row["agreement"] < _FAIR_AGREEMENT
    ]
    if weak:
        lowest = min(weak, key=lambda row: (row["agreement"], row["criterion"], row["measure"]))
        yield (
            "Judge and claims disagree",
            f"On {lowest['criterion']} the judge and {measure(lowest['measure']).label} name the same "
            f"answer in only {share(lowest['agreement'], 0)} of the decided pairs: at least one of them "
            "measures something else.",
        )


def _on_engines(data: ReportData) -> Iterator[tuple[str, str]]:
    if not asks_model(data.answer_engine):
        yield (
            "Extractive answers",
            "The extractive engine answered: its answers are sentences quoted from the documents, not "
            "written. They say little about how a language model would answer from the same context.",
        )
    if not asks_model(data.claim_engine):
        yield (
            "Extractive counts",
            "No model split the answers into claims. The measures that end in -lex count sentences; they "
            "are not the paper's claims and cannot be compared with its numbers.",
        )


def _on_answers(data: ReportData) -> Iterator[tuple[str, str]]:
    if data.answers is None:
        return
    refused = data.answers.filter("refused")
    if refused.height:
        counts = [
            f"{condition} {number}"
            for condition in data.conditions
            if (number := refused.filter(pl.col("method") == condition).height)
        ]
        yield (
            "Refused questions",
            f"{plural(refused.height, 'answer')} of {data.answers.height:,} "
            f"{'is a refusal' if refused.height == 1 else 'are refusals'} because nothing useful was "
            f"found in the context: {join_words(counts)}. They are compared like other answers.",
        )
    failed = data.answers.filter(pl.col("problems").is_not_null())
    if failed.height:
        yield (
            "Unusable replies",
            f"{plural(failed.height, 'answer')} lost a partial answer to an unusable reply of the model; "
            "the table answers.answers has the reasons.",
        )


def _on_numbers(data: ReportData) -> Iterator[tuple[str, str]]:
    if (known := faithful_to_itself(data.conditions)) and data.quality_scores is not None:
        yield ("Faithful to itself", known)
    if data.quality_scores is not None and (missing := data.quality_scores["value"].null_count()):
        yield (
            "Metrics without a value",
            f"{plural(missing, 'value')} of {data.quality_scores.height:,} are undefined and left out, not "
            "counted as 0; the reasons are listed with the metrics.",
        )
    if disagreeing := [one for one in tests(data) if one.disagreement]:
        corrected = sum(one.disagreement == "correction" for one in disagreeing)
        yield (
            "Interval and test disagree",
            f"In {len(disagreeing):,} of {plural(len(tests(data)), 'comparison')} with {data.baseline} the "
            f"interval of the mean and the test disagree; the verdict follows the test. {corrected:,} of "
            "them because of the correction, which intervals do not have, the others because a few large "
            "differences move a mean but not the ranks.",
        )
    if data.condition_costs is not None and data.condition_costs["usd"].null_count():
        yield (
            "Unknown prices",
            "If the price of a model is unknown, no cost is shown. It is not 0.",
        )
    yield (
        "The best was chosen afterwards",
        "The graph method compared with the baseline above is the one with the best results, which flatters "
        "it a little; the tables show all of them. Tests are corrected within each measure only, so "
        "among many measures some may differ by chance.",
    )
