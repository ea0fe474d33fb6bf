"""What typing entities that have no type will ask of a model."""

from collections.abc import Sequence

from graphrag_dagster import prompts, tables
from graphrag_dagster.core.accounting.planning import Estimate, around, plan_typing
from graphrag_dagster.core.accounting.reply_sizes import names_and_pairs
from graphrag_dagster.core.extraction.typing import untyped
from graphrag_dagster.core.language.entity_typing import Untyped
from graphrag_dagster.core.language.llm.entity_typing import LlmEntityTyper
from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel
from graphrag_dagster.operations.planning.graph_plan import Unit
from graphrag_dagster.operations.planning.known_replies import Known
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings

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
