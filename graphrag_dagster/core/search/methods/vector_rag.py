"""Answers from the text units nearest to the question: condition SS, and basic search (paper §4.1.1)."""

from collections.abc import Sequence
from dataclasses import replace

from graphrag_dagster.catalogue.tasks import ANSWERER
from graphrag_dagster.core.search.asked import Asked
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.context.chunks import first_that_fit
from graphrag_dagster.core.search.context.when_read import MadeWhenRead
from graphrag_dagster.core.search.finding import (
    favouring_none,
    in_new_order,
    looked_for,
    telling_how,
    with_history,
)
from graphrag_dagster.core.search.methods.global_search import sources_of
from graphrag_dagster.core.search.methods.map_reduce import map_reduce


def basic(asked: Asked) -> Answer:
    """Answer a question from the text units that are found as the options say; the conversation counts."""
    sought = looked_for(asked, with_history(asked))
    best, done = in_new_order(asked, sought.text, sought.units().ids, followed=False)
    return telling_how(asked, vector_rag(asked, best), sought.note, done)


def nearest(asked: Asked) -> Answer:
    """Answer a question from the text units nearest to it by their vectors.

    Raises:
        QuestionError: the vectors cannot be used.
    """
    sought = looked_for(asked, asked.question, "vector")
    made = vector_rag(asked, sought.units(favoured=False).ids)
    return favouring_none(asked, replace(made, why=sought.note), "vectors alone choose the text units")


def vector_rag(asked: Asked, ranked: Sequence[str]) -> Answer:
    """Answer a question from the best text units, taken in their order until the next does not fit.

    One call with the prompt of a partial answer makes the answer (spec_graphrag §7, SS).

    Args:
        asked: the question.
        ranked: ids of text units, best first.
    """
    answerer = asked.engines.task(ANSWERER)
    units = sources_of(asked.index)
    places = [units.number_of[unit_id] - 1 for unit_id in ranked if unit_id in units.number_of]
    rows = MadeWhenRead(len(places), lambda rank: units.all[places[rank]])
    chunks = first_that_fit(rows, count=asked.count, limit=asked.options.context_tokens)
    answer = map_reduce(asked, answerer, units, chunks, method=asked.way.name, direct=True)
    return replace(
        answer, trace=tuple(replace(call, about="the nearest text units") for call in answer.trace)
    )
