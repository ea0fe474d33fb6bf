"""The plan of a corpus: its real text units, rendered and counted as they would be sent, and nothing sent."""

from collections.abc import Iterator, Sequence

import polars as pl

from graphrag_dagster.apps.planning.indexing_estimates import (
    PAIR,
    claims_estimate,
    merging_estimate,
    resolution_estimate,
    typing_estimate,
)
from graphrag_dagster.apps.planning.plan_basis import PlanBasis, basis_of
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.models.call_estimates import (
    SUMMARIES_PER_NAME,
    SUMMARY_TOKENS,
    Estimate,
    Plan,
    Range,
    approximately,
    exactly,
    reply_length,
)
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.plan_inputs import (
    KnownReplies,
    Planned,
    Unit,
    prices_of,
)
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import RoleName
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.index.community_reports import reported
from graphrag_dagster.systems.graphrag.llm.entity_typing import names_per_call
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import (
    plan_extraction,
    reply_tokens,
)
from graphrag_dagster.systems.graphrag.llm.judges import MOST_PAIRS
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings, ReportSettings

#: Tokens of an entity or a relationship in a context.
_ELEMENT = 45
#: Communities of all levels for each name.
_COMMUNITIES = 0.25
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


def plan_corpus(name: str) -> Plan:
    """Return what an index of a corpus would ask of models now; what is cached is left out.

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
    def __init__(self, name: str, settings: CorpusSettings, basis: PlanBasis) -> None:
        self._name = name
        self._settings = settings
        self._names, self._pairs, self._left = basis.names, basis.pairs, basis.reports
        units = basis.units
        self._texts: list[str] = units["text"].to_list()
        self._unit_tokens = int(units["tokens"].sum())
        self._largest_unit = int(units.select(pl.max("tokens")).item() or 0)
        self._units: list[tuple[str, str]] = units.select("text_unit_id", "text").rows()
        self._count = get_tokenizer(settings.text_units.encoding).count
        self._known = KnownReplies(settings.model, self._count)

    def plan(self) -> Plan:
        made = list(self._stages())
        return Plan(
            self._name,
            len(self._texts),
            made,
            prices_of(self._settings.model, made, lambda one: _TASKS[one.stage]),
            self._known.average("extract", "extract_graph") is not None,
        )

    def _stages(self) -> Iterator[Estimate]:
        own = self._settings
        if own.asks_model("extraction"):
            requests = self._requests()
            new = self._known.new_requests("extract", requests)
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
        planned = Planned(self._name, own, units, self._known, self._names, self._pairs)
        for system in systems().values():
            if system.estimates:
                yield from load_target(system.estimates)(planned)
        if own.embeds_at_endpoint:
            yield self._embeddings()

    def largest_data(self) -> dict[RoleName, int]:
        """See :func:`largest_data`."""
        own = self._settings
        elements = max((self._names + self._pairs) * _ELEMENT * 2, self._unit_tokens)
        reports = int(self._communities().high * own.model.for_role("report").reply_limit)
        return {
            "extract": self._largest_unit,
            "type": max(min(names_per_call(), self._unit_tokens), self._largest_unit),
            "resolve": min(MOST_PAIRS * PAIR, 2 * self._unit_tokens),
            "summarise": min(own.largest_input("summarise"), elements),
            "report": min(own.section(ReportSettings).context_tokens, elements),
            "answer": min(own.search.context_tokens, self._unit_tokens + elements + reports),
        }

    def _requests(self) -> list[ChatRequest]:
        settings, own = self._known.of_task("extract"), self._settings.section(ExtractionSettings)
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
        settings, gleaning = (
            self._known.of_task("extract"),
            self._settings.section(ExtractionSettings).gleaning,
        )
        texts = [self._texts[place] for place in new]
        calls, inputs, outputs = plan_extraction(
            [self._known.size(requests[place]) for place in new],
            reply_tokens(texts, json=settings.replies == "json_schema"),
            rounds=gleaning.rounds,
            check_first=gleaning.order == "check_first",
            turn=self._known.tokens(prompts.load("glean_continue").text),
            seen=self._known.average("extract", "extract_graph"),
        )
        cached = len(requests) - len(new)
        return Estimate("extraction", "extract_graph", settings.name, calls, inputs, outputs, cached)

    def _reports(self) -> Estimate:
        settings, own = self._settings.model.for_role("report"), self._settings.section(ReportSettings)
        communities = self._communities()
        prompt = self._known.tokens(
            *(prompts.load(f"community_report_{part}").text for part in ("system", "user"))
        )
        elements = approximately(
            float((self._names + self._pairs) * _ELEMENT), known=communities.low == communities.high
        )
        calls, inputs, outputs = plan_reports(
            communities,
            prompt,
            own.context_tokens,
            elements,
            self._known.average("report", "community_report"),
            own.levels,
        )
        return Estimate("reports", "community_report", settings.name, calls, inputs, outputs)

    def _communities(self) -> Range:
        own = self._settings.section(ReportSettings)
        if self._left is not None:
            counted = (n for level, n in self._left.items() if own.levels is None or level <= own.levels)
            return exactly(float(sum(counted)))
        made = Warehouse().read_if_present(tables.COMMUNITIES, self._name)
        if made is None:
            every = approximately(max(self._names * _COMMUNITIES, 1), known=False)
            return every * share_of_levels(own.levels)
        return exactly(float(reported(made, own).height))

    def _embeddings(self) -> Estimate:
        model, prefixes = self._settings.embeddings.model or "", self._settings.embeddings.prefixes
        whole = self._settings.embeddings.kept == "all"
        units = self._texts if whole else []
        known, count = self._known.vectors(model, prefixes.of_documents(units)), len(units)
        share = (1 - known / max(count, 1)) if whole else 0
        written = _COMMUNITIES * share_of_levels(self._settings.section(ReportSettings).levels).expected
        # Entities, or of these context nodes alone, and reports; then descriptions and summaries.
        entities = 1.0 if whole else _CONTEXT_NODES if self._settings.makes("context") else 0.0
        each, tokens = entities + written, entities * _ELEMENT + written * 500
        if self._settings.makes("coterag"):
            each += 1 + SUMMARIES_PER_NAME
            tokens += _ELEMENT + SUMMARIES_PER_NAME * SUMMARY_TOKENS
        texts = approximately(self._names * each, known=False) + exactly(count - known)
        contents = exactly(self._unit_tokens * share) + approximately(self._names * tokens, known=False)
        inputs = contents + texts * self._count(prefixes.document)
        return Estimate("embeddings", "embed", model, texts * (1 / 64), inputs, exactly(0), known)


#: Share of the communities that are of C0 or above, of C1 or above, of C2 or above, in graphs of texts:
#: encyclopedias, meetings, talks, reports, documentation, a book. In a graph of movies, whose nodes have many
#: neighbours, it is .01, .11 and .57.
_DOWN_TO = (Range(0.2, 0.45, 0.7), Range(0.6, 0.7, 0.95), Range(0.95, 0.98, 1.0))


def share_of_levels(deepest: int | None) -> Range:
    """Return the share of the communities of a graph that are of a level or above; None: of any level."""
    return exactly(1) if deepest is None or deepest >= len(_DOWN_TO) else _DOWN_TO[deepest]


def plan_reports(
    communities: Range,
    prompt: int,
    context_tokens: int,
    elements: Range,
    seen: float | None,
    deepest: int | None = None,
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of the reports.

    Args:
        communities: how many of these levels there are.
        prompt: tokens of the prompt without its context.
        context_tokens: most tokens of a context.
        elements: tokens of all entities and relationships; each stands in the reports of all its levels.
        seen: tokens of an average report of this model.
        deepest: level whose reports are the last; None: those of all levels are written.
    """
    levels = Range(1.2, 1.8, 3.0)
    if deepest is not None:
        levels = levels.at_most(exactly(deepest + 1))
    context = (elements * levels).at_most(communities * context_tokens)
    inputs = communities * prompt + context
    written = reply_length(seen, 600.0)
    return communities, inputs, communities * written
