"""The plan of an evaluation, from the published index and the answers there are."""

import polars as pl

from graphrag_dagster import tables
from graphrag_dagster.core.accounting.evaluation_size import EvaluationSize, WaySize, plan_evaluation
from graphrag_dagster.core.accounting.planning import Range, exactly
from graphrag_dagster.core.search.context.levels import level_of
from graphrag_dagster.core.search.methods.global_search import chunks_of
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel
from graphrag_dagster.model_calls.memory.account import price_of
from graphrag_dagster.operations.asking.index import Index
from graphrag_dagster.operations.evaluating.questions import questions_of
from graphrag_dagster.operations.evaluating.scope import EvaluationScope
from graphrag_dagster.operations.planning.indexing_plan import Plan
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.settings.model import RoleName
from graphrag_dagster.settings.section import Method

_TASK_OF: dict[str, RoleName] = {
    "judgements": "judge",
    "claims": "judge",
    "quality": "judge",
    "themes": "judge",
}


def plan_evaluation_of(name: str, scope: EvaluationScope) -> Plan:
    """Return what an evaluation of a corpus asks of models if nothing is remembered of it yet.

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
    own = settings.questions
    listed = questions_of(store.folder(name), own)
    written = own.write == "always" or (own.write == "when_none" and not listed)
    count = len(listed) + (own.personas * own.tasks * own.per_task if written else 0)
    sampled = min(scope.sample_of(settings) or count, count)
    answers = warehouse.read_if_present(tables.ANSWERS, name)
    known = answers is not None and not answers.is_empty()
    references = sum(one.reference is not None for one in listed)

    def model(section: str, role: str) -> str | None:
        return settings.model.for_role(role).name if settings.asks_model(section) else None

    return EvaluationSize(
        questions=count,
        written=written,
        personas=own.personas,
        tasks=own.tasks,
        ways={method: _way(method, settings, index) for method in own.methods},
        sampled=sampled,
        criteria=len(settings.evaluation.criteria),
        replicates=settings.evaluation.replicates,
        with_reference=min(references, sampled),
        families=len(settings.evaluation.metrics),
        reasons=settings.evaluation.reasons,
        writer=model("questions", "answer"),
        answerer=model("search", "answer"),
        judge=model("evaluation", "judge"),
        sentences=_mean(answers, pl.col("statements")) if known else None,
        answer_tokens=_mean(answers, pl.col("text").str.len_chars() / 4) if known else None,
    )


def _mean(answers: pl.DataFrame | None, value: pl.Expr) -> float | None:
    return None if answers is None else float(answers.select(value.mean()).item())


def _way(method: Method, settings: CorpusSettings, index: Index) -> WaySize:
    window = settings.search.context_tokens
    one = WaySize(exactly(1), Range(window / 2, float(window), float(window)))
    if method in {"SS", "basic", "local"}:
        return one
    if method == "drift":
        steps = settings.search.steps * settings.search.follow_ups
        return WaySize(Range(3.0, steps + 2.0, 2.0 * steps + 2), one.input_tokens * (steps + 2.0))
    whole = _whole(method, settings, index)
    if method == "auto":
        return WaySize(Range(1.0, 1.0, whole.calls.high), Range(window / 2, window, whole.input_tokens.high))
    if method == "dynamic":
        # Ratings read what they spare the answer, and more where little is relevant.
        return WaySize(Range(2.0, whole.calls.expected, 2 * whole.calls.high), whole.input_tokens * 1.5)
    return whole


def _whole(method: Method, settings: CorpusSettings, index: Index) -> WaySize:
    """All chunks of a level or of the text units, and the joining of their answers."""
    options = index.searcher.options
    level = None if method == "TS" else level_of(method) if method.startswith("C") else settings.search.level
    try:
        chunks = chunks_of(
            index.searcher.index,
            level,
            count=index.searcher.count,
            limit=options.context_tokens,
            seed=options.seed,
        )
    except QuestionError:
        return WaySize(exactly(0), exactly(0))
    tokens = sum(sum(chunk.row_tokens) for chunk in chunks) + 700 * (len(chunks) + 1)
    return WaySize(exactly(len(chunks) + 1), exactly(tokens) + Range(0.0, 1500.0, 8000.0))
