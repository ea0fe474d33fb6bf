"""The way of answering ``paths``: entities, a part of the graph, paths in it, and words that state them."""

from collections.abc import Mapping
from dataclasses import replace

from graphrag_dagster.catalogue.registry import asks_model
from graphrag_dagster.catalogue.tasks import ANSWERER
from graphrag_dagster.core.paths.instances import INSTANCES
from graphrag_dagster.core.search.context.answer import (
    Answer,
    Call,
    ContextUse,
    Record,
    Section,
    facts,
    section,
)
from graphrag_dagster.core.search.finding import in_new_order, named_in, telling_how, with_history
from graphrag_dagster.core.search.methods.graph.answering import entities_of
from graphrag_dagster.core.search.methods.graph.listing import with_edges
from graphrag_dagster.core.search.methods.local import ENTITIES
from graphrag_dagster.core.search.methods.map_reduce import finished
from graphrag_dagster.core.search.methods.paths.context import facts_on, packed
from graphrag_dagster.core.search.methods.paths.ranking import joined, ordered, units_stating
from graphrag_dagster.core.search.methods.paths.walking import Walked, walked
from graphrag_dagster.core.search.question import REFUSAL, Search


def paths(search: Search) -> Answer:
    """Answer a question from the words that state the paths from what it names, and from where a walk leads.

    Raises:
        EngineError: a scorer or selector cannot be used.
        EndpointError: the model endpoint cannot be used.
    """
    sought = with_history(search)
    orders = ordered(search, sought, ENTITIES)
    linked = orders.followed.linked
    entities = entities_of(linked)
    found = walked(search, list(entities))
    keys = found.keys
    stated = units_stating(search.index, keys)
    units, moves = in_new_order(search, sought, joined(orders, stated), followed=True)
    stating = facts_on(search, keys)
    reported = orders.followed.entities.ids if search.settings.paths.asked.reports else ()
    context = packed(search, units, stating, reported)
    answerer = search.engines.task(ANSWERER)
    shown = sum(row.kind == "relationship" for row in context.rows)
    answer = Answer(
        *(search.question.text, search.way.name, None, REFUSAL, answerer.engine),
        refused=True,
        trace=(*named_in(linked), *_trace(search, found, entities, len(stated), shown)),
        problems=found.use.problems,
        usage=found.use.usage,
    )
    if context.rows:
        final = answerer.answer(search.question.text, context.rows, context.rendered, search.question.history)
        if not asks_model(final.engine):
            final = with_edges(final, context.rows, stating, entities)
        used = bool(final.text.strip())
        call = Call("answer", "paths and what states them", None, sum(context.row_tokens), used)
        uses = tuple(
            ContextUse(row.kind, context.units.record_id(row.id), row.title, 0, tokens, used)
            for row, tokens in zip(context.rows, context.row_tokens, strict=True)
        )
        answer = replace(answer, context=uses, steps=(*answer.steps, call))
        rows = {row.id for row in context.rows}
        answer = finished(answer, final, context.units, rows, search.supporting)
    return telling_how(search, answer, orders.note, moves)


def _trace(
    search: Search, found: Walked, seeds: Mapping[str, str], stated: int, shown: int
) -> tuple[Section, ...]:
    """How it came about: seeds, the part of the graph, paths with their scores, and what states them."""
    if not seeds:
        return (facts("Paths", read="passages alone, since the question names no entity of the graph"),)
    recipe = search.settings.paths.asked
    titles = {one.name: one.title for one in INSTANCES}
    told = facts(
        "Paths",
        start=Record(", ".join(seeds.values()), "entity", tuple(seeds)),
        modules=titles.get(recipe.name, recipe.name),
        entities=len(found.subgraph.nodes),
        edges=len(found.subgraph.edges),
        paths=len(found.paths),
        text_units_that_state_them=stated,
        relationships_read=shown,
        problems="; ".join(found.use.problems),
    )
    texts, scores = found.paths.verbalised.texts, found.paths.scores
    best = (
        (Record(text, "entity", ids), float(score))
        for text, score, ids in zip(texts, scores, found.entity_ids, strict=True)
    )
    return (told, *([section("Paths found", ("path", "score"), best)] if len(found.paths) else []))
