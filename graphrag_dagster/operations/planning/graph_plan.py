"""What claims and the merging of descriptions will ask of a model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphrag_dagster import prompts, tables
from graphrag_dagster.core.accounting.planning import (
    Estimate,
    exactly,
    merged_tokens,
    plan_extraction,
    plan_merging,
)
from graphrag_dagster.core.accounting.reply_sizes import names_and_pairs, reply_tokens
from graphrag_dagster.core.graph.merging import description_groups
from graphrag_dagster.core.language.llm.descriptions import LlmDescriptionMerger
from graphrag_dagster.core.language.llm.extraction.claims import LlmClaimExtractor
from graphrag_dagster.core.language.tasks import DescriptionGroup
from graphrag_dagster.core.text.similarity import normalise
from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel
from graphrag_dagster.operations.planning.known_replies import Known
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings

#: Share of an extraction reply that one of claims about the same text has.
_OF_EXTRACTION = 0.6


@dataclass(frozen=True, slots=True)
class Unit:
    """A text unit: its id, its text, and whether it is to be extracted anew."""

    unit_id: str
    text: str
    new: bool


def claims_estimate(corpus: str, settings: CorpusSettings, units: Sequence[Unit], known: Known) -> Estimate:
    """Return what claims ask: of units that stay with the entities they have, of others by their names."""
    own = known.of_task("extract")
    extractor = LlmClaimExtractor(
        OpenAIChatModel(own),
        prompts,
        claim_description=settings.claims.description,
        examples=settings.claims.examples,
        replies=own.replies,
        logit_bias=False,
    )
    names = _entities(corpus)
    asked = [(unit, names.get(unit.unit_id, []) if not unit.new else _guessed(unit.text)) for unit in units]
    requests = [(unit.text, extractor.first_request(found, unit.text)) for unit, found in asked if found]
    new = [requests[place] for place in known.new("extract", [request for _, request in requests])]
    expected = reply_tokens([text for text, _ in new], json=own.replies == "json_schema")
    gleaning = settings.extraction.gleaning
    calls, inputs, outputs = plan_extraction(
        [known.size(request) for _, request in new],
        [round(tokens * _OF_EXTRACTION) for tokens in expected],
        rounds=gleaning.rounds,
        check_first=gleaning.order == "check_first",
        turn=known.tokens(prompts.load("claims_continue").text),
        seen=known.average("extract", "extract_claims"),
    )
    return Estimate("claims", "extract_claims", own.name, calls, inputs, outputs, len(requests) - len(new))


def merging_estimate(corpus: str, settings: CorpusSettings, units: Sequence[Unit], known: Known) -> Estimate:
    """Return what merging asks: of the elements there are, and of those that the new units name."""
    own, graph = known.of_task("summarise"), settings.graph
    merger = LlmDescriptionMerger(
        OpenAIChatModel(own),
        prompts,
        merge_above_tokens=graph.joined_up_to,
        max_input_tokens=graph.max_input_tokens,
        max_output_tokens=own.reply_limit,
    )
    # Where every unit is new, nothing of what there is stays.
    there = [] if all(unit.new for unit in units) else merger.first_requests(_groups(corpus))
    new = [there[place] for place in known.new("summarise", [request for request, _ in there])]
    seen = known.average("summarise", "summarize_descriptions")
    calls, inputs, outputs = plan_merging(
        _mentions(units),
        joined_up_to=graph.joined_up_to,
        max_input_tokens=graph.max_input_tokens,
        prompt=known.tokens(
            *(prompts.load(f"summarize_descriptions_{part}").text for part in ("system", "user"))
        ),
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
        outputs + again * merged_tokens(seen),
        len(there) - len(new),
    )


def _guessed(text: str) -> list[str]:
    return sorted({normalise(name) for name in names_and_pairs(text)[0]})


def _entities(corpus: str) -> Mapping[str, list[str]]:
    made = Warehouse().read_if_present(tables.GLEANED_ENTITIES, corpus)
    if made is None:
        return {}
    rows = made.select("text_unit_id", "name").unique().sort("text_unit_id", "name")
    return dict(rows.group_by("text_unit_id", maintain_order=True).agg("name").iter_rows())


def _groups(corpus: str) -> list[DescriptionGroup]:
    kinds = (tables.ENTITY_GROUPS, tables.RELATIONSHIP_GROUPS, tables.CLAIM_GROUPS)
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
