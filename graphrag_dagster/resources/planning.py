"""The plan of a corpus: its real text units, rendered and counted as they would be sent, and nothing sent."""

from dataclasses import dataclass, field

import polars as pl

from graphrag_dagster import prompts, tables
from graphrag_dagster.core.accounting.planning import (
    Estimate,
    Range,
    around,
    exactly,
    plan_extraction,
    plan_reports,
)
from graphrag_dagster.core.accounting.prices import Price
from graphrag_dagster.core.accounting.reply_sizes import names_and_pairs, reply_tokens
from graphrag_dagster.core.corpus.documents import require_documents
from graphrag_dagster.core.corpus.text_units import cut
from graphrag_dagster.core.corpus.tokens import get_tokenizer
from graphrag_dagster.core.language.llm.chat import ChatRequest
from graphrag_dagster.core.language.llm.extraction import LlmGraphExtractor
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.endpoint.chat import OpenAIChatModel
from graphrag_dagster.resources.home import memory_file
from graphrag_dagster.resources.memory.account import price_of
from graphrag_dagster.resources.memory.database import database_at
from graphrag_dagster.resources.memory.replies import Replies, reply_key, vector_key
from graphrag_dagster.resources.memory.usage import UsageLog
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.settings.model import ModelSettings, TaskName

#: Tokens of an entity or a relationship in a context, and those that a chat template adds to a request.
_ELEMENT, _TEMPLATE = 45, 8
_ENOUGH_CALLS = 5
_TASKS: dict[str, TaskName] = {"extraction": "extract", "reports": "report", "embeddings": "embed"}


@dataclass(frozen=True, slots=True)
class Plan:
    """Estimates by stage, and the prices that are known. ``experienced``: the model's replies are known."""

    corpus: str
    text_units: int
    estimates: list[Estimate] = field(default_factory=list)
    prices: dict[str, Price] = field(default_factory=dict)
    experienced: bool = False

    @property
    def tokens(self) -> Range:
        """Tokens of all stages, in and out."""
        total = Range(0, 0, 0)
        for one in self.estimates:
            total = total + one.tokens
        return total


def plan_corpus(name: str) -> Plan:
    """Return what an index of a corpus would ask of models now; what is remembered is left out.

    Raises:
        GraphragError: the corpus or its settings cannot be used.
    """
    store = CorpusStore()
    return _Planner(name, store.settings(name), _units(store, name)).plan()


def largest_data(name: str) -> dict[TaskName, int]:
    """Return the most tokens of data that a prompt of a task is given, with the corpus as it is.

    Text units are counted; of what is made of them the most is taken that is to be expected.

    Raises:
        GraphragError: the corpus or its settings cannot be used, or it has no documents.
    """
    store = CorpusStore()
    return _Planner(name, store.settings(name), _units(store, name)).largest_data()


def _units(store: CorpusStore, name: str) -> pl.DataFrame:
    contents = store.read(name)
    # A corpus that had documents may have lost them all.
    if not Warehouse().exists(tables.DOCUMENTS, name):
        require_documents(contents, store.folder(name))
    return cut(contents.documents, **store.settings(name).text_units.model_dump())


