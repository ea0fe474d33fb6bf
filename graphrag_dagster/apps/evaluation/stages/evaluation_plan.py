"""Estimated model calls of an evaluation, from the published index and the existing answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from graphrag_dagster.apps.evaluation.measures.reason_themes import AT_ONCE, calls_of
from graphrag_dagster.apps.evaluation.questions.question_list import (
    EvaluationScope,
    asks_personas,
    questions_of,
)
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings, QuestionSettings
from graphrag_dagster.apps.evaluation.stages.setting_studies import sample_documents, study_units
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import methods, tasks
from graphrag_dagster.kernel.models.call_estimates import (
    Estimate,
    MethodSize,
    Plan,
    Range,
    approximately,
    exactly,
)
from graphrag_dagster.kernel.models.plan_inputs import KnownReplies, PlanPlaces, prices_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.corpus_index import CorpusIndex
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import RoleName
from graphrag_dagster.kernel.settings.study_settings import StudySettings
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import plan_extraction, reply_tokens

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

    ``described``: tokens that a missing description of the corpus is made from, 0 where it has one.
    ``ways``: the search methods; those that ask no model have no calls.
    ``documents``: those that a testset is written from, each with ``document_tokens`` on average.
    ``sentences`` and ``answer_tokens``: of an average answer where there are any, else None.
    ``corpus_tokens``: of all text units.
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
    described: float = 0.0
    corpus_tokens: int = 0


def plan_evaluation(size: EvaluationSize) -> list[Estimate]:
    """Return the estimates of writing questions, answering, judging, taking apart and measuring.

    The number of judgements is exact: pairs × questions × criteria × replicates.
    """
    made = []
    if size.writer and size.written:
        # What is repeated or blank is asked for again, three times at most.
        calls = exactly(1 + size.personas + size.personas * size.tasks) * Range(1.0, 1.0, 4.0)
        calls = calls + exactly(bool(size.described))
        sent = calls * _WRITER_PROMPT + approximately(size.described, known=True)
        replies = approximately(250.0, known=False) * calls
        made.append(Estimate("questions", "write_questions", size.writer, calls, sent, replies))
    if size.testset_writer and size.documents:
        # Two more rounds where drafts were of no use.
        calls = exactly(size.documents) * Range(1.0, 1.1, 3.0)
        sent = exactly(_WRITER_PROMPT) + approximately(size.document_tokens, known=True)
        replies = approximately(_TESTSET_REPLY, known=False) * calls
        made.append(Estimate("testset", "write_testset", size.testset_writer, calls, calls * sent, replies))
    if size.answerer:
        made += [_answer_estimate(name, way, size) for name, way in size.ways.items() if way.calls.high]
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


#: Of the models that are asked for what, where that is not what answers.
_TASK_OF: dict[str, RoleName] = {
    "testset": "testset",
    "judgements": "judge",
    "claims": "judge",
    "quality": "judge",
    "themes": "judge",
    "gleanings": "extract",
}


def plan_evaluation_of(
    name: str, places: PlanPlaces | None = None, scope: EvaluationScope | None = None
) -> Plan:
    """Return what an evaluation of a corpus asks of models if nothing is cached of it yet.

    Raises:
        GraphragError: the corpus has not been indexed, or its settings cannot be used.
    """
    places = places or PlanPlaces()
    settings = places.corpora.settings(name)
    if not (_methods_asking(settings) or any(map(settings.asks_model, ("questions", "evaluation")))):
        return Plan(name, 0)
    return _priced(name, settings, plan_evaluation(_size(name, settings, places, scope)))


def plan_answers_of(name: str, places: PlanPlaces | None = None) -> Plan:
    """Return what the answers to a corpus's questions ask of models if nothing is cached of them yet.

    Raises:
        GraphragError: the corpus has not been indexed, or its settings cannot be used.
    """
    places = places or PlanPlaces()
    settings = places.corpora.settings(name)
    if not (_methods_asking(settings) or settings.asks_model("questions")):
        return Plan(name, 0)
    size = replace(_size(name, settings, places), judge=None)
    return _priced(name, settings, plan_evaluation(size))


def plan_windows_of(name: str, places: PlanPlaces | None = None) -> Plan:
    """Return what the study of context windows asks of models if nothing is cached of it yet.

    Raises:
        GraphragError: the corpus has not been indexed, or its settings cannot be used.
    """
    places = places or PlanPlaces()
    settings = places.corpora.settings(name)
    if not any(map(settings.asks_model, ("questions", "search", "evaluation"))):
        return Plan(name, 0)
    own, size = settings.section(StudySettings), _size(name, settings, places)
    count = min(size.questions, own.questions)
    ways = {
        str(window): MethodSize(exactly(1), exactly(min(window, size.corpus_tokens) + _JUDGE_PROMPT))
        for window in sorted(set(own.windows))
    }
    answerer = _model(settings, "search", "answer")
    studied = replace(size, ways=ways, questions=count, sampled=count, answerer=answerer)
    unmeasured = ("claims", "themes", "quality")
    estimates = [one for one in plan_evaluation(studied) if one.stage not in unmeasured]
    return _priced(name, settings, estimates)


def plan_gleanings_of(name: str, places: PlanPlaces | None = None) -> Plan:
    """Return what the study of gleanings asks of models if nothing is cached of it yet.

    Raises:
        GraphragError: the corpus has not been indexed, or its settings cannot be used.
    """
    places = places or PlanPlaces()
    settings = places.corpora.settings(name)
    if not settings.asks_model("extraction"):
        return Plan(name, 0)
    own, encoding = settings.section(StudySettings), settings.text_units.encoding
    known = KnownReplies(settings.model, get_tokenizer(encoding).count, places.memory.database())
    extract = known.of_task("extract")
    with places.warehouse.reading(name) as reader:
        chosen = sample_documents(
            reader.read(tables.DOCUMENTS), reader.read(tables.TEXT_CHUNKS), own.sampled_tokens
        )
    estimates = []
    for size in own.chunk_sizes:
        texts = study_units(chosen, size, encoding)["text"].to_list()
        for check_first in (True, False):
            calls, inputs, outputs = plan_extraction(
                [known.tokens(prompts.load("extract_graph_system").text, text) for text in texts],
                reply_tokens(texts, json=extract.replies == "json_schema"),
                rounds=own.gleanings,
                check_first=check_first,
                turn=known.tokens(prompts.load("glean_continue").text),
                seen=known.average("extract", "extract_graph"),
            )
            estimates.append(Estimate("gleanings", "extract_graph", extract.name, calls, inputs, outputs))
    return _priced(name, settings, estimates, text_units=chosen.height)


def _priced(name: str, settings: CorpusSettings, estimates: Sequence[Estimate], text_units: int = 0) -> Plan:
    prices = prices_of(settings.model, estimates, lambda one: _TASK_OF.get(one.stage, "answer"))
    return Plan(name, text_units, list(estimates), prices)


def _model(settings: CorpusSettings, section: str, role: RoleName) -> str | None:
    return settings.model.for_role(role).name if settings.asks_model(section) else None


def _methods_asking(settings: CorpusSettings) -> set[str]:
    """The search methods to compare of which an engine asks a model, be it that of another section."""
    own = settings.section(QuestionSettings).methods
    sections = {method: {tasks()[task].section for task in methods()[method].tasks} for method in own}
    return {method for method, needed in sections.items() if any(map(settings.asks_model, needed))}


def _size(
    name: str, settings: CorpusSettings, places: PlanPlaces, scope: EvaluationScope | None = None
) -> EvaluationSize:
    store, warehouse = places.corpora, places.warehouse
    searcher = CorpusIndex.open(name, corpora=store, warehouse=warehouse).searcher
    own, judged = settings.section(QuestionSettings), settings.section(EvaluationSettings)
    listed = questions_of(store.folder(name), own)
    written = asks_personas(own, listed)
    documents = min(own.testset.documents, searcher.index.documents.height) if own.testset.enabled else 0
    testset = documents * own.testset.per_document
    count = len(listed) + testset + (own.personas * own.tasks * own.per_task if written else 0)
    sampled = min((scope or EvaluationScope()).sample_of(settings) or count, count)
    answers = warehouse.read_if_present(tables.ANSWERS, name)
    known = answers is not None and not answers.is_empty()
    references = sum(one.reference is not None for one in listed) + testset
    asking, chunks = _methods_asking(settings), searcher.index.text_chunks
    silent = MethodSize(exactly(0), exactly(0))
    described = 0.0 if settings.description else own.sampled_units * _mean(chunks, pl.col("tokens"))
    return EvaluationSize(
        questions=count,
        written=written,
        personas=own.personas,
        tasks=own.tasks,
        documents=documents,
        document_tokens=_shown(searcher.index, own.testset.context_tokens),
        ways={method: searcher.size(method) if method in asking else silent for method in own.methods},
        sampled=sampled,
        criteria=len(judged.criteria),
        replicates=judged.replicates,
        with_reference=min(references, sampled),
        families=len(judged.metrics),
        reasons=judged.reasons,
        writer=_model(settings, "questions", "answer"),
        testset_writer=_model(settings, "questions", "testset"),
        answerer=settings.model.for_role("answer").name if asking else None,
        judge=_model(settings, "evaluation", "judge"),
        sentences=_mean(answers, pl.col("statements")) if known else None,
        answer_tokens=_mean(answers, pl.col("text").str.len_chars() / 4) if known else None,
        described=described,
        corpus_tokens=int(chunks["tokens"].sum()),
    )


def _shown(index: IndexSnapshot, most: int) -> float:
    """Tokens of an average document, as far as they are shown."""
    tokens = index.text_chunks.group_by("document_id").agg(pl.col("tokens").sum().clip(upper_bound=most))
    return _mean(tokens, pl.col("tokens"))


def _mean(rows: pl.DataFrame | None, value: pl.Expr) -> float:
    return 0.0 if rows is None else float(rows.select(value.mean()).item() or 0.0)
