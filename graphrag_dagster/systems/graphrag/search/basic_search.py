"""Basic search: answers from the text units nearest to the question; also condition SS (paper §4.1.1)."""

from collections.abc import Sequence
from dataclasses import replace

from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.context_chunks import first_that_fit
from graphrag_dagster.kernel.questions.finding import (
    is_favoured,
    rerank_units,
    text_query,
    with_history,
    with_retrieval_trace,
    without_favour,
)
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.systems.graphrag.search.global_search import sources_of
from graphrag_dagster.systems.graphrag.search.map_reduce import map_reduce
from graphrag_dagster.systems.graphrag.tasks import ANSWERER


def basic(search: Search) -> Answer:
    """Answer a question from the text units that are found as the options say; the conversation counts."""
    sought = text_query(search, with_history(search))
    units, done = rerank_units(search, sought.text, sought.units().ids, followed=False)
    return with_retrieval_trace(search, vector_rag(search, units), sought.note, done)


def nearest(search: Search) -> Answer:
    """Answer a question from the text units nearest to it by their vectors.

    Raises:
        QuestionError: the vectors cannot be used.
    """
    sought = text_query(search, search.question.text, "vector")
    made = vector_rag(search, sought.units(favoured=False).ids, favoured=False)
    return without_favour(search, replace(made, why=sought.note), "vectors alone choose the text units")


def vector_rag(search: Search, ranked: Sequence[str], *, favoured: bool = True) -> Answer:
    """Answer a question from the best text units, taken in their order until the next does not fit.

    One call with the prompt of a partial answer makes the answer (SS, paper §4.1.1).

    Args:
        search: the question.
        ranked: ids of text units, best first.
        favoured: whether they are from the documents that the question names, if it names any exactly.
    """
    answerer = search.engines.task(ANSWERER)
    selected = favoured and search.favour.selected is not None
    units = sources_of(search.index)
    named = is_favoured(search) if favoured else lambda _: False
    rows = (
        replace(units.all[units.number_of[unit_id] - 1], selected=selected, favoured=named(unit_id))
        for unit_id in ranked
        if unit_id in units.number_of
    )
    chunks = first_that_fit(rows, count=search.count, limit=search.options.context_tokens)
    answer = map_reduce(search, answerer, units, chunks, method=search.method.name, direct=True)
    return replace(
        answer, steps=tuple(replace(call, about="the nearest text units") for call in answer.steps)
    )
