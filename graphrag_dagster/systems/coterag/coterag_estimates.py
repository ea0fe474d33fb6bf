"""Estimated model calls of community summaries and of one question."""

from collections.abc import Iterator

from graphrag_dagster.kernel.models.call_estimates import (
    SUMMARIES_PER_NAME,
    SUMMARY_TOKENS,
    Estimate,
    MethodSize,
    Range,
    approximately,
    exactly,
    reply_length,
)
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.plan_inputs import Planned
from graphrag_dagster.kernel.questions.question import Basis
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.coterag.extractive import ExtractiveCommunitySummariser
from graphrag_dagster.systems.coterag.index.index_builder import partition_communities
from graphrag_dagster.systems.coterag.index.summary_requests import summary_requests
from graphrag_dagster.systems.coterag.llm.community_summaries import LlmCommunitySummariser
from graphrag_dagster.systems.coterag.settings import CoteragSettings

#: Tokens of an entity or a triple as a line of the prompt, and of an exact name.
_LINE, _NAME = 12, 5


def members_tokens(names: int, pairs: int) -> int:
    """Return the tokens of entities and triples as prompts show them, about as many as names and pairs."""
    return names * (_LINE + _NAME) + pairs * _LINE


def _summaries_estimate(planned: Planned) -> Estimate:
    """Return what summaries ask: of the communities of the index that there is, else of a guessed number.

    Where text units are new or gone, communities may differ: at least those without a cached summary are
    asked about, at most all, and as many more as there are more text units.
    """
    units, known = planned.units, planned.known
    own, seen = known.of_task("summarise"), known.average("summarise", "coterag_summary")
    before, there = _earlier_requests(planned, own.reply_limit)
    new = [there[place] for place in known.new_requests("summarise", there)]
    staying = sum(not unit.new and unit.unit_id in before for unit in units)
    if 0 < staying == len(units) == len(before):
        calls, inputs = exactly(len(new)), exactly(sum(map(known.size, new)))
    elif staying and there:
        whole = len(there) * len(units) / staying
        calls = Range(len(new), (len(new) + whole) / 2, whole)
        inputs = calls * (sum(map(known.size, there)) / len(there))
    else:
        calls, inputs = plan_summaries(
            approximately(SUMMARIES_PER_NAME * planned.names, known=False),
            known.tokens(*(prompts.load(f"coterag_summary_{part}").text for part in ("system", "user"))),
            planned.settings.section(CoteragSettings).summary_tokens,
            approximately(float(members_tokens(planned.names, planned.pairs)), known=False),
        )
    outputs = calls * reply_length(seen, SUMMARY_TOKENS)
    return Estimate("coterag", "coterag_summary", own.name, calls, inputs, outputs, len(there) - len(new))


def _earlier_requests(planned: Planned, reply_limit: int) -> tuple[set[str], list[ChatRequest]]:
    """Return the text units of the index that there is, and the requests about its communities."""
    wanted = (tables.ENTITIES, tables.TRIPLES, tables.COMMUNITY_LEVELS, tables.TEXT_CHUNKS)
    read = {table: Warehouse().read_if_present(table, planned.corpus) for table in wanted}
    made = {table: rows for table, rows in read.items() if rows is not None}
    if len(made) < len(wanted):
        return set(), []
    own, chunks = planned.settings.section(CoteragSettings), made[tables.TEXT_CHUNKS]
    summariser = LlmCommunitySummariser(
        OpenAIChatModel(planned.known.of_task("summarise")),
        fallback=ExtractiveCommunitySummariser(own.summary_words, own.exact_names),
        context_tokens=own.summary_tokens,
        exact_names=own.exact_names,
        max_output_tokens=reply_limit,
    )
    graph, _, communities = partition_communities(made, own)
    requests = summary_requests(graph, communities, chunks.sort("human_readable_id"))
    return set(chunks["text_unit_id"]), [summariser.request(one) for one in requests if not one.tiny]


def estimates(planned: Planned) -> Iterator[Estimate]:
    """Yield what the stage asks, where its engine asks a model."""
    if planned.settings.asks_model("coterag"):
        yield _summaries_estimate(planned)


#: Tokens of a prompt without its material.
_PROMPT = 700
#: Tokens of a text unit of some sentences.
_ROW = 150


def with_fallback_rounds(basis: Basis) -> MethodSize:
    """The route, an answer, its validation, and both again after each round."""
    options = basis.settings.section(CoteragSettings)
    rounds = 0 if basis.method.name.endswith("-fallback") else options.fallback.rounds
    calls = Range(2.0, 3.0, 1.0 + 2.0 * (1 + rounds))
    texts = options.chunks + options.triples / 10 + options.communities * 3
    context = float(_PROMPT + texts * _ROW)
    return MethodSize(calls, calls * context)


def plan_summaries(
    communities: Range, prompt: int, context_tokens: int, elements: Range
) -> tuple[Range, Range]:
    """Return the calls and input tokens of the summaries of communities that are not there yet.

    Args:
        communities: how many will be summarised.
        prompt: tokens of the prompt without a community.
        context_tokens: most tokens of a community.
        elements: tokens of all entities and triples; each stands in one summary.
    """
    return communities, communities * prompt + elements.at_most(communities * context_tokens)
