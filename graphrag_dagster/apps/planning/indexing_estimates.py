"""Estimated model calls of extraction, claims, typing, resolution and merged descriptions."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from graphrag_dagster.kernel.common.progress import without_progress
from graphrag_dagster.kernel.models.call_estimates import (
    Estimate,
    Range,
    approximately,
    exactly,
    reply_length,
)
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply, ChatRequest, Listener
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.plan_inputs import KnownReplies, Planned, Unit
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tasks.name_judging_ports import Untyped
from graphrag_dagster.kernel.tasks.task_ports import DescriptionGroup
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.index.extraction import untyped_names
from graphrag_dagster.systems.graphrag.index.merged_graph import description_groups
from graphrag_dagster.systems.graphrag.llm.entity_typing import LlmEntityTyper
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import (
    names_and_pairs,
    plan_extraction,
    reply_tokens,
)
from graphrag_dagster.systems.graphrag.llm.judges import USUAL_PAIRS, LlmNameJudge
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmClaimExtractor
from graphrag_dagster.systems.graphrag.llm.summarization import LlmDescriptionMerger
from graphrag_dagster.systems.graphrag.resolution.entity_resolution import ModelNameJudge
from graphrag_dagster.systems.graphrag.resolution.resolution_tables import resolve_corpus
from graphrag_dagster.systems.graphrag.resolution.settings import ResolutionSettings
from graphrag_dagster.systems.graphrag.resolution.tables import DECISIONS
from graphrag_dagster.systems.graphrag.settings import ClaimSettings, ExtractionSettings, GraphSettings
from graphrag_dagster.systems.graphrag.tables import (
    CLAIM_GROUPS,
    ENTITY_GROUPS,
    GLEANED_ENTITIES,
    RELATIONSHIP_GROUPS,
    TYPINGS,
)

#: Tokens of a pair of names with the sentences in which they stand, and of what is said of one.
PAIR, _RULING = 150, 40
#: Names without a type in a call on average, tokens of one, and of the label that it is given.
_NAMES, _PER_NAME, _LABEL = 12, 8, 16
#: Tokens of what one text unit says of an entity or a relationship.
_DESCRIPTION = 30
#: Tokens of a merged description.
_MERGED = 150.0
#: Share of an extraction reply that one of claims about the same text has.
_OF_EXTRACTION = 0.6


def extraction_estimate(planned: Planned, requests: Sequence[ChatRequest]) -> Estimate:
    """Return what extraction asks; ``requests``: the first about each text unit."""
    texts = [unit.text for unit in planned.units]
    return _conversations(planned, "extraction", "extract_graph", "glean_continue", texts, requests)


def claims_estimate(planned: Planned) -> Estimate:
    """Return what claims ask: of units that stay with the entities they have, of others by their names."""
    own, claims = planned.known.of_task("extract"), planned.settings.section(ClaimSettings)
    extractor = LlmClaimExtractor(
        OpenAIChatModel(own),
        claim_description=claims.description,
        examples=claims.examples,
        replies=own.replies,
        logit_bias=False,
    )
    names = _entities(planned.corpus)
    asked = [
        (unit.text, names.get(unit.unit_id, []) if not unit.new else _guess_names(unit.text))
        for unit in planned.units
    ]
    texts = [text for text, found in asked if found]
    requests = [extractor.first_request(found, text) for text, found in asked if found]
    return _conversations(
        planned, "claims", "extract_claims", "claims_continue", texts, requests, share=_OF_EXTRACTION
    )


def _conversations(
    planned: Planned,
    stage: str,
    task: str,
    turn: str,
    texts: Sequence[str],
    requests: Sequence[ChatRequest],
    *,
    share: float = 1.0,
) -> Estimate:
    """Return what conversations about texts ask, but for those whose first reply is cached.

    Args:
        planned: what is planned.
        stage: for which they are.
        task: of the first request.
        turn: prompt of a continuation.
        texts: of the units.
        requests: the first about each of them.
        share: of the length of a reply of extraction that a reply has.
    """
    known, own = planned.known, planned.known.of_task("extract")
    new = known.new_requests("extract", requests)
    expected = reply_tokens([texts[place] for place in new], json=own.replies == "json_schema")
    gleaning = planned.settings.section(ExtractionSettings).gleaning
    calls, inputs, outputs = plan_extraction(
        [known.size(requests[place]) for place in new],
        [round(tokens * share) for tokens in expected],
        rounds=gleaning.rounds,
        check_first=gleaning.order == "check_first",
        turn=known.tokens(prompts.load(turn).text),
        seen=known.average("extract", task),
    )
    return Estimate(stage, task, own.name, calls, inputs, outputs, len(requests) - len(new))


def merging_estimate(planned: Planned) -> Estimate:
    """Return what merging asks: of the elements there are, and of those that the new units name."""
    known, units, graph = planned.known, planned.units, planned.settings.section(GraphSettings)
    own = known.of_task("summarise")
    merger = LlmDescriptionMerger(
        OpenAIChatModel(own),
        merge_above_tokens=graph.joined_up_to,
        max_input_tokens=graph.max_input_tokens,
        max_output_tokens=own.reply_limit,
    )
    # Where every unit is new, nothing of what there is stays.
    there = [] if all(unit.new for unit in units) else merger.first_requests(_groups(planned.corpus))
    new = [there[place] for place in known.new_requests("summarise", [request for request, _ in there])]
    seen = known.average("summarise", "summarize_descriptions")
    calls, inputs, outputs = plan_merging(
        _mentions(units),
        joined_up_to=graph.joined_up_to,
        max_input_tokens=graph.max_input_tokens,
        prompt=prompt_tokens(known, "summarize_descriptions"),
        seen=seen,
    )
    again = exactly(sum(1 + rest for _, rest in new))
    sent = exactly(sum(known.size(request) * (1 + rest) for request, rest in new))
    return Estimate(
        "merging",
        "summarize_descriptions",
        own.name,
        calls + again,
        inputs + sent,
        outputs + again * reply_length(seen, _MERGED),
        len(there) - len(new),
    )


def prompt_tokens(known: KnownReplies, task: str) -> int:
    """Return the tokens of the prompts of a task without what is filled in."""
    return known.tokens(*(prompts.load(f"{task}_{part}").text for part in ("system", "user")))


def _guess_names(text: str) -> list[str]:
    return sorted({normalise(name) for name in names_and_pairs(text)[0]})


def _entities(corpus: str) -> Mapping[str, list[str]]:
    made = Warehouse().read_if_present(GLEANED_ENTITIES, corpus)
    if made is None:
        return {}
    rows = made.select("text_unit_id", "name").unique().sort("text_unit_id", "name")
    return dict(rows.group_by("text_unit_id", maintain_order=True).agg("name").iter_rows())


def _groups(corpus: str) -> list[DescriptionGroup]:
    kinds = (ENTITY_GROUPS, RELATIONSHIP_GROUPS, CLAIM_GROUPS)
    made = [Warehouse().read_if_present(table, corpus) for table in kinds]
    return [group for frame in made if frame is not None for group in description_groups(frame)]


def _mentions(units: Sequence[Unit]) -> list[int]:
    """In how many units each name and each pair stands that a new unit has."""
    counted: Counter[str | tuple[str, str]] = Counter()
    concerned: set[str | tuple[str, str]] = set()
    for unit in units:
        names, pairs = names_and_pairs(unit.text)
        counted.update(names)
        counted.update(pairs)
        if unit.new:
            concerned |= names | pairs
    return [counted[one] for one in concerned]


#: Open pairs for each name of texts of which there is no index yet: .03 in transcripts of talks, .08 in
#: passages of an encyclopedia (Re-DocRED).
_OPEN_PAIRS = 0.06


def resolution_estimate(planned: Planned) -> Estimate:
    """Return what resolution asks: of the names of the index that there is, and of those of new text units.

    The names of the index are compared once more, and what is cached rules on them. How many pairs of new
    text units will be open is told from the index, else guessed from the names in them.
    """
    known, corpus = planned.known, planned.corpus
    memory = _Memory(known)
    kept = [unit.unit_id for unit in planned.units if not unit.new]
    lacking = _replay_comparisons(corpus, planned.settings, kept, memory) if kept else 0
    calls, inputs, outputs = plan_batches(
        [known.size(request) for request in memory.lacking],
        lacking,
        _open_pairs(corpus, [unit for unit in planned.units if unit.new]),
        in_a_call=USUAL_PAIRS,
        tokens=PAIR,
        reply=_RULING,
        prompt=prompt_tokens(known, "judge_names"),
        seen=known.average("resolve", "judge_names"),
    )
    return Estimate("resolution", "judge_names", memory.name, calls, inputs, outputs, memory.had)


class _Memory:
    """A chat model that gives cached replies only; ``had`` counts them, ``lacking`` are the others."""

    def __init__(self, known: KnownReplies) -> None:
        own = known.of_task("resolve")
        self.name, self.concurrency = own.name, own.concurrency
        self.had = 0
        self.lacking: list[ChatRequest] = []
        self._known = known

    async def complete(self, request: ChatRequest, _listen: Listener | None = None) -> ChatReply:
        if (reply := self._known.reply("resolve", request)) is not None:
            self.had += 1
            return reply
        self.lacking.append(request)
        raise CallFailed("nothing is cached")

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        """Do nothing: it is."""


def _replay_comparisons(corpus: str, settings: CorpusSettings, kept: Sequence[str], memory: _Memory) -> int:
    """Compare the names of text units that stay, and return how many pairs the memory cannot rule on."""
    wanted = (GLEANED_ENTITIES, tables.TEXT_CHUNKS, tables.DOCUMENTS)
    made = [Warehouse().read_if_present(table, corpus) for table in wanted]
    gleaned, chunks, documents = made
    if gleaned is None or chunks is None or documents is None:
        return 0
    staying = chunks.filter(pl.col("text_unit_id").is_in(kept))
    asked = ModelNameJudge(LlmNameJudge(memory), documents)
    with without_progress():
        resolve_corpus(gleaned, staying, documents, settings.section(ResolutionSettings).decisions(), asked)
    return asked.counts["problems"]


def _open_pairs(corpus: str, new: Sequence[Unit]) -> Range:
    decisions = Warehouse().read_if_present(DECISIONS, corpus)
    ledger = Warehouse().read_if_present(tables.UNIT_LEDGER, corpus)
    if decisions is None or ledger is None or decisions.is_empty() or ledger.is_empty():
        names = {name for unit in new for name in names_and_pairs(unit.text)[0]}
        return approximately(_OPEN_PAIRS * len(names), known=False)
    by_rule = (pl.col("verdict") == "ask") & (pl.col("decided_by") == "rule")
    was_open = decisions.filter(by_rule | (pl.col("decided_by") == "model")).height
    return approximately(was_open / ledger.height * len(new), known=False)


#: Names without a type for each name that stands in a text unit; a guess, by which nothing was measured.
_WITHOUT_TYPE = 0.5


def typing_estimate(planned: Planned) -> Estimate:
    """Return what typing asks: of the untyped names of units that stay, of a guessed number in new ones."""
    known, own = planned.known, planned.known.of_task("type")
    labels = planned.settings.section(ExtractionSettings).gliner.labels
    typer = LlmEntityTyper(OpenAIChatModel(own), labels=labels, max_tokens=own.reply_limit)
    staying = {unit.unit_id for unit in planned.units if not unit.new}
    asked = [one for one in _earlier_requests(planned.corpus) if one.unit.id in staying]
    requests = typer.requests(asked)
    new = [requests[place] for place in known.new_requests("type", requests)]
    texts = [unit.text for unit in planned.units if unit.new]
    names = _WITHOUT_TYPE * sum(len(names_and_pairs(text)[0]) for text in texts)
    calls, inputs, outputs = plan_batches(
        [known.size(request) for request in new],
        sum(len(one.names) for one in asked) * len(new) / max(len(requests), 1),
        approximately(names, known=False),
        in_a_call=_NAMES,
        tokens=_PER_NAME,
        reply=_LABEL,
        shown=known.tokens(*texts) if texts else 0,
        prompt=prompt_tokens(known, "type_entities"),
        seen=known.average("type", "type_entities"),
    )
    return Estimate("typing", "type_entities", own.name, calls, inputs, outputs, len(requests) - len(new))


def _earlier_requests(corpus: str) -> list[Untyped]:
    wanted = (GLEANED_ENTITIES, TYPINGS, tables.TEXT_CHUNKS)
    entities, typings, chunks = (Warehouse().read_if_present(table, corpus) for table in wanted)
    if entities is None or typings is None or chunks is None:
        return []
    return untyped_names(entities, typings, chunks)


def plan_merging(
    mentions: Iterable[int], *, joined_up_to: int, max_input_tokens: int, prompt: int, seen: float | None
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of merging descriptions that are not there yet.

    Args:
        mentions: in how many text units each name, and each pair of names, stands.
        joined_up_to: descriptions that have no more tokens together cost no call.
        max_input_tokens: most tokens of descriptions in a call.
        prompt: tokens of the prompt without them.
        seen: tokens of an average reply of this model.
    """
    long = [count * _DESCRIPTION for count in mentions if count > 1 and count * _DESCRIPTION > joined_up_to]
    # Not every name becomes an entity, and some are spelt in several ways.
    calls = approximately(float(sum(math.ceil(tokens / max_input_tokens) for tokens in long)), known=False)
    inputs = approximately(float(sum(long)), known=False) + calls * prompt
    return calls, inputs, calls * reply_length(seen, _MERGED)


def plan_batches(
    requests: Sequence[int],
    asked: float,
    more: Range,
    *,
    in_a_call: int,
    tokens: int,
    reply: int,
    prompt: int,
    shown: int = 0,
    seen: float | None,
) -> tuple[Range, Range, Range]:
    """Return the calls, input and output tokens of rulings on items, many of which share a call.

    Args:
        requests: tokens of the requests that are known.
        asked: items that these ask about.
        more: items that there will be besides.
        in_a_call: items of a call on average.
        tokens: of an item.
        reply: tokens of what is said of one.
        prompt: tokens of the prompt without items.
        shown: tokens of what is shown beside the further items.
        seen: tokens of an average reply of this model.
    """
    further = more * (1 / in_a_call)
    calls = exactly(len(requests)) + further
    inputs = exactly(sum(requests)) + further * prompt + more * tokens + exactly(shown if more.high else 0)
    if seen is not None:
        return calls, inputs, calls * approximately(seen, known=True)
    return calls, inputs, (exactly(asked) + more) * approximately(reply, known=False)
