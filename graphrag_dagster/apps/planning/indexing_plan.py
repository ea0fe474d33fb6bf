"""The plan of a corpus: its real text units, rendered and counted as they would be sent, and nothing sent."""

from collections.abc import Iterator

import polars as pl

from graphrag_dagster.apps.planning.indexing_estimates import (
    PAIR,
    claims_estimate,
    extraction_estimate,
    merging_estimate,
    prompt_tokens,
    resolution_estimate,
    typing_estimate,
)
from graphrag_dagster.apps.planning.plan_basis import basis_of
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
from graphrag_dagster.kernel.settings.model_settings import RoleName
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.index.community_reports import reported
from graphrag_dagster.systems.graphrag.llm.entity_typing import names_per_call
from graphrag_dagster.systems.graphrag.llm.judges import MOST_PAIRS
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings, ReportSettings

#: Tokens of an entity or a relationship in a context.
_ELEMENT = 45
#: Communities of all levels for each name.
_COMMUNITIES = 0.25
#: Share of the entities that are context nodes, at most, as in the corpora that were measured.
_CONTEXT_NODES = 0.3
#: What the sections of the settings ask, in the order of the stages, behind extraction and before reports.
_STAGES = {
    "claims": claims_estimate,
    "typing": typing_estimate,
    "resolution": resolution_estimate,
    "graph": merging_estimate,
}
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
    return _Planner(name).plan()


def largest_data(name: str) -> dict[RoleName, int]:
    """Return the most tokens of data that a prompt of a task is given, with the corpus as it is.

    Text units are counted; of what is made of them the most is taken that is to be expected.

    Raises:
        GraphragError: the corpus or its settings cannot be used, or it has no documents.
    """
    return _Planner(name).largest_data()


class _Planner:
    def __init__(self, name: str) -> None:
        store = CorpusStore()
        self._name, self._settings, self._basis = name, store.settings(name), basis_of(store, name)
        self._texts: list[str] = self._basis.units["text"].to_list()
        self._unit_tokens = int(self._basis.units["tokens"].sum())
        self._elements = (self._basis.names + self._basis.pairs) * _ELEMENT
        self._count = get_tokenizer(self._settings.text_units.encoding).count
        self._known = KnownReplies(self._settings.model, self._count)

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
        requests = self._requests() if own.asks_model("extraction") else None
        new = self._never_extracted() if requests is None else self._known.new_requests("extract", requests)
        are_new = set(new)
        ids = self._basis.units["text_unit_id"]
        units = [
            Unit(unit_id, text, place in are_new)
            for place, (unit_id, text) in enumerate(zip(ids, self._texts, strict=True))
        ]
        planned = Planned(self._name, own, units, self._known, self._basis.names, self._basis.pairs)
        if requests is not None:
            yield extraction_estimate(planned, requests)
        for section, estimate in _STAGES.items():
            if own.asks_model(section):
                yield estimate(planned)
        if own.asks_model("reports"):
            yield self._reports()
        for system in systems().values():
            if system.estimates:
                yield from load_target(system.estimates)(planned)
        if own.embeds_at_endpoint:
            yield self._embeddings()

    def largest_data(self) -> dict[RoleName, int]:
        """See :func:`largest_data`."""
        own, largest = self._settings, int(self._basis.units.select(pl.max("tokens")).item() or 0)
        elements = max(self._elements * 2, self._unit_tokens)
        reports = int(self._communities().high * own.model.for_role("report").reply_limit)
        return {
            "extract": largest,
            "type": max(min(names_per_call(), self._unit_tokens), largest),
            "resolve": min(MOST_PAIRS * PAIR, 2 * self._unit_tokens),
            "summarise": min(own.largest_input("summarise"), elements),
            "report": min(own.section(ReportSettings).context_tokens, elements),
            "answer": min(own.search.context_tokens, self._unit_tokens + elements + reports),
        }

    def _requests(self) -> list[ChatRequest]:
        settings, own = self._known.of_task("extract"), self._settings.section(ExtractionSettings)
        extractor = LlmGraphExtractor(
            OpenAIChatModel(settings),
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
        ids = enumerate(self._basis.units["text_unit_id"])
        return [place for place, unit_id in ids if unit_id not in before]

    def _reports(self) -> Estimate:
        settings, own = self._settings.model.for_role("report"), self._settings.section(ReportSettings)
        communities = self._communities()
        calls, inputs, outputs = plan_reports(
            communities,
            prompt_tokens(self._known, "community_report"),
            own.context_tokens,
            approximately(float(self._elements), known=communities.low == communities.high),
            self._known.average("report", "community_report"),
            own.levels,
        )
        return Estimate("reports", "community_report", settings.name, calls, inputs, outputs)

    def _communities(self) -> Range:
        own = self._settings.section(ReportSettings)
        if (left := self._basis.reports) is not None:
            counted = (n for level, n in left.items() if own.levels is None or level <= own.levels)
            return exactly(float(sum(counted)))
        made = Warehouse().read_if_present(tables.COMMUNITIES, self._name)
        if made is None:
            every = approximately(max(self._basis.names * _COMMUNITIES, 1), known=False)
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
        texts = approximately(self._basis.names * each, known=False) + exactly(count - known)
        contents = exactly(self._unit_tokens * share) + approximately(self._basis.names * tokens, known=False)
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
