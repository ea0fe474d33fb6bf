"""The plan of an evaluation, from the published index and the existing answers."""

import polars as pl

from graphrag_dagster.apps.evaluation.planning.size import EvaluationSize, plan_evaluation
from graphrag_dagster.apps.evaluation.questions.question_list import (
    EvaluationScope,
    asks_personas,
    questions_of,
)
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings, QuestionSettings
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.models.accounting.planning import Plan
from graphrag_dagster.kernel.models.cache.account import price_of
from graphrag_dagster.kernel.models.endpoint.chat import OpenAIChatModel
from graphrag_dagster.kernel.questions.asking.index import Index
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.settings.model import RoleName
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

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
    index = Index.open(name, corpora=store, warehouse=warehouse)
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
    index: Index,
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