class _Planner:
    def __init__(self, name: str, settings: CorpusSettings, units: pl.DataFrame) -> None:
        self._name = name
        self._settings = settings
        self._texts: list[str] = units["text"].to_list()
        self._unit_tokens = int(units["tokens"].sum())
        self._largest_unit = int(units["tokens"].cast(pl.Int64).max() or 0)  # type: ignore[arg-type]
        self._count = get_tokenizer(settings.text_units.encoding).count
        database = database_at(memory_file())
        self._replies = Replies(database)
        self._log = UsageLog(database)
        names = [names_and_pairs(text) for text in self._texts]
        self._names = len({one for found, _ in names for one in found})
        self._pairs = len({one for _, found in names for one in found})

    def plan(self) -> Plan:
        made = [
            *([self._extraction()] if self._settings.engine_of("extraction") == "llm" else []),
            *([self._reports()] if self._settings.engine_of("reports") == "llm" else []),
            *([self._embeddings()] if self._settings.embeddings.embedder == "endpoint" else []),
        ]
        prices = {one.model: self._price(one) for one in made}
        return Plan(
            self._name,
            len(self._texts),
            made,
            {model: price for model, price in prices.items() if price},
            self._average("extract", "extract_graph") is not None,
        )

    def largest_data(self) -> dict[TaskName, int]:
        """See :func:`largest_data`."""
        own = self._settings
        elements = max((self._names + self._pairs) * _ELEMENT * 2, self._unit_tokens)
        reports = int(self._communities().high * own.model.for_task("report").reply_limit)
        return {
            "extract": self._largest_unit,
            "summarise": min(own.graph.max_input_tokens, elements),
            "report": min(own.reports.context_tokens, elements),
            "answer": min(own.search.context_tokens, self._unit_tokens + elements + reports),
        }

    def _extraction(self) -> Estimate:
        settings = self._settings.model.for_task("extract")
        own = self._settings.extraction
        model = OpenAIChatModel(settings)
        extractor = LlmGraphExtractor(
            model,
            prompts,
            entity_types=own.entity_types,
            examples=own.examples,
            replies=settings.replies,
            logit_bias=False,
        )
        requests = [extractor.first_request(text) for text in self._texts]
        keys = [reply_key(settings, request) for request in requests]
        known = self._replies.has(keys)
        open_ = [place for place, key in enumerate(keys) if key not in known]
        texts = [self._texts[place] for place in open_]
        calls, inputs, outputs = plan_extraction(
            [self._size(requests[place]) for place in open_],
            reply_tokens(texts, json=settings.replies == "json_schema"),
            rounds=own.gleaning.rounds,
            check_first=own.gleaning.order == "check_first",
            turn=self._count(prompts.load("glean_continue").text) + _TEMPLATE,
            seen=self._average("extract", "extract_graph"),
        )
        return Estimate(
            "extraction", "extract_graph", settings.name, calls, inputs, outputs, len(keys) - len(open_)
        )

    def _reports(self) -> Estimate:
        settings = self._settings.model.for_task("report")
        communities = self._communities()
        prompt = sum(
            self._count(prompts.load(name).text)
            for name in ("community_report_system", "community_report_user")
        )
        elements = around(
            float((self._names + self._pairs) * _ELEMENT), known=communities.low == communities.high
        )
        calls, inputs, outputs = plan_reports(
            communities,
            prompt + _TEMPLATE,
            self._settings.reports.context_tokens,
            elements,
            self._average("report", "community_report"),
        )
        return Estimate("reports", "community_report", settings.name, calls, inputs, outputs)

    def _communities(self) -> Range:
        made = Warehouse().read_if_present(tables.COMMUNITIES, self._name)
        if made is None:
            return around(max(self._names * 0.25, 1), known=False)
        return exactly(float(made.height))

    def _embeddings(self) -> Estimate:
        settings = self._settings.model.for_task("embed")
        model = self._settings.embeddings.model or ""
        keys = [vector_key(model, settings.namespace, text) for text in self._texts]
        known = len(self._replies.has(keys))
        share = 1 - known / max(len(keys), 1)
        entities = around(float(self._names * _ELEMENT), known=False)
        reports = around(self._names * 0.25 * 500, known=False)
        inputs = exactly(self._unit_tokens * share) + entities + reports
        texts = around(self._names * 1.25, known=False) + exactly(len(keys) - known)
        return Estimate("embeddings", "embed", model, texts * (1 / 64), inputs, exactly(0), known)

    def _price(self, one: Estimate) -> Price | None:
        return price_of(*self._endpoint(one))

    def _endpoint(self, one: Estimate) -> tuple[ModelSettings, str, str]:
        settings = self._settings.model.for_task(_TASKS[one.stage])
        return settings, one.model, OpenAIChatModel(settings).connection.url

    def _size(self, request: ChatRequest) -> int:
        return sum(self._count(message.content) for message in request.messages) + _TEMPLATE

    def _average(self, task: TaskName, request: str) -> float | None:
        """Tokens of this model's replies to such requests, from all accounts; None with too few of them."""
        calls, tokens = self._log.written(request, self._settings.model.for_task(task).name)
        return tokens / calls if calls >= _ENOUGH_CALLS else None
