"""Estimated model calls of an evaluation, from the published index and the existing answers."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.apps.evaluation.measures.reason_themes import AT_ONCE, calls_of
from graphrag_dagster.apps.evaluation.questions.question_list import (
    EvaluationScope,
    asks_personas,
    questions_of,
)
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings, QuestionSettings
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.models.cache.usage_account import price_of
from graphrag_dagster.kernel.models.call_estimates import (
    Estimate,
    MethodSize,
    Plan,
    Range,
    approximately,
    exactly,
)
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import RoleName
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

#: Tokens of prompts without their material, and of replies, as they are expected.
_ANSWER, _MAP_REPLY, _VERDICT, _SENTENCE = 450.0, 350.0, 120.0, 25.0
_JUDGE_PROMPT, _CLAIM_PROMPT, _QUALITY_PROMPT, _WRITER_PROMPT = 700, 650, 600, 500
_SENTENCES = 14.0
#: A numbered reason, the prompt around 25 of them, and the reply that labels them.
_REASON, _THEME_PROMPT, _LABELS = 80.0, 700, 350.0
_TESTSET_REPLY = 500.0
#: Calls that take one sentence apart: the later two only where it holds a claim.
_STAGES = Range(1.0, 2.3, 3.0)
#: Calls that measure one answer against a reference: statements of two texts, and verdicts.
_METRIC_CALLS = 6


@dataclass(frozen=True, slots=True)
class EvaluationSize:
    """Inputs of the estimate. Engines without a model have None as their name.

    ``documents``: those that a testset is written from, each with ``document_tokens`` on average.
    ``sentences`` and ``answer_tokens``: of an average answer where there are any, else None.
    """

    questions: int
    written: bool
    personas: int
    tasks: int
    documents: int
    document_tokens: float
    ways: Mapping[str, MethodSize]
    sampled: int
    criteria: int
    replicates: int
    with_reference: int
    families: int
    reasons: int
    writer: str | None
    testset_writer: str | None
    answerer: str | None
    judge: str | None
    sentences: float | None = None
    answer_tokens: float | None = None


def plan_evaluation(size: EvaluationSize) -> list[Estimate]:
    """Return the estimates of writing questions, answering, judging, taking apart and measuring.

    The number of judgements is exact: pairs × questions × criteria × replicates (spec_graphrag §9).
    """
    made = []
    if size.writer and size.written:
        calls = exactly(1 + size.personas + size.personas * size.tasks)
        made.append(
            Estimate(
                "questions",
                "write_questions",
                size.writer,
                calls,
                calls * _WRITER_PROMPT,
                approximately(250.0, known=False) * calls,
            )
        )
    if size.testset_writer and size.documents:
        # Two more rounds where drafts were of no use.
        calls = exactly(size.documents) * Range(1.0, 1.1, 3.0)
        sent = exactly(_WRITER_PROMPT) + approximately(size.document_tokens, known=True)
        replies = approximately(_TESTSET_REPLY, known=False) * calls
        made.append(Estimate("testset", "write_testset", size.testset_writer, calls, calls * sent, replies))
    if size.answerer:
        made += [_answer_estimate(name, method, size) for name, method in size.ways.items()]
    if size.judge:
        made += [_judging(size, size.judge), _claims(size, size.judge)]
        if size.reasons:
            made.append(_themes(size, size.judge))
        if size.with_reference and size.families:
            made.append(_quality(size, size.judge))
    return made


def _answer_estimate(name: str, method: MethodSize, size: EvaluationSize) -> Estimate:
    calls = method.calls * size.questions
    replies = approximately(_MAP_REPLY, known=False) * calls
    return Estimate(
        f"answers {name}", "answer", size.answerer or "", calls, method.input_tokens * size.questions, replies
    )


def _judgements_by_criterion(size: EvaluationSize) -> int:
    count = len(size.ways)
    return count * (count - 1) // 2 * size.sampled * size.replicates


def _themes(size: EvaluationSize, model: str) -> Estimate:
    """Reasons of identical answers are none, so fewer may be read."""
    most = min(size.reasons, _judgements_by_criterion(size))
    calls = Range(0.0, float(calls_of(most)), float(calls_of(most))) * size.criteria
    sent = approximately(min(most, AT_ONCE) * _REASON, known=False) + exactly(_THEME_PROMPT)
    return Estimate(
        "themes", "themes", model, calls, calls * sent, calls * approximately(_LABELS, known=False)
    )


def _judging(size: EvaluationSize, model: str) -> Estimate:
    calls = exactly(_judgements_by_criterion(size) * size.criteria)
    sent = _answer_tokens(size) * 2 + exactly(_JUDGE_PROMPT)
    return Estimate(
        "judgements",
        "judge_answers",
        model,
        calls,
        calls * sent,
        calls * approximately(_VERDICT, known=False),
    )


def _claims(size: EvaluationSize, model: str) -> Estimate:
    each = (
        approximately(_SENTENCES, known=False)
        if size.sentences is None
        else approximately(size.sentences, known=True)
    )
    calls = each * _STAGES * (len(size.ways) * size.sampled)
    shown = exactly(_CLAIM_PROMPT + 8 * _SENTENCE)
    return Estimate(
        "claims",
        "answer_claims",
        model,
        calls,
        calls * shown,
        calls * approximately(2 * _SENTENCE, known=False),
    )


def _quality(size: EvaluationSize, model: str) -> Estimate:
    calls = exactly(len(size.ways) * size.with_reference * _METRIC_CALLS) * Range(1.0, 1.0, 2.0)
    sent = _answer_tokens(size) + Range(_QUALITY_PROMPT, 4000.0, 8000.0)
    return Estimate(
        "quality", "quality", model, calls, calls * sent, calls * approximately(300.0, known=False)
    )


def _answer_tokens(size: EvaluationSize) -> Range:
    if size.answer_tokens is None:
        return approximately(_ANSWER, known=False)
    return approximately(size.answer_tokens, known=True)


_TASK_OF: dict[str, RoleName] = {
    "testset": "testset",
    "judgements": "judge",
    "claims": "judge",
    "quality": "judge",
    "themes": "judge",
}


def plan_evaluation_of(name: str, scope: EvaluationScope) -> Plan:
    """Return what an evaluation of a corpus asks of models if nothing is cached of it yet.

    Raises:
        GraphragError: the corpus has not been indexed, or its settings cannot be used.
    """
    store, warehouse = CorpusStore(), Warehouse()
    settings = store.settings(name)
    index = CorpusIndex.open(name, corpora=store, warehouse=warehouse)
    estimates = plan_evaluation(_size(name, store, settings, index, warehouse, scope))
    prices = {}
    for one in estimates:
        model = settings.model.for_role(_TASK_OF.get(one.stage, "answer"))
        if price := price_of(model, one.model, OpenAIChatModel(model).connection.url):
            prices[one.model] = price
    return Plan(name, index.searcher.index.text_chunks.height, estimates, prices)


def _size(
    name: str,
    store: CorpusStore,
    settings: CorpusSettings,
    index: CorpusIndex,
    warehouse: Warehouse,
    scope: EvaluationScope,
) -> EvaluationSize:
    own = settings.section(QuestionSettings)
    listed = questions_of(store.folder(name), own)
    written = asks_personas(own, listed)
    documents = (
        min(own.testset.documents, index.searcher.index.documents.height) if own.testset.enabled else 0
    )
    testset = documents * own.testset.per_document
    count = len(listed) + testset + (own.personas * own.tasks * own.per_task if written else 0)
    sampled = min(scope.sample_of(settings) or count, count)
    answers = warehouse.read_if_present(tables.ANSWERS, name)
    known = answers is not None and not answers.is_empty()
    references = sum(one.reference is not None for one in listed) + testset

    def model(section: str, role: str) -> str | None:
        return settings.model.for_role(role).name if settings.asks_model(section) else None

    return EvaluationSize(
        questions=count,
        written=written,
        personas=own.personas,
        tasks=own.tasks,
        documents=documents,
        document_tokens=_shown(index.searcher.index, own.testset.context_tokens),
        ways={method: index.searcher.size(method) for method in own.methods},
        sampled=sampled,
        criteria=len(settings.section(EvaluationSettings).criteria),
        replicates=settings.section(EvaluationSettings).replicates,
        with_reference=min(references, sampled),
        families=len(settings.section(EvaluationSettings).metrics),
        reasons=settings.section(EvaluationSettings).reasons,
        writer=model("questions", "answer"),
        testset_writer=model("questions", "testset"),
        answerer=model("search", "answer"),
        judge=model("evaluation", "judge"),
        sentences=_mean(answers, pl.col("statements")) if known else None,
        answer_tokens=_mean(answers, pl.col("text").str.len_chars() / 4) if known else None,
    )


def _shown(index: IndexSnapshot, most: int) -> float:
    """Tokens of an average document, as far as they are shown."""
    tokens = index.text_chunks.group_by("document_id").agg(pl.col("tokens").sum().clip(upper_bound=most))
    return float(tokens.select(pl.col("tokens").mean()).item() or 0.0)


def _mean(answers: pl.DataFrame | None, value: pl.Expr) -> float | None:
    return None if answers is None else float(answers.select(value.mean()).item())
