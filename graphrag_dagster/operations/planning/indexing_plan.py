"""The plan of a corpus: its real text units, rendered and counted as they would be sent, and nothing sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from graphrag_dagster import prompts, tables
from graphrag_dagster.core.accounting.planning import (
    PAIR,
    Estimate,
    Range,
    around,
    exactly,
    plan_extraction,
    plan_reports,
    plan_typing,
    summary_tokens,
)
from graphrag_dagster.core.accounting.prices import Price
from graphrag_dagster.core.accounting.reply_sizes import names_and_pairs, reply_tokens
from graphrag_dagster.core.extraction.typing import untyped
from graphrag_dagster.core.language.chat.port import ChatRequest
from graphrag_dagster.core.language.llm.entity_typing import LlmEntityTyper, typed_at_once
from graphrag_dagster.core.language.llm.extraction.graph import LlmGraphExtractor
from graphrag_dagster.core.language.llm.name_judging import MOST_PAIRS
from graphrag_dagster.core.language.name_judging import Untyped
from graphrag_dagster.core.text.tokens import get_tokenizer
from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel
from graphrag_dagster.model_calls.memory.account import price_of
from graphrag_dagster.operations.planning.basis import Basis, basis_of
from graphrag_dagster.operations.planning.coterag_plan import (
    SUMMARIES_PER_NAME,
    members_tokens,
    summaries_estimate,
)
from graphrag_dagster.operations.planning.graph_plan import (
    Unit,
    claims_estimate,
    merging_estimate,
    resolution_estimate,
)
from graphrag_dagster.operations.planning.known_replies import Known
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.settings.model import ModelSettings, RoleName

#: Tokens of an entity or a relationship in a context.
_ELEMENT = 45
#: Share of the entities that are context nodes, at most, as in the corpora that were measured.
_CONTEXT_NODES = 0.3
_TASKS: dict[str, RoleName] = {
    "extraction": "extract",
    "claims": "extract",
    "typing": "type",
    "resolution": "resolve",
    "merging": "summarise",
    "reports": "report",
    "coterag": "summarise",
    "embeddings": "embed",
}


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
    return _Planner(name, store.settings(name), basis_of(store, name)).plan()


def largest_data(name: str) -> dict[RoleName, int]:
    """Return the most tokens of data that a prompt of a task is given, with the corpus as it is.

    Text units are counted; of what is made of them the most is taken that is to be expected.

    Raises:
        GraphragError: the corpus or its settings cannot be used, or it has no documents.
    """
    store = CorpusStore()
    return _Planner(name, store.settings(name), basis_of(store, name)).largest_data()


class _Planner:
    def __init__(self, name: str, settings: CorpusSettings, basis: Basis) -> None:
        self._name = name
        self._settings = settings
        self._names, self._pairs, self._left = basis.names, basis.pairs, basis.reports
        units = basis.units
        self._texts: list[str] = units["text"].to_list()
        self._unit_tokens = int(units["tokens"].sum())
        self._largest_unit = int(units.select(pl.max("tokens")).item() or 0)
        self._units: list[tuple[str, str]] = units.select("text_unit_id", "text").rows()
        self._count = get_tokenizer(settings.text_units.encoding).count
        self._known = Known(settings.model, self._count)

    def plan(self) -> Plan:
        made = list(self._stages())
        prices = {one.model: self._price(one) for one in made}
        return Plan(
            self._name,
            len(self._texts),
            made,
            {model: price for model, price in prices.items() if price},
            self._known.average("extract", "extract_graph") is not None,
        )

    def _stages(self) -> Iterator[Estimate]:
        own = self._settings
        if own.asks_model("extraction"):
            requests = self._requests()
            new = self._known.new("extract", requests)
            yield self._extraction(requests, new)
        else:
            new = self._never_extracted()
        are_new = set(new)
        units = [Unit(*self._units[place], place in are_new) for place in range(len(self._units))]
        if own.asks_model("claims"):
            yield claims_estimate(self._name, own, units, self._known)
        if own.asks_model("typing"):
            yield typing_estimate(self._name, own, units, self._known)
        if own.asks_model("resolution"):
            yield resolution_estimate(self._name, own, units, self._known)
        if own.asks_model("graph"):
            yield merging_estimate(self._name, own, units, self._known)
        if own.asks_model("reports"):
            yield self._reports()
        if own.asks_model("coterag"):
            yield summaries_estimate(
                self._name, own, units, self._known, names=self._names, pairs=self._pairs
            )
        if own.embeds_at_endpoint:
            yield self._embeddings()

    def largest_data(self) -> dict[RoleName, int]:
        """See :func:`largest_data`."""
        own = self._settings
        elements = max((self._names + self._pairs) * _ELEMENT * 2, self._unit_tokens)
        reports = int(self._communities().high * own.model.for_role("report").reply_limit)
        return {
            "extract": self._largest_unit,
            "type": max(min(typed_at_once(), self._unit_tokens), self._largest_unit),
            "resolve": min(MOST_PAIRS * PAIR, 2 * self._unit_tokens),
            "summarise": max(min(own.graph.max_input_tokens, elements), self._largest_community()),
            "report": min(own.reports.context_tokens, elements),
            "answer": min(own.search.context_tokens, self._unit_tokens + elements + reports),
        }

    def _largest_community(self) -> int:
        """Most tokens of a community whose summary a model is asked for; 0 where none is."""
        own = self._settings
        asked = own.asks_model("coterag")
        return min(own.coterag.summary_tokens, members_tokens(self._names, self._pairs)) if asked else 0

    def _requests(self) -> list[ChatRequest]:
        settings, own = self._known.of_task("extract"), self._settings.extraction
        extractor = LlmGraphExtractor(
            OpenAIChatModel(settings),
            prompts,
            entity_types=own.entity_types,
            examples=own.examples,
            relation_labels=own.relation_labels,
            replies=settings.replies,
            logit_bias=False,
        )
        return [extractor.first_request(text) for text in self._texts]

    def _never_extracted(self) -> list[int]:
        ledger = Warehouse().read_if_present(tables.UNIT_LEDGER, self._name)
        before = set() if ledger is None else set(ledger["text_unit_id"])
        return [place for place, (unit_id, _) in enumerate(self._units) if unit_id not in before]

    def _extraction(self, requests: Sequence[ChatRequest], new: Sequence[int]) -> Estimate:
        settings, gleaning = self._known.of_task("extract"), self._settings.extraction.gleaning
        texts = [self._texts[place] for place in new]
        calls, inputs, outputs = plan_extraction(
            [self._known.size(requests[place]) for place in new],
            reply_tokens(texts, json=settings.replies == "json_schema"),
            rounds=gleaning.rounds,
            check_first=gleaning.order == "check_first",
            turn=self._known.tokens(prompts.load("glean_continue").text),
            seen=self._known.average("extract", "extract_graph"),
        )
        remembered = len(requests) - len(new)
        return Estimate("extraction", "extract_graph", settings.name, calls, inputs, outputs, remembered)

    def _reports(self) -> Estimate:
        settings = self._settings.model.for_role("report")
        communities = self._communities()
        prompt = self._known.tokens(
            *(prompts.load(f"community_report_{part}").text for part in ("system", "user"))
        )
        elements = around(
            float((self._names + self._pairs) * _ELEMENT), known=communities.low == communities.high
        )
        calls, inputs, outputs = plan_reports(
            communities,
            prompt,
            self._settings.reports.context_tokens,
            elements,
            self._known.average("report", "community_report"),
        )
        return Estimate("reports", "community_report", settings.name, calls, inputs, outputs)

    def _communities(self) -> Range:
        if self._left is not None:
            return exactly(float(self._left))
        made = Warehouse().read_if_present(tables.COMMUNITIES, self._name)
        if made is None:
            return around(max(self._names * 0.25, 1), known=False)
        return exactly(float(made.height))

    def _embeddings(self) -> Estimate:
        model, prefixes = self._settings.embeddings.model or "", self._settings.embeddings.prefixes
        whole = self._settings.embeddings.kept == "all"
        units = self._texts if whole else []
        known, count = self._known.vectors(model, prefixes.of_documents(units)), len(units)
        share = (1 - known / max(count, 1)) if whole else 0
        # Entities, or of these context nodes alone, and reports; then descriptions and summaries.
        entities = 1.0 if whole else _CONTEXT_NODES if self._settings.makes("context") else 0.0
        each, tokens = entities + 0.25, entities * _ELEMENT + 0.25 * 500
        if self._settings.makes("coterag"):
            each += 1 + SUMMARIES_PER_NAME
            tokens += _ELEMENT + SUMMARIES_PER_NAME * summary_tokens(None).expected
        texts = around(self._names * each, known=False) + exactly(count - known)
        contents = exactly(self._unit_tokens * share) + around(self._names * tokens, known=False)
        inputs = contents + texts * self._count(prefixes.document)
        return Estimate("embeddings", "embed", model, texts * (1 / 64), inputs, exactly(0), known)

    def _price(self, one: Estimate) -> Price | None:
        return price_of(*self._endpoint(one))

    def _endpoint(self, one: Estimate) -> tuple[ModelSettings, str, str]:
        settings = self._settings.model.for_role(_TASKS[one.stage])
        return settings, one.model, OpenAIChatModel(settings).connection.url


#: Names without a type for each name that stands in a text unit; a guess, by which nothing was measured.
_WITHOUT_TYPE = 0.5


def typing_estimate(corpus: str, settings: CorpusSettings, units: Sequence[Unit], known: Known) -> Estimate:
    """Return what typing asks: of the untyped names of units that stay, of a guessed number in new ones."""
    own = known.of_task("type")
    typer = LlmEntityTyper(
        OpenAIChatModel(own),
        prompts,
        labels=settings.extraction.gliner.labels,
        max_tokens=own.reply_limit,
    )
    staying = {unit.unit_id for unit in units if not unit.new}
    asked = [one for one in _asked_before(corpus) if one.unit.id in staying]
    requests = typer.requests(asked)
    new = [requests[place] for place in known.new("type", requests)]
    texts = [unit.text for unit in units if unit.new]
    names = _WITHOUT_TYPE * sum(len(names_and_pairs(text)[0]) for text in texts)
    calls, inputs, outputs = plan_typing(
        [known.size(request) for request in new],
        sum(len(one.names) for one in asked) * len(new) / max(len(requests), 1),
        around(names, known=False),
        texts=known.tokens(*texts) if texts else 0,
        prompt=known.tokens(*(prompts.load(f"type_entities_{part}").text for part in ("system", "user"))),
        seen=known.average("type", "type_entities"),
    )
    return Estimate("typing", "type_entities", own.name, calls, inputs, outputs, len(requests) - len(new))


def _asked_before(corpus: str) -> list[Untyped]:
    wanted = (tables.GLEANED_ENTITIES, tables.TYPINGS, tables.TEXT_CHUNKS)
    entities, typings, chunks = (Warehouse().read_if_present(table, corpus) for table in wanted)
    if entities is None or typings is None or chunks is None:
        return []
    return untyped(entities, typings, chunks)
