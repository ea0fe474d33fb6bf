"""Metrics of answers and their context: relevancy, faithfulness, recall, precision (CoTeRAG-S, 4.1 to 4.4).

A judge splits texts and gives verdicts, each once however many metrics and families need it; the values
follow by the formulas of :mod:`.quality_verdicts`. What cannot be judged has no value, and never counts as 0.

Lexical measures compare words alone, without a model, and never bear the name of one of these metrics.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_dagster.apps.evaluation.measures.answer_claims import distance, tokens
from graphrag_dagster.apps.evaluation.measures.quality_verdicts import (
    Embed,
    Family,
    Metric,
    QualityItem,
    QuestionBasis,
    Rows,
    Score,
    VerdictBasis,
    answer_relevancy,
    contextual_precision,
    contextual_recall,
    faithfulness,
    missing_answer_input,
    missing_context_input,
    missing_reference_input,
    question_bases,
    question_similarity,
    row_of,
    verdict_bases,
)
from graphrag_dagster.apps.evaluation.tasks import QualityJudge, VerdictWord
from graphrag_dagster.kernel.text.text_similarity import stems

METRICS: tuple[Metric, ...] = (
    "answer_relevancy",
    "faithfulness",
    "contextual_recall",
    "contextual_precision",
)
#: Questions generated for an answer, as the ragas family has it by default.
QUESTIONS = 3
#: Characters of a node that stand in a row of verdicts.
_SHOWN = 200


def measure(
    items: Sequence[QualityItem],
    judge: QualityJudge,
    *,
    families: Sequence[Family] = ("deepeval",),
    embed: Embed | None = None,
) -> tuple[Rows, Rows]:
    """Return the rows of ``evaluation.quality_scores``, and those of the verdicts that they rest on.

    A refused answer has neither relevancy nor faithfulness, but its context has recall and precision. Without
    a context all but relevancy are undefined, without a reference answer recall and precision.

    Args:
        items: with ids of their own.
        judge: gives statements, verdicts and questions.
        families: whose formulas; they share verdicts, so that the second costs only its questions.
        embed: [n, dimension] vectors of texts, for the relevancy of ragas, which is undefined without.

    Raises:
        EndpointError: the judge's endpoint cannot be used at all.
    """
    # The relevancy of ragas rests on questions alone.
    judged = METRICS if "deepeval" in families else METRICS[1:]
    bases = verdict_bases(items, judged if families else (), judge)
    asked = question_bases(items if "ragas" in families else (), QUESTIONS, judge, embed)
    rows: Rows = []
    verdicts: Rows = []
    for place, item in enumerate(items):
        question_basis = asked[place] if asked else QuestionBasis()
        for family in families:
            for metric in METRICS:
                by_questions = family == "ragas" and metric == "answer_relevancy"
                score = (
                    _similarity(question_basis)
                    if by_questions
                    else _score(bases[place][metric], family, metric)
                )
                repaired = question_basis.repaired if by_questions else bases[place][metric].repaired
                rows.append(row_of(item, family, metric, score, repaired))
        verdicts += _verdict_rows(item, bases[place], question_basis)
    return rows, verdicts


def _score(basis: VerdictBasis, family: Family, metric: Metric) -> Score:
    if basis.reason is not None:
        return Score(None, reason=basis.reason)
    verdicts = [one.verdict for one in basis.verdicts]
    match metric:
        case "answer_relevancy":
            return answer_relevancy(verdicts)
        case "faithfulness":
            return faithfulness(verdicts, family=family)
        case "contextual_recall":
            return contextual_recall(verdicts, family=family)
        case "contextual_precision":
            return contextual_precision(verdicts)


def _similarity(basis: QuestionBasis) -> Score:
    if basis.reason is not None:
        return Score(None, reason=basis.reason)
    return question_similarity(basis.cosines, noncommittal=basis.noncommittal)


def _verdict_rows(item: QualityItem, bases: Mapping[Metric, VerdictBasis], asked: QuestionBasis) -> Rows:
    def row(
        metric: str, place: int, statement: str, verdict: VerdictWord, reason: str | None
    ) -> dict[str, Any]:
        told = {"statement": statement, "verdict": verdict, "reason": reason}
        return {"answer_id": item.id, "metric": metric, "position": place, **told}

    commits: VerdictWord = "no" if asked.noncommittal else "yes"
    return [
        *(
            row(
                metric,
                place,
                text[:_SHOWN] if metric == "contextual_precision" else text,
                one.verdict,
                one.reason or None,
            )
            for metric, basis in bases.items()
            for place, (text, one) in enumerate(zip(basis.items, basis.verdicts, strict=True))
        ),
        *(
            row("answer_relevancy_questions", place, text, commits, f"cosine {cosine:.4f}")
            for place, (text, cosine) in enumerate(zip(asked.questions, asked.cosines, strict=True))
        ),
    ]


def lexical_measures(items: Sequence[QualityItem]) -> Rows:
    """Return two rows of family ``lexical`` for each item.

    ``rouge_l_to_reference`` is the ROUGE-L F1 of answer and reference answer, 2·LCS of their m + n words;
    ``reference_words_in_context`` the share of the reference's distinct meaningful word stems that stand in
    the context. None where there is nothing to compare.
    """
    return [
        row_of(item, "lexical", metric, score)
        for item in items
        for metric, score in (
            ("rouge_l_to_reference", _rouge_l(item)),
            ("reference_words_in_context", _words_in_context(item)),
        )
    ]


def _rouge_l(item: QualityItem) -> Score:
    if want := missing_answer_input(item) or missing_reference_input(item):
        return Score(None, reason=want)
    said, right = tokens(item.answer), tokens(item.reference or "")
    if not said or not right:
        which = "reference answer" if said else "answer"
        return Score(None, reason=f"the {which} has no words of Latin letters or digits")
    whole = len(said) + len(right)
    common = whole - round(distance(said, right) * whole)
    return Score(common / whole, float(common), float(whole))


def _words_in_context(item: QualityItem) -> Score:
    if want := missing_reference_input(item) or missing_context_input(item):
        return Score(None, reason=want)
    wanted = set(stems(item.reference or ""))
    if not wanted:
        return Score(None, reason="the reference answer has no words that carry meaning")
    found = wanted & {one for text in item.contexts for one in stems(text)}
    return Score(len(found) / len(wanted), float(len(found)), float(len(wanted)))
