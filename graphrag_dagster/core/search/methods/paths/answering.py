"""The way of answering ``paths``: entities, a part of the graph, paths in it, and words that state them."""

from dataclasses import replace

from graphrag_dagster.catalogue.registry import asks_model
from graphrag_dagster.catalogue.tasks import ANSWERER
from graphrag_dagster.core.paths.instances import INSTANCES
from graphrag_dagster.core.search.asked import Asked
from graphrag_dagster.core.search.context.answer import Answer, Call, ContextUse
from graphrag_dagster.core.search.context.path_trace import PathTrace, WalkedPath
from graphrag_dagster.core.search.context.question import REFUSAL
from graphrag_dagster.core.search.finding import in_new_order, telling_how, with_history
from graphrag_dagster.core.search.methods.graph.answering import entities_of
from graphrag_dagster.core.search.methods.graph.listing import with_edges
from graphrag_dagster.core.search.methods.local import ENTITIES
from graphrag_dagster.core.search.methods.map_reduce import finished
from graphrag_dagster.core.search.methods.paths.context import facts_on, packed
from graphrag_dagster.core.search.methods.paths.ranking import joined, ordered, units_stating
from graphrag_dagster.core.search.methods.paths.walking import Walked, walked


def paths(asked: Asked) -> Answer:
    """Answer a question from the words that state the paths from what it names, and from where a walk leads.

    Raises:
        EngineError: a scorer or selector cannot be used.
        EndpointError: the model endpoint cannot be used.
    """
    sought = with_history(asked)
    orders = ordered(asked, sought, ENTITIES)
    linked = orders.followed.linked
    entities = entities_of(linked)
    found = walked(asked, list(entities))
    keys = found.keys
    stated = units_stating(asked.index, keys)
    units, moves = in_new_order(asked, sought, joined(orders, stated), followed=True)
    facts = facts_on(asked, keys)
    reported = orders.followed.entities.ids if asked.options.paths.reports else ()
    context = packed(asked, units, facts, reported)
    answerer = asked.engines.task(ANSWERER)
    shown = sum(row.kind == "relationship" for row in context.rows)
    trace = _trace(asked, found, tuple(entities.values()), len(stated), shown)
    answer = Answer(
        *(asked.question, asked.way.name, None, REFUSAL, answerer.engine),
        refused=True,
        linked=linked,
        paths=trace,
        problems=trace.problems,
        usage=found.use.usage,
    )
    if context.rows:
        final = answerer.answer(asked.question, context.rows, context.rendered, asked.history)
        if not asks_model(final.engine):
            final = with_edges(final, context.rows, facts, entities)
        used = bool(final.text.strip())
        call = Call("answer", "paths and what states them", None, sum(context.row_tokens), used)
        uses = tuple(
            ContextUse(row.kind, context.units.record_id(row.id), row.title, 0, tokens, used)
            for row, tokens in zip(context.rows, context.row_tokens, strict=True)
        )
        answer = replace(answer, context=uses, trace=(*answer.trace, call))
        rows = {row.id for row in context.rows}
        answer = finished(answer, final, context.units, rows, asked.supporting)
    return telling_how(asked, answer, orders.note, moves)


def _trace(asked: Asked, found: Walked, seeds: tuple[str, ...], stated: int, shown: int) -> PathTrace:
    recipe = asked.options.paths
    titles = {one.name: one.title for one in INSTANCES}
    return PathTrace(
        titles.get(recipe.name, recipe.name),
        seeds,
        len(found.subgraph.nodes),
        len(found.subgraph.edges),
        tuple(
            WalkedPath(text, float(score), ids)
            for text, score, ids in zip(
                found.paths.verbalised.texts, found.paths.scores, found.entity_ids, strict=True
            )
        ),
        stated,
        shown,
        found.use.problems,
    )
